/* The check of one access, the hooks that the compiler puts before each (-fsanitize=thread), and
 * what was found. */
#include "sim.h"
#include "control.h"
#include <dlfcn.h>
#include <set>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== reports: what the checks found, each place once, with its line ==== */
namespace sim {
enum { MAX_REPORTS = 100 };
static std::vector<std::string> reports;
static std::set<std::pair<std::string, const void *>> seen;
std::string kernel_name;

/* "arithmetic.cu:31" for an address of code; empty without addr2line or debug information */
static std::string line_of(const void *pc) {
    Dl_info info;
    if (!pc || !dladdr(pc, &info) || !info.dli_fname) return "";
    char command[512], out[512] = "";
    snprintf(command, sizeof command, "addr2line -e '%s' %#zx 2>/dev/null", info.dli_fname,
             (size_t)((const char *)pc - (const char *)info.dli_fbase) - 1);
    if (FILE *f = popen(command, "r")) {
        if (!fgets(out, sizeof out, f)) out[0] = 0;
        pclose(f);
    }
    const char *name = strrchr(out, '/');
    std::string line = name ? name + 1 : out;
    return line.substr(0, line.find_first_of(" \n"));
}

static std::string place_of(const void *address) {
    char text[128];
    const uintptr_t p = (uintptr_t)address;
    if (!p) return "";
    if (p - shared.at < shared.shadow.bytes) {
        const char *name = shared_variable(p, 1);
        return std::string(", shared memory ") + (name ? name : "outside of all variables");
    }
    if (const Block *b = block_at(p))
        snprintf(text, sizeof text, ", byte %zu of a block of %zu", (size_t)(p - b->at), b->bytes);
    else
        snprintf(text, sizeof text, ", %s memory in no block", arena_of(address) ? "device" : "host");
    return text;
}

void report(const std::string &what, const void *pc, const void *address) {
    if (reports.size() >= MAX_REPORTS || !seen.insert({kernel_name + what, pc}).second) return;
    std::string text = kernel_name + ": " + what;
    if (pc) text += " at " + line_of(pc);
    if (in_kernel || pc) {
        char who[64];
        snprintf(who, sizeof who, " by thread %u of block %u", here.thread, here.block);
        text += who;
    }
    reports.push_back(text + place_of(address));
}
} // namespace sim

using namespace sim;
extern "C" {
int cuda_sim_reports(void) {
    return (int)reports.size();
}
const char *cuda_sim_report(int i) {
    return i >= 0 && i < (int)reports.size() ? reports[(size_t)i].c_str() : "";
}
void cuda_sim_clear_reports(void) {
    reports.clear();
    seen.clear();
}
}

/* ==== checks ==== */
namespace sim {
/* Note [Cells]
 * Four bytes have one cell, which remembers who wrote, read and updated them last; from an access to some of
 * them on, each has one, until their block ends. Threads run undisturbed from barrier to barrier; whether two
 * accesses race is a rule about who they were, never about when. */
struct Seen {
    Place last;
    uint8_t many; /* who else since: SEVERAL_... of the last one's kernel, block or interval */
};
enum { SEVERAL_BLOCKS = 1, SEVERAL_WARPS = 2, SEVERAL_LANES = 4 };
struct Cell {
    Place write;
    Seen read, atomic;
    uint8_t is_set; /* a bit for each byte */
};
enum { STRETCH = 4096, WORDS = STRETCH / 4 };
struct Stretch {
    Cell words[WORDS];
    bool is_split[WORDS];
    Cell (*bytes)[4]; /* of the words that are split */
};

template <class T> static T *zeroed(size_t n) {
    T *p = (T *)calloc(n, sizeof(T));
    if (!p) abort();
    return p;
}
static Stretch *stretch_new(Stretch *&s) {
    return s = zeroed<Stretch>(1);
}
static inline Stretch *stretch_at(Shadow &shadow, size_t at, bool make) {
    if (!shadow.stretches) shadow.stretches = zeroed<Stretch *>(shadow.bytes / STRETCH + 1);
    Stretch *&s = shadow.stretches[at / STRETCH];
    return s || !make ? s : stretch_new(s);
}
static Cell &byte_cell(Stretch &s, size_t at) {
    const size_t word = at % STRETCH / 4;
    if (!s.is_split[word]) {
        if (!s.bytes) s.bytes = zeroed<Cell[4]>(WORDS);
        for (int i = 0; i < 4; i++) {
            s.bytes[word][i] = s.words[word];
            s.bytes[word][i].is_set = s.words[word].is_set >> i & 1;
        }
        s.is_split[word] = true;
    }
    return s.bytes[word][at & 3];
}

/* ---- the rule ---- */
enum { KNOWN_OPS = 64 };
static struct {
    uint32_t before, now;
    bool is_unordered;
} known_ops[KNOWN_OPS];
static inline bool unordered(uint32_t a, uint32_t b) {
    auto &known = known_ops[a % KNOWN_OPS];
    if (known.before != a || known.now != b) known = {a, b, !is_ordered(a, b)};
    return known.is_unordered;
}
static bool same_warp(const Place &a, const Place &b) {
    return a.thread / 32 == b.thread / 32;
}
/* Does nothing order `now` after `then`? */
static inline bool races(const Place &then, const Place &now) {
    if (!then.op) return false;
    if (then.op != now.op) return unordered(then.op, now.op);
    if (then.block != now.block) return true;
    if (then.interval != now.interval || then.thread == now.thread) return false;
    return !(same_warp(then, now) && then.warp_interval != now.warp_interval);
}
static inline bool races(const Seen &then, const Place &now) {
    if (races(then.last, now)) return true;
    if (then.last.op != now.op || !then.last.op) return false;
    if (then.many & SEVERAL_BLOCKS) return true;
    if (then.last.block != now.block || then.last.interval != now.interval) return false;
    return then.many & SEVERAL_WARPS ||
           (then.many & SEVERAL_LANES && then.last.warp_interval == now.warp_interval);
}
static bool is_same(const Place &a, const Place &b) {
    return memcmp(&a, &b, sizeof a) == 0;
}
static inline void note(Seen &seen, const Place &now) {
    const Place &last = seen.last;
    if (is_same(last, now)) return;
    if (last.op != now.op)
        seen.many = 0;
    else if (last.block != now.block)
        seen.many |= SEVERAL_BLOCKS;
    else if (last.interval != now.interval)
        seen.many &= SEVERAL_BLOCKS;
    else if (!same_warp(last, now))
        seen.many |= SEVERAL_WARPS;
    else if (last.warp_interval != now.warp_interval)
        seen.many &= (uint8_t)~SEVERAL_LANES;
    else
        seen.many |= SEVERAL_LANES;
    seen.last = now;
}
static bool of_this_block(const Place &p) {
    return p.op == here.op && p.block == here.block;
}

template <bool is_shared>
__attribute__((always_inline)) static inline const char *visit(Cell &c, Kind kind, uint8_t mask) {
    if (is_shared) { /* a block finds nothing of the block before it there */
        if (!of_this_block(c.write)) c.write = Place(), c.is_set = 0;
        if (!of_this_block(c.read.last)) c.read = Seen();
        if (!of_this_block(c.atomic.last)) c.atomic = Seen();
    }
    const char *wrong = nullptr;
    if (kind != WRITE && (c.is_set & mask) != mask) wrong = "reads memory that nobody has written";
    if (races(c.write, here))
        wrong = kind == READ ? "reads what another thread writes" : "writes what another thread writes";
    if (kind != ATOMIC && races(c.atomic, here)) wrong = "touches what another thread updates";
    if (kind != READ && races(c.read, here)) wrong = "writes what another thread reads";
    if (kind == READ) {
        note(c.read, here);
    } else {
        if (kind == WRITE)
            c.write = here;
        else
            note(c.atomic, here);
        c.is_set |= mask;
    }
    return wrong;
}

template <bool is_shared>
__attribute__((always_inline)) static inline const char *visit_all(Shadow &shadow, size_t at, size_t bytes,
                                                                   Kind kind) {
    const char *wrong = nullptr;
    for (const size_t end = at + bytes; at < end;) {
        Stretch &s = *stretch_at(shadow, at, true);
        const size_t word = at % STRETCH / 4;
        const bool is_whole = at % 4 == 0 && end - at >= 4 && !s.is_split[word];
        const char *found = is_whole ? visit<is_shared>(s.words[word], kind, 15)
                                     : visit<is_shared>(byte_cell(s, at), kind, 1);
        if (found) wrong = found;
        at += is_whole ? 4 : 1;
    }
    return wrong;
}

/* ---- one access of a kernel ---- */
/* The blocks that the running kernel touched last, by their addresses: no block begins or ends meanwhile. */
struct Known {
    uintptr_t at;
    size_t bytes;
    Arena *arena;
};
enum { KNOWN_BLOCKS = 64 };
static Known known_blocks[KNOWN_BLOCKS];
void forget_blocks(void) {
    memset(known_blocks, 0, sizeof known_blocks);
}
static inline bool is_within(const Known &k, uintptr_t p, size_t bytes) {
    return p - k.at < k.bytes && bytes <= k.bytes - (p - k.at);
}
/* what is wrong with an address in device memory */
static const char *find_block(Known &k, uintptr_t p, size_t bytes) {
    Arena *a = arena_of((const void *)p);
    const Block *b = block_at(p);
    if (!b || p - b->at + bytes > b->bytes) return "touches memory outside of a block";
    if (!may_reach(a)) return "touches memory of another device, which is no peer";
    k = Known{b->at, b->bytes, a};
    return nullptr;
}

static void complain(const char *wrong, uintptr_t p, cudaError_t fatal, const void *pc) {
    in_kernel = false; /* the report's own accesses are none of the kernel's */
    report(wrong, pc, (const void *)p);
    in_kernel = true;
    if (fatal) abandon(fatal);
}
/* what SPECIAL_TABLE defines, between its borders as the linker names them; nobody can write there */
extern "C" const char __start_cuda_tables[] __attribute__((weak, visibility("hidden")));
extern "C" const char __stop_cuda_tables[] __attribute__((weak, visibility("hidden")));
static bool is_table(uintptr_t p) {
    return p >= (uintptr_t)__start_cuda_tables && p < (uintptr_t)__stop_cuda_tables;
}

static void check_elsewhere(uintptr_t p, const void *pc) {
    if (is_table(p) || is_pinned((const void *)p)) return;
    complain(is_any_stack(p) ? "touches the stack of another thread" : "touches memory of the host", p,
             cudaErrorIllegalAddress, pc);
}
/* inlined for each size and kind: it runs at every access */
__attribute__((always_inline)) static inline void check(const void *address, size_t bytes, Kind kind,
                                                        bool must_align, const void *pc) {
    const uintptr_t p = (uintptr_t)address;
    if (is_own_stack(p) || !in_kernel) return;
    if (must_align && p % bytes)
        complain("touches memory at an address that is not aligned", p, cudaErrorMisalignedAddress, pc);
    const char *wrong;
    if (p - shared.at < shared.shadow.bytes) {
        if (!shared_variable(p, bytes))
            complain("touches shared memory outside of a variable", p, cudaErrorIllegalAddress, pc);
        wrong = visit_all<true>(shared.shadow, p - shared.at, bytes, kind);
    } else {
        Known &k = known_blocks[p / 512 % KNOWN_BLOCKS];
        if (!is_within(k, p, bytes)) {
            if (!arena_of(address)) return check_elsewhere(p, pc);
            if ((wrong = find_block(k, p, bytes))) complain(wrong, p, cudaErrorIllegalAddress, pc);
        }
        wrong = visit_all<false>(k.arena->shadow, p - k.arena->at, bytes, kind);
    }
    if (wrong) complain(wrong, p, cudaSuccess, pc);
}

/* ---- accesses of other entries ---- */
void touch(const void *address, size_t bytes, Kind kind, const char *who) {
    enum { MOST = 64 << 20 }; /* longer ones are not looked at: a copy of gigabytes */
    Arena *a = arena_of(address);
    if (!a || bytes > MOST) return;
    kernel_name = who;
    here = Place{running_op(), 0, 0, 0, 0};
    for (uintptr_t p = (uintptr_t)address, end = p + bytes; p < end;) {
        const uintptr_t next = std::min<uintptr_t>(end, p - (p - a->at) % STRETCH + STRETCH);
        const char *wrong = visit_all<false>(a->shadow, p - a->at, next - p, kind);
        /* a copy may carry along what nobody has written, as empty().clone() does */
        if (wrong && strcmp(wrong, "reads memory that nobody has written") != 0)
            report(std::string(who) + " " + wrong, nullptr, (const void *)p);
        p = next;
    }
}
void renew(const void *address, size_t bytes, bool is_written) {
    enum { EVERY = 512 }; /* no block is smaller than that, by an allocator */
    Arena *a = arena_of(address);
    const Place now = {is_written ? running_op() : 0, 0, 0, 0, 0};
    if (!a) return;
    for (uintptr_t p = (uintptr_t)address, end = p + bytes; p < end;) {
        const size_t at = p - a->at, word = at % STRETCH / 4;
        Stretch *s = stretch_at(a->shadow, at, false);
        if (!s) {
            p += STRETCH - at % STRETCH;
            continue;
        }
        const bool is_whole = at % 4 == 0 && end - p >= 4;
        if (is_whole && at % EVERY == 0 && is_written && races(s->words[word].write, now))
            report("a block begins where nothing says that the one before has ended", nullptr, address);
        if (is_whole) s->is_split[word] = false;
        (is_whole ? s->words[word] : byte_cell(*s, at)) = Cell{now, Seen(), Seen(), 0};
        p += is_whole ? 4 : 1;
    }
}
} // namespace sim

using namespace sim;
extern "C" {
uint64_t cuda_sim_atomic_read(const void *p, size_t bytes) {
    check(p, bytes, ATOMIC, true, __builtin_return_address(0));
    uint64_t bits = 0;
    memcpy(&bits, p, bytes);
    return bits;
}
void cuda_sim_atomic_write(void *p, size_t bytes, uint64_t bits) {
    memcpy(p, &bits, bytes);
}

#ifndef __SANITIZE_ADDRESS__ /* under the sanitizers kernels are compiled with their checks instead */
#define CUDA_SIM_HOOK __attribute__((visibility("hidden"))) void
#define CUDA_SIM_HOOKS(n)                                                                                    \
    CUDA_SIM_HOOK __tsan_read##n(void *p) {                                                                  \
        check(p, n, READ, true, __builtin_return_address(0));                                                \
    }                                                                                                        \
    CUDA_SIM_HOOK __tsan_write##n(void *p) {                                                                 \
        check(p, n, WRITE, true, __builtin_return_address(0));                                               \
    }                                                                                                        \
    CUDA_SIM_HOOK __tsan_unaligned_read##n(void *p) {                                                        \
        check(p, n, READ, false, __builtin_return_address(0));                                               \
    }                                                                                                        \
    CUDA_SIM_HOOK __tsan_unaligned_write##n(void *p) {                                                       \
        check(p, n, WRITE, false, __builtin_return_address(0));                                              \
    }
CUDA_SIM_HOOKS(1)
CUDA_SIM_HOOKS(2)
CUDA_SIM_HOOKS(4)
CUDA_SIM_HOOKS(8)
CUDA_SIM_HOOKS(16)
CUDA_SIM_HOOK __tsan_read_range(void *p, size_t n) {
    check(p, n, READ, false, __builtin_return_address(0));
}
CUDA_SIM_HOOK __tsan_write_range(void *p, size_t n) {
    check(p, n, WRITE, false, __builtin_return_address(0));
}
CUDA_SIM_HOOK __tsan_func_entry(void *) {}
CUDA_SIM_HOOK __tsan_func_exit(void) {}
CUDA_SIM_HOOK __tsan_init(void) {}
CUDA_SIM_HOOK __tsan_vptr_update(void **, void *) {}
CUDA_SIM_HOOK __tsan_vptr_read(void **) {}
/* Vectors are loaded as scalars, whose hooks do not see what the vector demands: -fsanitize=alignment asks
 * here. */
CUDA_SIM_HOOK __ubsan_handle_type_mismatch_v1(void *, uintptr_t p) {
    if (is_own_stack(p) || !in_kernel) return;
    report("touches memory at an address that is not aligned", __builtin_return_address(0), (const void *)p);
    abandon(cudaErrorMisalignedAddress);
}
#endif
}
