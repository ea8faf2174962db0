// One exported function for each function of the driver's table.
#include "front/face.h"

namespace tidegate::front {

using namespace tidegate::cu;  // NOLINT: the table speaks the driver's own types

#define TG_DEFINE(method, symbol, need, parameters, arguments) \
  TG_FACE Status face_##method parameters __asm__(symbol);     \
  TG_FACE Status face_##method parameters { return driver().method arguments; }
TG_CUDA_FUNCTIONS(TG_DEFINE)
#undef TG_DEFINE

}  // namespace tidegate::front
