#include <cstdio>
#include <string_view>

#include "tidegate_build.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) != "--version") {
    std::fprintf(stderr, "tidegate: this build knows only --version\n");
    return 2;
  }
  std::printf("tidegate %s (%s)\n", TIDEGATE_VERSION, TIDEGATE_GIT_DESCRIBE);
  return 0;
}
