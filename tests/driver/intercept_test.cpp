#include "src/driver/intercept.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "tests/driver/null_driver.h"

namespace tidegate::driver {
namespace {

using testing_support::NullDriver;

TEST(Interceptor, ForwardsWithoutAHook) {
  NullDriver null;
  Interceptor interceptor(null);
  EXPECT_EQ(interceptor.ctx_synchronize(), kSuccess);
  EXPECT_EQ(null.calls, 1u);
  EXPECT_STREQ(interceptor.description(), "null driver");
}

TEST(Interceptor, AHooksAnswerKeepsTheCallFromTheDriver) {
  NullDriver null;
  Interceptor interceptor(null, [](FunctionId id) -> std::optional<Status> {
    if (id == FunctionId::mem_create) return kOutOfMemory;
    return std::nullopt;
  });
  MemHandle handle = 77;
  EXPECT_EQ(interceptor.mem_create(&handle, 1, nullptr, 0), kOutOfMemory);
  EXPECT_EQ(handle, 77u);
  EXPECT_EQ(null.calls, 0u);
  EXPECT_EQ(interceptor.mem_release(handle), kSuccess);
  EXPECT_EQ(null.calls, 1u);
}

TEST(Interceptor, EveryFunctionAsksUnderItsOwnId) {
  NullDriver null;
  std::array<unsigned, kFunctionCount> counts{};
  Interceptor interceptor(null, [&](FunctionId id) -> std::optional<Status> {
    ++counts[static_cast<std::size_t>(id)];
    return std::nullopt;
  });
  EXPECT_EQ(interceptor.init(0), kSuccess);
  EXPECT_EQ(interceptor.mem_unmap(0, 0), kSuccess);
  EXPECT_EQ(interceptor.mem_unmap(0, 0), kSuccess);
  EXPECT_EQ(counts[static_cast<std::size_t>(FunctionId::init)], 1u);
  EXPECT_EQ(counts[static_cast<std::size_t>(FunctionId::mem_unmap)], 2u);
}

TEST(FunctionId, HasNamesAndSymbols) {
  EXPECT_STREQ(name_of(FunctionId::mem_alloc), "mem_alloc");
  EXPECT_STREQ(symbol_of(FunctionId::mem_alloc), "cuMemAlloc_v2");
  EXPECT_STREQ(name_of(static_cast<FunctionId>(kFunctionCount)), "?");
  for (std::size_t i = 0; i < kFunctionCount; ++i) {
    EXPECT_EQ(std::string(symbol_of(static_cast<FunctionId>(i))).rfind("cu", 0), 0u);
  }
}

}  // namespace
}  // namespace tidegate::driver
