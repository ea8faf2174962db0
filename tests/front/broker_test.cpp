// The driver's face with a broker behind it.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace tidegate {
namespace {

TEST(FrontOnABroker, ServesAProgramWhicheverWayItBinds) {
  for (const char* program : {"front_linked", "front_dlopen", "front_proc_address"}) {
    const std::string command = std::string("timeout -s KILL 60 " TIDEGATE_PROGRAM
                                            " sim exec --card rtx3050-6g-linux -- " TIDEGATE_FRONT_PROGRAMS "/") +
                                program + " | grep -qx 'took 8 MiB of 5984, same 1'";
    EXPECT_EQ(std::system(command.c_str()), 0) << program;
  }
}

TEST(FrontOnABroker, ShowsDeviceBytesAndLetsNobodyWriteThem) {
  const std::string command =
      "timeout -s KILL 60 " TIDEGATE_PROGRAM " sim exec --card rtx3050-6g-linux -- " TIDEGATE_FRONT_PROGRAMS
      "/front_view | grep -qx 'device bytes seen'";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace tidegate
