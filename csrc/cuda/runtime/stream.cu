/* Streams and events. NULL is CUDA's legacy default stream; all others take no part in its rules. */
#include "runtime.h"

/* Streams come from two pools for each device, plain and urgent ones, in turn, and live as long as the
 * process: memory that was used on one stays good. */
enum { POOL = 32 };
static cudaStream_t pools[CUDA_DEVICES][2][POOL];
static unsigned handed_out[CUDA_DEVICES][2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of both */
static thread_local cudaStream_t current_stream[CUDA_DEVICES];

extern "C" void *rl_cuda_stream(int index) {
    return index >= 0 && index < CUDA_DEVICES ? current_stream[index] : nullptr;
}

extern "C" rl_status rl_cuda_stream_use(int index, void *stream) {
    if (index < 0 || index >= rl_cuda_count()) return rl_cuda_check(cudaErrorInvalidDevice);
    current_stream[index] = (cudaStream_t)stream;
    return RL_OK;
}

extern "C" void *rl_cuda_stream_new(int index, bool is_urgent) {
    device_guard guard(index);
    int least = 0, greatest = 0;
    if (guard.status != RL_OK || rl_cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest)) != RL_OK)
        return nullptr;
    mutex_guard locked(&lock);
    cudaStream_t *stream = &pools[index][is_urgent][handed_out[index][is_urgent]++ % POOL];
    if (!*stream && rl_cuda_check(cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking,
                                                               is_urgent ? greatest : least)) != RL_OK)
        return nullptr;
    return *stream;
}

rl_status rl_cuda_wait_stream(int index, cudaStream_t stream) {
    apart_from_python apart;
    if (rl_cuda_check(cudaStreamSynchronize(stream)) != RL_OK) return RL_FAIL;
    return rl_cuda_waited(index, stream, false);
}

extern "C" rl_status rl_cuda_stream_synchronize(int index, void *stream) {
    device_guard guard(index);
    return guard.status == RL_OK ? rl_cuda_wait_stream(index, (cudaStream_t)stream) : RL_FAIL;
}

static rl_status is_done(cudaError_t answer, bool *done) {
    *done = answer == cudaSuccess;
    if (answer != cudaErrorNotReady) return rl_cuda_check(answer);
    cudaGetLastError();
    return RL_OK;
}

extern "C" rl_status rl_cuda_stream_query(int index, void *stream, bool *done) {
    device_guard guard(index);
    return guard.status == RL_OK ? is_done(cudaStreamQuery((cudaStream_t)stream), done) : RL_FAIL;
}

extern "C" rl_status rl_cuda_stream_wait(int index, void *stream, void *event) {
    device_guard guard(index);
    if (guard.status != RL_OK) return RL_FAIL;
    return rl_cuda_check(cudaStreamWaitEvent((cudaStream_t)stream, (cudaEvent_t)event, 0));
}

extern "C" rl_status rl_cuda_stream_join(int index, void *stream, int other_index, void *other) {
    if (index == other_index && stream == other) return RL_OK;
    void *event = rl_cuda_event_new(other_index, false, false);
    if (!event) return RL_FAIL;
    rl_status status = rl_cuda_event_record(other_index, event, other);
    if (status == RL_OK) status = rl_cuda_stream_wait(index, stream, event);
    rl_cuda_event_free(other_index, event);
    return status;
}

/* ---- events ---- */
extern "C" void *rl_cuda_event_new(int index, bool is_timed, bool is_blocking) {
    device_guard guard(index);
    cudaEvent_t event = nullptr;
    const unsigned flags = (is_timed ? cudaEventDefault : cudaEventDisableTiming) |
                           (is_blocking ? cudaEventBlockingSync : cudaEventDefault);
    if (guard.status != RL_OK || rl_cuda_check(cudaEventCreateWithFlags(&event, flags)) != RL_OK)
        return nullptr;
    return event;
}

extern "C" void rl_cuda_event_free(int index, void *event) {
    if (rl_cuda_forked()) return;
    device_guard guard(index);
    if (guard.status == RL_OK) rl_cuda_check(cudaEventDestroy((cudaEvent_t)event));
}

extern "C" rl_status rl_cuda_event_record(int index, void *event, void *stream) {
    device_guard guard(index);
    if (guard.status != RL_OK) return RL_FAIL;
    return rl_cuda_check(cudaEventRecord((cudaEvent_t)event, (cudaStream_t)stream));
}

extern "C" rl_status rl_cuda_event_query(int index, void *event, bool *done) {
    device_guard guard(index);
    return guard.status == RL_OK ? is_done(cudaEventQuery((cudaEvent_t)event), done) : RL_FAIL;
}

extern "C" rl_status rl_cuda_event_synchronize(int index, void *event) {
    device_guard guard(index);
    apart_from_python apart;
    return guard.status == RL_OK ? rl_cuda_check(cudaEventSynchronize((cudaEvent_t)event)) : RL_FAIL;
}

extern "C" rl_status rl_cuda_event_elapsed(int index, void *start, void *end, float *ms) {
    device_guard guard(index);
    if (guard.status != RL_OK) return RL_FAIL;
    return rl_cuda_check(cudaEventElapsedTime(ms, (cudaEvent_t)start, (cudaEvent_t)end));
}

/* ---- memory in use on several streams ---- */
void rl_cuda_uses_add(stream_use **list, int index, cudaStream_t stream) {
    for (const stream_use *use = *list; use; use = use->next)
        if (use->index == index && use->stream == stream) return;
    *list = new stream_use{*list, index, stream, nullptr};
}

/* An event that could not be made is asked for again the next time: later is as good. */
static bool has_ended(stream_use *use) {
    bool done = false;
    if (!use->event) {
        cudaEvent_t event = (cudaEvent_t)rl_cuda_event_new(use->index, false, false);
        if (!event) return false;
        if (rl_cuda_event_record(use->index, event, use->stream) == RL_OK)
            use->event = event;
        else
            rl_cuda_event_free(use->index, event);
    }
    return use->event && rl_cuda_event_query(use->index, use->event, &done) == RL_OK && done;
}

bool rl_cuda_uses_ended(stream_use **list) {
    for (stream_use **at = list; *at;) {
        stream_use *use = *at;
        if (has_ended(use)) {
            *at = use->next;
            rl_cuda_event_free(use->index, use->event);
            delete use;
        } else {
            at = &use->next;
        }
    }
    return !*list;
}
