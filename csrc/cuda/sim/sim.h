/* The simulated device: what its files share. It runs kernels on the CPU and is stricter than a GPU.
 *
 *   calls of the runtime ──► entries, queued on streams ──► run when somebody waits, in any order allowed
 *                                                            │
 *                        launch.cpp: blocks, threads ◄───────┘
 *                              │ every access
 *                              ▼
 *                        check.cpp: who touched these bytes, and does anything order the two?
 *
 * One lock guards everything; the thread that waits for a stream runs the entries. */
#ifndef RL_CUDA_SIM_H
#define RL_CUDA_SIM_H
#include "cuda_runtime.h"
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sim {

enum {
    MAX_THREADS = 1024,
    MAX_GRID_YZ = 65535,
    STATIC_SHARED = 48 << 10, /* bytes that a block has without asking */
    MAX_SHARED = 163 << 10    /* and with: compute capability 8.0 */
};

/* ---- order ----
 * Clock: for each stream how many of its entries come before. An entry may run once they all have. */
typedef std::vector<uint32_t> Clock;
void join(Clock &into, const Clock &other);
struct Op {
    std::string name;
    uint32_t stream, number; /* the number-th entry of the stream */
    Clock before;
};
/* Does entry `a` come before `b`, whatever the devices do? Ids are never 0. */
bool is_ordered(uint32_t a, uint32_t b);
uint32_t running_op(void); /* the one that runs */
int running_device(void);

/* ---- memory: memory.cpp ----
 * The arena of a device is mapped twice: at `at`, the addresses that everybody knows, without access but
 * while a kernel runs; and at `inside`, for copies. */
struct Block {
    uintptr_t at;
    size_t bytes;
    bool is_cut; /* an allocator cuts blocks out of it: it is none itself */
};
struct Shadow { /* what the checks remember of so many bytes */
    size_t bytes;
    struct Stretch **stretches;
};
struct Arena {
    uintptr_t at, inside;
    size_t bytes, used, limit;
    std::map<uintptr_t, Block> segments, blocks; /* of cudaMalloc; cut out of those */
    Shadow shadow;
};
enum { ARENA_BYTES_LOG2 = 34 };
Arena *arena_of(const void *p); /* NULL: no device memory */
Arena &arena(int device);
const Block *block_at(uintptr_t p); /* the live block that p lies in */
void open_arenas(bool open);
bool is_pinned(const void *p);
char *inside(const void *p); /* where the simulator itself finds the bytes at p */

/* ---- queues: queue.cpp ---- */
extern std::recursive_mutex door;
extern thread_local int device;
int device_count(void);
/* is_account: it only notes what an allocator did, and is run by a device that broke, too */
void enqueue(cudaStream_t stream, const std::string &name, std::function<void()> run,
             bool is_account = false);
void drain_device(int device);
void drain(cudaStream_t stream);
bool is_of_device(cudaStream_t stream); /* of the current one: kernels and events demand it */
unsigned random_below(unsigned n);

/* ---- one call of the runtime: may it go on? device.cpp ---- */
class Call {
    std::lock_guard<std::recursive_mutex> lock_;

  public:
    explicit Call(const char *name, cudaError_t if_told_to_fail = cudaErrorUnknown);
    cudaError_t error; /* cudaSuccess: it may */
    cudaError_t end(cudaError_t error);
};
void break_device(cudaError_t error); /* all later calls answer with this */
bool is_broken(void);

/* ---- reports: check.cpp ---- */
void report(const std::string &what, const void *pc = nullptr, const void *address = nullptr);
extern std::string kernel_name;

/* ---- kernels: launch.cpp ---- */
struct Place { /* of the thread that runs */
    uint32_t op, block, interval, thread : 10, warp_interval : 22;
};
extern __thread bool in_kernel;
extern Place here;
enum { STACK = 64 << 10 };
extern uintptr_t own_stack;
static inline bool is_own_stack(uintptr_t p) {
    return p - own_stack < STACK;
}
bool is_any_stack(uintptr_t p);
struct Shared { /* memory of the block */
    uintptr_t at;
    Shadow shadow;
};
extern Shared shared;
const char *shared_variable(uintptr_t p, size_t bytes); /* NULL: these bytes are in none */
[[noreturn]] void abandon(cudaError_t error);           /* ends the launch */

/* ---- accesses: check.cpp ---- */
enum Kind { READ, WRITE, ATOMIC };
void forget_blocks(void);       /* a kernel begins */
bool may_reach(const Arena *a); /* may the running kernel? device.cpp */
/* by an entry that is no kernel */
void touch(const void *address, size_t bytes, Kind kind, const char *who);
/* the bytes of a block: what was before is forgotten; is_written: by the entry that runs */
void renew(const void *address, size_t bytes, bool is_written);
} // namespace sim
#endif
