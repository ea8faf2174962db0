#include "front/real_symbols.h"

namespace tidegate::front {

std::vector<std::string> real_cuda_symbols() { return {}; }

}  // namespace tidegate::front
