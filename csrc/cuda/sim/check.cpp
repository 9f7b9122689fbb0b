/* The check of one access, and the hooks that the compiler puts before each (-fsanitize=thread). */
#include "sim.h"
#include <string.h>
#include <sys/mman.h>

namespace sim {
/* Note [Cells]
 * Four bytes have one cell, which remembers who wrote, read and updated them last. A stretch of 4 KB where
 * somebody touched less than four bytes at once has one for each byte from then on. Threads run undisturbed
 * from barrier to barrier; whether two accesses race is a rule about who they were, never about when. */
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
    bool by_byte;
    std::vector<Cell> cells;
};
typedef std::vector<std::unique_ptr<Stretch>> Map;
static std::map<uintptr_t, Map> maps; /* by where an arena, or shared memory, begins */

static Stretch *stretch_at(uintptr_t base, size_t bytes, uintptr_t p, bool make) {
    static uintptr_t last_base;
    static Map *last;
    if (last_base != base) {
        last = &maps[base];
        last_base = base;
        if (last->empty()) last->resize(bytes / STRETCH + 1);
    }
    std::unique_ptr<Stretch> &s = (*last)[(p - base) / STRETCH];
    if (!s && make) {
        s.reset(new Stretch{false, {}});
        s->cells.resize(WORDS);
    }
    return s.get();
}
static void split(Stretch &s) {
    std::vector<Cell> bytes(STRETCH);
    for (size_t i = 0; i < STRETCH; i++) {
        bytes[i] = s.cells[i / 4];
        bytes[i].is_set = bytes[i].is_set >> (i & 3) & 1;
    }
    s.cells.swap(bytes);
    s.by_byte = true;
}

/* ---- the rule ---- */
static bool unordered(uint32_t a, uint32_t b) {
    static uint32_t last_a, last_b;
    static bool last;
    if (a != last_a || b != last_b) {
        last = !is_ordered(a, b);
        last_a = a;
        last_b = b;
    }
    return last;
}
static bool same_warp(const Place &a, const Place &b) {
    return a.thread / 32 == b.thread / 32;
}
/* Does nothing order `now` after `then`? */
static bool races(const Place &then, const Place &now) {
    if (!then.op) return false;
    if (then.op != now.op) return unordered(then.op, now.op);
    if (then.block != now.block) return true;
    if (then.interval != now.interval || then.thread == now.thread) return false;
    return !(same_warp(then, now) && then.warp_interval != now.warp_interval);
}
static bool races(const Seen &then, const Place &now) {
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
static void note(Seen &seen, const Place &now) {
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

static const char *visit(Cell &c, Kind kind, uint8_t mask, bool is_shared) {
    if (is_shared && c.write.op && !of_this_block(c.write)) c.write = Place(), c.is_set = 0;
    if (is_shared && c.read.last.op && !of_this_block(c.read.last)) c.read = Seen();
    if (is_shared && c.atomic.last.op && !of_this_block(c.atomic.last)) c.atomic = Seen();
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

static const char *visit_all(uintptr_t base, size_t size, uintptr_t p, size_t bytes, Kind kind,
                             bool is_shared) {
    const char *wrong = nullptr;
    for (uintptr_t end = p + bytes; p < end;) {
        Stretch *s = stretch_at(base, size, p, true);
        const size_t at = (p - base) % STRETCH;
        if (!s->by_byte && (p % 4 || end - p < 4)) split(*s);
        const char *found = s->by_byte ? visit(s->cells[at], kind, 1, is_shared)
                                       : visit(s->cells[at / 4], kind, 15, is_shared);
        if (found) wrong = found;
        p += s->by_byte ? 1 : 4;
    }
    return wrong;
}

/* ---- one access of a kernel ---- */
static const Block *known_block(uintptr_t p, size_t bytes) {
    const Block *b = block_at(p);
    return b && p - b->at + bytes <= b->bytes ? b : nullptr;
}

void check(const void *address, size_t bytes, Kind kind, bool must_align, const void *pc) {
    const uintptr_t p = (uintptr_t)address;
    if (!in_kernel || is_own_stack(p, bytes)) return;
    in_kernel = false; /* the check's own accesses are none of the kernel's */
    const char *wrong = nullptr;
    cudaError_t fatal = cudaErrorIllegalAddress;
    if (must_align && p % bytes) {
        wrong = "touches memory at an address that is not aligned";
        fatal = cudaErrorMisalignedAddress;
    } else if (p >= shared.at && p < shared.end) {
        if (!shared_variable(p, bytes))
            wrong = "touches shared memory outside of a variable";
        else if ((wrong = visit_all(shared.at, shared.end - shared.at, p, bytes, kind, true)))
            fatal = cudaSuccess;
    } else if (Arena *a = arena_of(address)) {
        if (!known_block(p, bytes))
            wrong = "touches memory outside of a block";
        else if ((wrong = visit_all(a->at, a->bytes, p, bytes, kind, false)))
            fatal = cudaSuccess;
    } else if (!is_pinned(address)) {
        wrong = is_any_stack(p) ? "touches the stack of another thread" : "touches memory of the host";
    }
    if (wrong) report(wrong, pc, address);
    in_kernel = true;
    if (wrong && fatal) abandon(fatal);
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
        const char *wrong = visit_all(a->at, a->bytes, p, next - p, kind, false);
        /* a copy may carry along what nobody has written, as empty().clone() does */
        if (wrong && strcmp(wrong, "reads memory that nobody has written") != 0)
            report(std::string(who) + " " + wrong, nullptr, (const void *)p);
        p = next;
    }
}
void forget(const void *address, size_t bytes, bool is_written) {
    Arena *a = arena_of(address);
    const Place now = {is_written ? running_op() : 0, 0, 0, 0, 0};
    if (!a) return;
    for (uintptr_t p = (uintptr_t)address, end = p + bytes; p < end;) {
        Stretch *s = stretch_at(a->at, a->bytes, p, false);
        const size_t at = (p - a->at) % STRETCH;
        if (!s) {
            p += STRETCH - at;
            continue;
        }
        if (!s->by_byte && (p % 4 || end - p < 4)) split(*s);
        s->cells[s->by_byte ? at : at / 4] = Cell{now, Seen(), Seen(), 0};
        p += s->by_byte ? 1 : 4;
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
    if (!in_kernel || is_own_stack(p, 1)) return;
    report("touches memory at an address that is not aligned", __builtin_return_address(0), (const void *)p);
    abandon(cudaErrorMisalignedAddress);
}
}
