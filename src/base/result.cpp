#include "tidegate/result.h"

namespace tidegate {

const char* name_of(Errc code) {
  switch (code) {
    case Errc::kInvalidArgument:
      return "invalid-argument";
    case Errc::kNotFound:
      return "not-found";
    case Errc::kBadFile:
      return "bad-file";
    case Errc::kIo:
      return "io";
    case Errc::kNoDriver:
      return "no-driver";
    case Errc::kDriverTooOld:
      return "driver-too-old";
    case Errc::kNoDevice:
      return "no-device";
    case Errc::kDriver:
      return "driver";
    case Errc::kOutOfMemory:
      return "out-of-memory";
    case Errc::kHostOutOfMemory:
      return "host-out-of-memory";
    case Errc::kBelowFloor:
      return "below-floor";
    case Errc::kWouldDeadlock:
      return "would-deadlock";
    case Errc::kTimeout:
      return "timeout";
    case Errc::kClosed:
      return "closed";
    case Errc::kCapturing:
      return "capturing";
  }
  return "unknown";
}

}  // namespace tidegate
