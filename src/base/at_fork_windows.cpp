#include "src/base/at_fork.h"

namespace tidegate::base {

void at_fork(void (*)(), void (*)(), void (*)()) {}

}  // namespace tidegate::base
