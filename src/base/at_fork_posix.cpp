#include <pthread.h>

#include "src/base/at_fork.h"

namespace tidegate::base {

void at_fork(void (*before)(), void (*parent)(), void (*child)()) { (void)pthread_atfork(before, parent, child); }

}  // namespace tidegate::base
