/* Streams and events of the simulated device: what is queued, in which orders it may run, and when it does;
 * copies and fills. */
#include "sim.h"
#include "control.h"
#include <chrono>
#include <stdlib.h>
#include <string.h>

struct cuda_sim_stream {
    uint32_t id;
    int device, priority;
    bool is_blocking, is_gone;
    sim::Clock clock; /* of its newest entry */
};
struct cuda_sim_event {
    bool is_timed, is_recorded;
    int device;
    uint32_t stream, number;
    sim::Clock clock;
    std::shared_ptr<double> ms; /* when it happened; its entry may outlive it */
};

namespace sim {
enum { MAX_STREAMS = 1 << 16 };
struct Entry {
    uint32_t op;
    std::function<void()> run;
    bool is_account;
};
struct Queue {
    std::deque<Entry> entries;
    uint32_t issued = 0, done = 0;
    int device = 0;
};

std::recursive_mutex door;
thread_local int device;
static std::deque<cuda_sim_stream> streams; /* [id]; the first ones are the devices' default streams */
static std::deque<Queue> queues;            /* [id] */
static Clock host;                          /* what the host has waited for */
static std::deque<Op> ops;                  /* those since all was done the last time */
static uint32_t ops_before, running;
static int device_of_running;
static uint64_t random_state = 0x9e3779b97f4a7c15u;

unsigned random_below(unsigned n) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 11) % n;
}

int device_count(void) {
    static const char *asked = getenv("RUSHLIGHT_CUDA_SIM");
    int n = asked ? atoi(asked) : 1;
    return n < 0 ? 0 : n > 8 ? 8 : n;
}

void join(Clock &into, const Clock &other) {
    if (into.size() < other.size()) into.resize(other.size());
    for (size_t i = 0; i < other.size(); i++)
        if (into[i] < other[i]) into[i] = other[i];
}

static cuda_sim_stream *stream_new(int device, bool is_blocking, int priority) {
    const uint32_t id = (uint32_t)streams.size();
    streams.push_back(cuda_sim_stream{id, device, priority, is_blocking, false, {}});
    queues.emplace_back();
    queues.back().device = device;
    return &streams.back();
}
static cuda_sim_stream *stream_of(cudaStream_t stream) {
    if (streams.empty())
        for (int i = 0; i < device_count(); i++) stream_new(i, true, 0);
    if (stream == nullptr || stream == cudaStreamLegacy) return &streams[(size_t)device];
    return stream;
}
static bool is_stream(cudaStream_t stream) {
    for (const cuda_sim_stream &s : streams)
        if (&s == stream) return !s.is_gone;
    return stream == nullptr || stream == cudaStreamLegacy;
}

/* Note [Default stream]
 * An entry of a device's default stream comes after all that was queued on its blocking streams, and before
 * all that is queued on them afterwards. Streams made with cudaStreamNonBlocking take no part. */
static Clock clock_for(const cuda_sim_stream *s) {
    const cuda_sim_stream *legacy = &streams[(size_t)s->device];
    Clock c = s->clock;
    join(c, host);
    if (s == legacy) {
        for (const cuda_sim_stream &other : streams)
            if (other.device == s->device && other.is_blocking) join(c, other.clock);
    } else if (s->is_blocking) {
        join(c, legacy->clock);
    }
    return c;
}

void enqueue(cudaStream_t stream, const std::string &name, std::function<void()> run, bool is_account) {
    cuda_sim_stream *s = stream_of(stream);
    Queue &q = queues[s->id];
    Clock before = clock_for(s);
    s->clock = before;
    if (s->clock.size() <= s->id) s->clock.resize(s->id + 1);
    s->clock[s->id] = ++q.issued;
    ops.push_back(Op{name, s->id, q.issued, std::move(before)});
    q.entries.push_back(Entry{ops_before + (uint32_t)ops.size(), std::move(run), is_account});
}

bool is_ordered(uint32_t a, uint32_t b) {
    if (a <= ops_before || a == b) return true;
    const Op &first = ops[a - ops_before - 1], &then = ops[b - ops_before - 1];
    return first.stream < then.before.size() && then.before[first.stream] >= first.number;
}
uint32_t running_op(void) {
    return running;
}
int running_device(void) {
    return device_of_running;
}
bool is_of_device(cudaStream_t stream) {
    return stream_of(stream)->device == device;
}

static bool may_run(const Queue &q) {
    if (q.entries.empty()) return false;
    const Clock &before = ops[q.entries.front().op - ops_before - 1].before;
    for (size_t i = 0; i < before.size(); i++)
        if (queues[i].done < before[i]) return false;
    return true;
}

/* One entry of any stream that may go on; false: there is none. */
static bool step(void) {
    std::vector<Queue *> ready;
    for (Queue &q : queues)
        if (may_run(q)) ready.push_back(&q);
    if (ready.empty()) return false;
    Queue &q = *ready[random_below((unsigned)ready.size())];
    Entry entry = std::move(q.entries.front());
    q.entries.pop_front();
    running = entry.op;
    device_of_running = q.device;
    if (entry.is_account || !is_broken()) entry.run();
    running = 0;
    q.done++;
    return true;
}

/* Ids of entries that everybody has waited for are not needed any more. */
static void forget_ops(void) {
    for (size_t i = 0; i < queues.size(); i++)
        if (queues[i].done < queues[i].issued || i >= host.size() || host[i] < queues[i].issued) return;
    ops_before += (uint32_t)ops.size();
    ops.clear();
}

template <class Is> static void drain(Is is_done) {
    if (!is_done()) {
        open_arenas(true);
        while (!is_done() && step()) {
        }
        open_arenas(false);
    }
}
static void drain_stream(const cuda_sim_stream *s) {
    Queue &q = queues[s->id];
    drain([&] { return q.entries.empty(); });
    join(host, s->clock);
    forget_ops();
}
void drain(cudaStream_t stream) {
    drain_stream(stream_of(stream));
}
void drain_device(int device) {
    stream_of(nullptr);
    for (size_t i = 0; i < streams.size(); i++)
        if (streams[i].device == device) drain_stream(&streams[i]);
}

static double now_ms(void) {
    auto t = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::milli>(t).count();
}
static bool has_happened(const cuda_sim_event *e) {
    return !e->is_recorded || queues[e->stream].done >= e->number;
}
} // namespace sim

using namespace sim;
extern "C" {
void cuda_sim_seed(uint64_t seed) {
    std::lock_guard<std::recursive_mutex> lock(door);
    random_state = (seed + 1) * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 8; i++) random_below(2);
}

/* ---- streams ---- */
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
    Call call("cudaStreamCreateWithPriority", cudaErrorMemoryAllocation);
    if (call.error) return call.error;
    stream_of(nullptr);
    if (!stream || streams.size() >= MAX_STREAMS) return call.end(cudaErrorInvalidValue);
    *stream = stream_new(device, !(flags & cudaStreamNonBlocking), priority);
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    Call call("cudaStreamDestroy");
    if (call.error) return call.error;
    if (!stream || stream == cudaStreamLegacy || !is_stream(stream))
        return call.end(cudaErrorInvalidResourceHandle);
    stream->is_gone = true; /* what is queued still runs */
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    Call call("cudaStreamSynchronize");
    if (call.error) return call.error;
    if (!is_stream(stream)) return call.end(cudaErrorInvalidResourceHandle);
    drain_stream(stream_of(stream));
    return call.end(cudaSuccess);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    Call call("cudaStreamQuery");
    if (call.error) return call.error;
    if (!is_stream(stream)) return call.end(cudaErrorInvalidResourceHandle);
    cuda_sim_stream *s = stream_of(stream);
    if (queues[s->id].entries.empty()) {
        join(host, s->clock);
        return cudaSuccess;
    }
    int steps = 1; /* so that whoever asks again and again gets an end */
    drain([&] { return queues[s->id].entries.empty() || !steps--; });
    return cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    Call call("cudaStreamWaitEvent");
    if (call.error) return call.error;
    if (!event || !is_stream(stream)) return call.end(cudaErrorInvalidResourceHandle);
    if (event->is_recorded) join(stream_of(stream)->clock, event->clock);
    return cudaSuccess;
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority) {
    Call call("cudaStreamGetPriority");
    if (call.error) return call.error;
    *priority = stream_of(stream)->priority;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    Call call("cudaDeviceGetStreamPriorityRange");
    if (call.error) return call.error;
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize(void) {
    Call call("cudaDeviceSynchronize");
    if (call.error) return call.error;
    drain_device(device);
    return call.end(cudaSuccess);
}

/* ---- events ---- */
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
    Call call("cudaEventCreateWithFlags", cudaErrorMemoryAllocation);
    if (call.error) return call.error;
    *event = new cuda_sim_event{!(flags & cudaEventDisableTiming), false, device, 0, 0, {}, nullptr};
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    Call call("cudaEventDestroy");
    if (call.error) return call.error;
    if (!event) return call.end(cudaErrorInvalidResourceHandle);
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    Call call("cudaEventRecord");
    if (call.error) return call.error;
    if (!event || !is_stream(stream) || stream_of(stream)->device != event->device)
        return call.end(cudaErrorInvalidResourceHandle);
    cuda_sim_stream *s = stream_of(stream);
    auto ms = std::make_shared<double>(0);
    enqueue(s, "an event", [ms] { *ms = now_ms(); });
    event->is_recorded = true;
    event->stream = s->id;
    event->number = queues[s->id].issued;
    event->clock = s->clock;
    event->ms = ms;
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    Call call("cudaEventQuery");
    if (call.error) return call.error;
    if (!event) return call.end(cudaErrorInvalidResourceHandle);
    if (has_happened(event)) {
        join(host, event->clock);
        return cudaSuccess;
    }
    int steps = 1;
    drain([&] { return has_happened(event) || !steps--; });
    return cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    Call call("cudaEventSynchronize");
    if (call.error) return call.error;
    if (!event) return call.end(cudaErrorInvalidResourceHandle);
    drain([&] { return has_happened(event); });
    join(host, event->clock);
    forget_ops();
    return call.end(cudaSuccess);
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) {
    Call call("cudaEventElapsedTime");
    if (call.error) return call.error;
    if (!start || !end || !start->is_timed || !end->is_timed || !start->is_recorded || !end->is_recorded)
        return call.end(cudaErrorInvalidResourceHandle);
    if (!has_happened(start) || !has_happened(end)) return cudaErrorNotReady;
    *ms = (float)(*end->ms - *start->ms);
    return cudaSuccess;
}
}

/* ==== copies and fills, with CUDA's rules for memory of the host: pinned memory is read and written when the
 * stream gets there, other memory before the call returns ==== */
namespace sim {
/* Is [p, p + bytes) within one block, or memory of the host? */
static bool is_whole(const void *p, size_t bytes) {
    if (!arena_of(p)) return true;
    const Block *b = block_at((uintptr_t)p);
    return b && (uintptr_t)p - b->at + bytes <= b->bytes;
}

static void copy_now(void *to, const void *from, size_t bytes) {
    if (!is_whole(to, bytes) || !is_whole(from, bytes)) {
        report("a copy out of bounds", nullptr, is_whole(to, bytes) ? from : to);
        return break_device(cudaErrorIllegalAddress);
    }
    if (arena_of(from)) touch(from, bytes, READ, "a copy");
    if (arena_of(to)) touch(to, bytes, WRITE, "a copy");
    memmove(inside(to), inside(from), bytes);
}

static cudaError_t copy(const char *name, void *to, const void *from, size_t bytes, cudaStream_t stream) {
    Call call(name, cudaErrorInvalidValue);
    if (call.error) return call.error;
    if (!bytes) return cudaSuccess;
    if (!to || !from) return call.end(cudaErrorInvalidValue);
    const bool from_host = !arena_of(from) && !is_pinned(from), to_host = !arena_of(to) && !is_pinned(to);
    if (from_host) {
        std::string staged((const char *)from, bytes);
        enqueue(stream, name, [=] { copy_now(to, staged.data(), bytes); });
    } else {
        enqueue(stream, name, [=] { copy_now(to, from, bytes); });
    }
    if (to_host) drain(stream); /* no call of its own, which could fail alone and leave the copy to come */
    return call.end(cudaSuccess);
}
} // namespace sim

using namespace sim;
extern "C" {
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice,
               from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (bytes && kind != cudaMemcpyDefault &&
        (to_device != (arena_of(to) != nullptr) || from_device != (arena_of(from) != nullptr))) {
        report("a copy whose kind is not that of its memory", nullptr, to);
        return cudaErrorInvalidValue;
    }
    return copy("cudaMemcpyAsync", to, from, bytes, stream);
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
    return error ? error : cudaStreamSynchronize(nullptr);
}
cudaError_t cudaMemcpyPeerAsync(void *to, int, const void *from, int, size_t bytes, cudaStream_t stream) {
    return copy("cudaMemcpyPeerAsync", to, from, bytes, stream);
}
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream) {
    Call call("cudaMemsetAsync");
    if (call.error) return call.error;
    if (!bytes) return cudaSuccess;
    if (!arena_of(p)) return call.end(cudaErrorInvalidValue);
    enqueue(stream, "cudaMemsetAsync", [=] {
        if (!is_whole(p, bytes)) {
            report("a fill out of bounds", nullptr, p);
            return break_device(cudaErrorIllegalAddress);
        }
        touch(p, bytes, WRITE, "a fill");
        memset(inside(p), value, bytes);
    });
    return cudaSuccess;
}
}
