/* Errors of the simulated runtime: the last one of each thread, the one that breaks a device for good, and
 * failures that a test asks for. */
#include "sim.h"
#include "control.h"

namespace sim {
static thread_local cudaError_t last = cudaSuccess;
static cudaError_t broken = cudaSuccess;
static long calls, fail_at;
static int failing = 1; /* how many calls from there on */
static std::string failed;

void break_device(cudaError_t error) {
    if (broken == cudaSuccess) broken = error;
}
bool is_broken(void) {
    return broken != cudaSuccess;
}

Call::Call(const char *name, cudaError_t if_told_to_fail) : lock_(door), error(broken) {
    calls++;
    if (fail_at && calls >= fail_at && calls < fail_at + failing) {
        error = if_told_to_fail;
        failed = name;
    }
    if (error != cudaSuccess) last = error;
}
/* What ran meanwhile may have broken the device. */
cudaError_t Call::end(cudaError_t result) {
    if (result == cudaSuccess) result = broken;
    if (result != cudaSuccess) last = result;
    return result;
}
} // namespace sim

using namespace sim;
extern "C" {
cudaError_t cudaGetLastError(void) {
    std::lock_guard<std::recursive_mutex> lock(door);
    cudaError_t error = broken != cudaSuccess ? broken : last;
    last = cudaSuccess;
    return error;
}
cudaError_t cudaPeekAtLastError(void) {
    std::lock_guard<std::recursive_mutex> lock(door);
    return broken != cudaSuccess ? broken : last;
}

static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
};
const char *cudaGetErrorString(cudaError_t error) {
    for (const auto &each : errors)
        if (each.error == error) return each.text;
    return "unknown error";
}
const char *cudaGetErrorName(cudaError_t error) {
    for (const auto &each : errors)
        if (each.error == error) return each.name;
    return "cudaErrorUnknown";
}

/* ---- for tests ---- */
long cuda_sim_calls(void) {
    return calls;
}
void cuda_sim_fail(long call, int times) {
    std::lock_guard<std::recursive_mutex> lock(door);
    fail_at = call ? calls + call : 0;
    failing = times;
    failed.clear();
}
const char *cuda_sim_failed(void) {
    return failed.c_str();
}
void cuda_sim_break(void) {
    std::lock_guard<std::recursive_mutex> lock(door);
    enqueue(nullptr, "a fault", [] { break_device(cudaErrorIllegalAddress); });
}
void cuda_sim_mend(void) {
    std::lock_guard<std::recursive_mutex> lock(door);
    broken = last = cudaSuccess;
}
}
