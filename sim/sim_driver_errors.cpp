// Names of status codes.
#include "sim/errors.h"
#include "sim/sim_call.h"

namespace tidegate::sim {

namespace {

struct ErrorText {
  cu::Status status;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrors[] = {
    {cu::kSuccess, "CUDA_SUCCESS", "no error"},
    {cu::kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {cu::kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {cu::kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {cu::kDeinitialized, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {cu::kStubLibrary, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {cu::kDeviceUnavailable, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {cu::kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {cu::kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {cu::kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {cu::kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {cu::kMapFailed, "CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed"},
    {cu::kUnmapFailed, "CUDA_ERROR_UNMAP_FAILED", "unmapping of buffer object failed"},
    {cu::kAlreadyMapped, "CUDA_ERROR_ALREADY_MAPPED", "resource already mapped"},
    {cu::kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {cu::kNotMapped, "CUDA_ERROR_NOT_MAPPED", "resource not mapped"},
    {cu::kInvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {cu::kUnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {cu::kFileNotFound, "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
    {cu::kOperatingSystem, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"},
    {cu::kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {cu::kIllegalState, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {cu::kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {cu::kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {cu::kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {cu::kLaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {cu::kLaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {cu::kPrimaryContextActive, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE",
     "cannot set while device is active in this process"},
    {cu::kContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {cu::kHostMemoryAlreadyRegistered, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {cu::kHostMemoryNotRegistered, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {cu::kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {cu::kNotPermitted, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {cu::kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {cu::kSystemDriverMismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {cu::kStreamCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {cu::kStreamCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {cu::kStreamCaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not ended in the same stream as it began"},
    {static_cast<cu::Status>(904), "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {static_cast<cu::Status>(905), "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {cu::kStreamCaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {cu::kCapturedEvent, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {static_cast<cu::Status>(908), "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {cu::kUnknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorText* find_error(cu::Status status) {
  for (const ErrorText& error : kErrors) {
    if (error.status == status) return &error;
  }
  return nullptr;
}

}  // namespace

cu::Status error_name(cu::Status status, const char** text) {
  if (text == nullptr) return cu::kInvalidValue;
  const ErrorText* error = find_error(status);
  *text = error == nullptr ? nullptr : error->name;
  return error == nullptr ? cu::kInvalidValue : cu::kSuccess;
}

cu::Status error_string(cu::Status status, const char** text) {
  if (text == nullptr) return cu::kInvalidValue;
  const ErrorText* error = find_error(status);
  *text = error == nullptr ? nullptr : error->text;
  return error == nullptr ? cu::kInvalidValue : cu::kSuccess;
}

cu::Status SimDriver::get_error_name(Status status, const char** text) { return error_name(status, text); }
cu::Status SimDriver::get_error_string(Status status, const char** text) { return error_string(status, text); }

}  // namespace tidegate::sim
