// What is to happen around a fork of this process.
#pragma once

namespace tidegate::base {

// From now on `before` runs in the thread that forks, then `parent` or `child` on either side; null: nothing. Systems
// without fork never call them. To be called while the library is loaded.
void at_fork(void (*before)(), void (*parent)(), void (*child)());

}  // namespace tidegate::base
