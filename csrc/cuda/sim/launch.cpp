/* Launches on the simulated device: their limits, their blocks one after the other, and the threads of a
 * block, which take turns on stacks of their own where they wait for each other. */
#include "sim.h"
#include <algorithm>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

#if !defined __x86_64__
#error "the simulated device switches stacks on x86-64 only"
#endif

namespace sim {
enum { GUARD = 4096, MAX_ARGUMENTS = 4096, SHARED_GAP = 64 };
enum State { RUNS, AT_BARRIER, AT_WARP, AT_EXCHANGE, DONE };
struct Thread {
    void *stack; /* where it stopped */
    State state;
    int line; /* of the barrier or exchange where it waits */
    int kind; /* of barrier */
    unsigned mask;
    uint64_t value; /* what it gives, then what it gets */
    int from;
    uint32_t warp_interval;
};
struct Variable { /* in memory of the block */
    const void *key;
    uintptr_t at;
    size_t bytes;
    const char *name;
};

__thread bool in_kernel;
Place here;
Shared shared;
uintptr_t own_stack;
static Thread threads[MAX_THREADS];
static std::vector<Variable> variables;
static uintptr_t stacks, next_variable, dynamic_shared;
static size_t static_bytes, dynamic_bytes;
static void *scheduler; /* its stack */
static unsigned current, n_threads;
static bool is_over, is_together;
static dim3 grid, block;
static uint3 block_index, thread_index[MAX_THREADS];
static void (*run_thread)(void *);
static std::map<const void *, int> shared_limits;
static uint64_t exchanged[MAX_THREADS / 32][32]; /* what the lanes of each warp gave last */

/* ---- stacks ---- */
extern "C" void cuda_sim_switch(void **from, void *to);
asm(".text\n.globl cuda_sim_switch\n.hidden cuda_sim_switch\ncuda_sim_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");

static uintptr_t stack_of(unsigned i) {
    return stacks + (size_t)i * (STACK + GUARD) + GUARD;
}
static void *arguments_of(unsigned i) {
    return (void *)(stack_of(i) + STACK - MAX_ARGUMENTS);
}
bool is_any_stack(uintptr_t p) {
    return p - stacks < (size_t)MAX_THREADS * (STACK + GUARD);
}

/* Which stack runs is told to the address sanitizer, where it is there: before each switch, and after. */
struct Stack {
    const void *bottom;
    size_t bytes;
    void *fake; /* what the sanitizer keeps of it */
};
static Stack of_scheduler, of_thread[MAX_THREADS];
static void arrive(Stack *at, Stack *from) {
#ifdef __SANITIZE_ADDRESS__
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(at->fake, &bottom, &bytes);
    if (from) from->bottom = bottom, from->bytes = bytes;
#else
    (void)at, (void)from;
#endif
}
static void leave(Stack *from, const Stack *to) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(from ? &from->fake : nullptr, to->bottom, to->bytes);
#else
    (void)from, (void)to;
#endif
}
/* what ended there left its frames, as the sanitizer sees them */
static void clear_stack(unsigned i) {
    ASAN_UNPOISON_MEMORY_REGION((void *)stack_of(i), STACK);
    of_thread[i] = Stack{(void *)stack_of(i), STACK, nullptr};
}

static void to_scheduler(void) {
    const unsigned i = is_together ? current : 0;
    leave(threads[i].state == DONE ? nullptr : &of_thread[i], &of_scheduler);
    cuda_sim_switch(&threads[i].stack, scheduler);
    arrive(&of_thread[i], &of_scheduler);
}
void abandon(cudaError_t error) {
    is_over = true;
    break_device(error);
    to_scheduler();
    abort(); /* nobody switches back */
}
static void set_thread(unsigned i) {
    current = i;
    here.thread = i & (MAX_THREADS - 1);
    here.warp_interval = threads[i].warp_interval & 0x3fffff;
}
static void stack_main(void) {
    arrive(&of_thread[is_together ? current : 0], &of_scheduler);
    if (is_together) {
        run_thread(arguments_of(current));
    } else {
        for (unsigned i = 0; i < n_threads; i++) {
            set_thread(i);
            run_thread(arguments_of(0));
        }
    }
    threads[is_together ? current : 0].state = DONE;
    to_scheduler();
    abort();
}
static void prepare(unsigned i, const std::string &arguments) {
    clear_stack(i);
    memcpy(arguments_of(i), arguments.data(), arguments.size());
    void **top = (void **)((char *)arguments_of(i) - 64); /* `ret` leaves it as after a call */
    *--top = nullptr;
    *--top = (void *)stack_main;
    for (int saved = 0; saved < 6; saved++) *--top = nullptr;
    threads[i] = Thread{top, RUNS, 0, 0, 0, 0, 0, 0};
}
static void resume(unsigned i) {
    set_thread(i);
    own_stack = stack_of(i);
    leave(&of_scheduler, &of_thread[i]);
    in_kernel = true;
    cuda_sim_switch(&scheduler, threads[i].stack);
    in_kernel = false;
    arrive(&of_scheduler, nullptr);
}

/* ---- memory of the block ---- */
const char *shared_variable(uintptr_t p, size_t bytes) {
    static size_t last;
    for (size_t n = variables.size(), tried = 0; tried < n; tried++, last++) {
        if (last >= n) last = 0;
        const Variable &v = variables[last];
        if (p - v.at < v.bytes && bytes <= v.bytes - (p - v.at)) return v.name;
    }
    if (p >= dynamic_shared && p + bytes <= dynamic_shared + dynamic_bytes) return "of the launch";
    return nullptr;
}
static void shared_begin(size_t bytes) {
    const size_t room = 4 * MAX_SHARED;
    if (!shared.at) {
        shared.at = (uintptr_t)mmap(nullptr, room, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        shared.shadow.bytes = room;
    }
    ASAN_POISON_MEMORY_REGION((void *)shared.at, next_variable ? next_variable - shared.at : room);
    dynamic_shared = shared.at + SHARED_GAP;
    ASAN_UNPOISON_MEMORY_REGION((void *)dynamic_shared, bytes);
    next_variable = dynamic_shared + bytes + SHARED_GAP;
    dynamic_bytes = bytes;
    static_bytes = 0;
    variables.clear();
    memset((void *)dynamic_shared, 0xff, bytes);
}

/* ---- waiting ---- */
static void stuck(const char *why) {
    std::string text = why;
    static const char *const what[] = {"run", "wait at a barrier", "wait at a __syncwarp",
                                       "wait at an exchange", "have returned"};
    std::map<std::string, int> count;
    for (unsigned i = 0; i < n_threads; i++) {
        const Thread &t = threads[i];
        count[what[t.state] + (t.line && t.state != DONE ? " in line " + std::to_string(t.line) : "")]++;
    }
    for (const auto &each : count) text += "; " + std::to_string(each.second) + " " + each.first;
    report(text);
    is_over = true;
    break_device(cudaErrorLaunchFailure);
}

/* Lets the lanes of a warp go on when all of a mask have come to the same line; false: none did. */
static bool release_warps(void) {
    bool any = false;
    for (unsigned i = 0; i < n_threads && !is_over; i++) {
        const Thread first = threads[i];
        if (first.state != AT_WARP && first.state != AT_EXCHANGE) continue;
        const unsigned base = i & ~31u;
        bool all = true;
        for (unsigned lane = 0; lane < 32; lane++) {
            if (!(first.mask >> lane & 1)) continue;
            if (base + lane >= n_threads) return stuck("a mask names a lane that is not there"), false;
            const Thread &t = threads[base + lane];
            all = all && t.state == first.state && t.mask == first.mask && t.line == first.line;
        }
        if (!all) continue;
        uint64_t *given = exchanged[base / 32];
        for (unsigned lane = 0; lane < 32 && base + lane < n_threads; lane++)
            given[lane] = threads[base + lane].value;
        for (unsigned lane = 0; lane < 32; lane++) {
            if (!(first.mask >> lane & 1)) continue;
            Thread &t = threads[base + lane];
            if (first.state == AT_WARP && t.mask == 0xffffffffu) {
                t.warp_interval++; /* an exchange orders no accesses to memory */
            } else if (first.state == AT_EXCHANGE) {
                if (!(t.mask >> (t.from & 31) & 1))
                    return stuck("an exchange with a lane outside of its mask"), false;
                t.value = given[t.from & 31];
            }
            t.state = RUNS;
        }
        any = true;
    }
    return any;
}

/* All threads wait at one barrier: they go on. */
static bool release_block(void) {
    int any = 0, count = 0;
    for (unsigned i = 0; i < n_threads; i++) {
        const Thread &t = threads[i];
        if (t.state != AT_BARRIER || t.line != threads[0].line) return false;
        any |= t.value != 0;
        count += t.value != 0;
    }
    for (unsigned i = 0; i < n_threads; i++) {
        Thread &t = threads[i];
        t.value = t.kind == CUDA_SIM_BARRIER_OR    ? (uint64_t)any
                  : t.kind == CUDA_SIM_BARRIER_AND ? (uint64_t)(count == (int)n_threads)
                                                   : (uint64_t)count;
        t.state = RUNS;
        t.warp_interval = 0;
    }
    here.interval++;
    return true;
}

static void run_together(const std::string &arguments) {
    static std::vector<unsigned> order;
    order.resize(n_threads);
    for (unsigned i = 0; i < n_threads; i++) {
        prepare(i, arguments);
        order[i] = i;
    }
    while (!is_over) {
        bool any = false;
        for (unsigned i = n_threads; i-- > 1;) std::swap(order[i], order[random_below(i + 1)]);
        for (unsigned i : order)
            if (threads[i].state == RUNS && !is_over) {
                resume(i);
                any = true;
            }
        if (is_over || release_warps() || any) continue;
        bool all = std::all_of(threads, threads + n_threads, [](const Thread &t) { return t.state == DONE; });
        if (all) return;
        if (!release_block() && !is_over) stuck("threads do not all meet at one barrier");
    }
}

static void run_block(uint64_t number, const std::string &arguments) {
    here.block = (uint32_t)number + 1;
    here.interval = 0;
    block_index = {(unsigned)(number % grid.x), (unsigned)(number / grid.x % grid.y),
                   (unsigned)(number / grid.x / grid.y)};
    shared_begin(dynamic_bytes);
    if (is_together) return run_together(arguments);
    prepare(0, arguments);
    resume(0);
}

static void run_launch(const std::string &arguments) {
    if (!stacks) {
        stacks = (uintptr_t)mmap(nullptr, (size_t)MAX_THREADS * (STACK + GUARD), PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        for (unsigned i = 0; i < MAX_THREADS; i++) mprotect((void *)(stack_of(i) - GUARD), GUARD, PROT_NONE);
    }
    is_over = false;
    for (unsigned i = 0; i < n_threads; i++)
        thread_index[i] = {i % block.x, i / block.x % block.y, i / block.x / block.y};
    here.op = running_op();
    forget_blocks();
    const uint64_t blocks = (uint64_t)grid.x * grid.y * grid.z, first = random_below(1u << 30) % blocks;
    for (uint64_t i = 0; i < blocks && !is_over; i++) run_block((first + i) % blocks, arguments);
}
} // namespace sim

using namespace sim;
extern "C" {
void cuda_sim_enqueue(const char *name, const void *kernel, dim3 g, dim3 b, size_t bytes, cudaStream_t stream,
                      cuda_sim_kind kind, void (*run)(void *), const void *arguments, size_t n) {
    Call call("a launch", cudaErrorLaunchOutOfResources);
    if (call.error) return;
    const uint64_t count = (uint64_t)b.x * b.y * b.z;
    const int limit = shared_limits.count(kernel) ? shared_limits[kernel] : (int)STATIC_SHARED;
    if (!g.x || !g.y || !g.z || !count || count > MAX_THREADS || b.z > 64 || g.x > 0x7fffffff ||
        g.y > MAX_GRID_YZ || g.z > MAX_GRID_YZ || bytes > (size_t)limit || n > MAX_ARGUMENTS) {
        kernel_name = name;
        report("a launch that no device can run: an empty one, or one beyond the limits");
        call.end(cudaErrorInvalidConfiguration);
        return;
    }
    if (!is_of_device(stream)) {
        call.end(cudaErrorInvalidResourceHandle);
        return;
    }
    std::string copy((const char *)arguments, n);
    enqueue(stream, name, [=] {
        kernel_name = name;
        grid = g;
        block = b;
        n_threads = (unsigned)count;
        dynamic_bytes = bytes;
        is_together = kind == CUDA_SIM_TOGETHER;
        run_thread = run;
        run_launch(copy);
    });
}
cudaError_t cuda_sim_shared_limit(const void *kernel, int bytes) {
    Call call("cudaFuncSetAttribute", cudaErrorInvalidValue);
    if (call.error) return call.error;
    if (bytes < 0 || bytes > MAX_SHARED) return call.end(cudaErrorInvalidValue);
    shared_limits[kernel] = bytes;
    return cudaSuccess;
}

/* ---- what kernels call ---- */
uint3 cuda_sim_thread(void) {
    return thread_index[current];
}
uint3 cuda_sim_block(void) {
    return block_index;
}
dim3 cuda_sim_block_dim(void) {
    return block;
}
dim3 cuda_sim_grid_dim(void) {
    return grid;
}
void *cuda_sim_dynamic_shared(void) {
    return (void *)dynamic_shared;
}
void *cuda_sim_shared(const void *key, size_t bytes, size_t align, const char *name) {
    for (const Variable &v : variables)
        if (v.key == key) return (void *)v.at;
    const uintptr_t at = (next_variable + align - 1) / align * align;
    static_bytes += bytes;
    if (static_bytes > STATIC_SHARED || static_bytes + dynamic_bytes > MAX_SHARED) {
        report("a block with more shared memory than there is");
        abandon(cudaErrorLaunchOutOfResources);
    }
    variables.push_back(Variable{key, at, bytes, name});
    next_variable = at + bytes + SHARED_GAP;
    ASAN_UNPOISON_MEMORY_REGION((void *)at, bytes);
    memset((void *)at, 0xff, bytes);
    return (void *)at;
}

static Thread &wait(State state, int line) {
    Thread &t = threads[current];
    if (!is_together) {
        report("threads wait for each other in a kernel of CUDA_LAUNCH", __builtin_return_address(0));
        abandon(cudaErrorLaunchFailure);
    }
    t.state = state;
    t.line = line;
    to_scheduler();
    return t;
}
static Thread &wait_for_warp(State state, unsigned mask, int line) {
    if (!(mask >> (current & 31) & 1)) {
        report("a lane is missing from its own mask", __builtin_return_address(0));
        abandon(cudaErrorLaunchFailure);
    }
    threads[current].mask = mask;
    return wait(state, line);
}
int cuda_sim_barrier(int kind, int value, int line) {
    threads[current].kind = kind;
    threads[current].value = (uint64_t)value;
    return (int)wait(AT_BARRIER, line).value;
}
void cuda_sim_warp(unsigned mask, int line) {
    wait_for_warp(AT_WARP, mask, line);
}
uint64_t cuda_sim_shuffle(unsigned mask, uint64_t value, int from, int line) {
    threads[current].value = value;
    threads[current].from = from;
    return wait_for_warp(AT_EXCHANGE, mask, line).value;
}
unsigned cuda_sim_ballot(unsigned mask, int value, int line) {
    unsigned all = 0;
    cuda_sim_shuffle(mask, value != 0, (int)(current & 31), line);
    /* every lane of the mask goes on before any of them waits anew */
    for (int lane = 0; lane < 32; lane++)
        if (mask >> lane & 1) all |= (unsigned)exchanged[current / 32][lane] << lane;
    return all;
}
void cuda_sim_collect(void *value, void (*act)(void *const *values, void *ctx), void *ctx, int line) {
    cuda_sim_shuffle(0xffffffffu, (uintptr_t)value, (int)(current & 31), line);
    if ((current & 31) == 0) {
        void *values[32];
        for (int lane = 0; lane < 32; lane++) values[lane] = (void *)exchanged[current / 32][lane];
        in_kernel = false;
        act(values, ctx);
        in_kernel = true;
    }
    cuda_sim_shuffle(0xffffffffu, 0, 0, -line); /* nobody goes on, and ends what it gave, before that */
}
void cuda_sim_trap(void) {
    report("__trap()", __builtin_return_address(0));
    abandon(cudaErrorLaunchFailure);
}
}
