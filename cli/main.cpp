#include <cstdio>

#include "tidegate_build.h"

int main() {
  std::printf("tidegate %s (%s)\n", TIDEGATE_VERSION, TIDEGATE_GIT_DESCRIBE);
  return 0;
}
