#include "sim/remote/connect.h"

namespace tidegate::sim {

Result<std::unique_ptr<Backend>> connect_backend(const std::string&) {
  return Error{Errc::kNotFound, "there is no broker on this system"};
}

}  // namespace tidegate::sim
