/* Runs the kernels of a call: holds its storages, provides scratch memory, and releases the GIL for large
 * calls. */
#include "call.h"
#include "core/memory.h"
#include "core/storage.h"
#include "core/view.h"
#include "core/device.h"
#include "core/error.h"
#include "core/generator.h"
#include "core/services.h"
#include "core/threads.h"
#include "ops/select.h"
#include <pthread.h>
#include <math.h>

/* ---- the memory that kernels work on, while others run Python ----
 * Note [Snapshot]
 * Without the GIL another thread may give a tensor other memory (x.data = y) while a kernel reads its view.
 * So kernels then work on copies of the views, which keep the storages alive, and no storage is resized that
 * has a pin. */
static int places_of(rl_call *k, bool results, rl_held_view *s) {
    int n = 0;
    for (int i = 0; i < k->n_arg; i++) {
        if (k->arg[i].tag == RL_TENSOR) {
            if (s) s[n].place = &k->arg[i].u.t;
            n++;
        }
        for (int j = 0; k->arg[i].tag == RL_TENSORS && j < k->arg[i].n; j++) {
            if (!k->arg[i].u.ts[j]) continue;
            if (s) s[n].place = &k->arg[i].u.ts[j];
            n++;
        }
    }
    for (int i = 0; results && i < k->n_out; i++, n++)
        if (s) s[n].place = &k->out[i];
    return n;
}

/* The threads that ran kernels do not live on in a forked child. */
static void beside_after_fork(void) {
    rl_kernels_beside = 0;
}
static void count_beside(int by) {
    static bool guarded;
    if (!guarded) guarded = pthread_atfork(NULL, NULL, beside_after_fork) == 0;
    rl_kernels_beside += by;
}

static void drop(rl_hold *h, int n) {
    for (int i = 0; i < n; i++) {
        rl_held_view *s = &h->views[i];
        s->copy.storage->in_use--;
        *s->place = s->original;
        rl_storage_release(s->copy.storage);
        rl_view_clear(&s->copy);
    }
    count_beside(-1);
    if (h->views != h->room) rl_free(h->views);
}

rl_status rl_hold_take(rl_hold *h, rl_call *k, bool results) {
    h->n = places_of(k, results, NULL);
    h->views = h->n <= RL_HOLD_ROOM ? h->room : rl_alloc(RL_COUNT(h->n), sizeof *h->views);
    if (!h->views) return RL_FAIL;
    places_of(k, results, h->views);
    count_beside(1);
    for (int i = 0; i < h->n; i++) {
        rl_held_view *s = &h->views[i];
        s->original = *s->place;
        if (rl_view_copy(&s->copy, s->original) != RL_OK) {
            drop(h, i);
            return RL_FAIL;
        }
        rl_storage_retain(s->copy.storage)->in_use++;
        *s->place = &s->copy;
    }
    return RL_OK;
}

void rl_hold_end(rl_hold *h) {
    drop(h, h->n);
}

/* ---- kernels ---- */
/* Heavy operators need the thread pool and to know where oneDNN is, which kernels open when they run it:
 * Python looks at the first of them. Other threads' first ones look, too, and so wait for it. A child forked
 * meanwhile would wait for an import whose thread it does not have: it goes without. */
static bool heavy_loaded;
static int heavy_loading; /* threads */

static void heavy_after_fork(void) {
    if (heavy_loading) heavy_loaded = true;
}

int rl_heavy_load(void) {
    static bool guarded;
    static _Thread_local bool loading; /* a warning's handler may compute */
    if (RL_LIKELY(heavy_loaded) || loading) return 0;
    if (!guarded) guarded = pthread_atfork(NULL, NULL, heavy_after_fork) == 0;
    loading = true;
    heavy_loading++;
    rl_threads_load();
    RL_OWNED PyObject *finder = PyImport_ImportModule("rushlight._onednn");
    RL_OWNED PyObject *done = finder ? PyObject_CallMethod(finder, "offer", NULL) : NULL;
    loading = false;
    heavy_loading--;
    heavy_loaded = true;
    return done ? 0 : -1;
}

/* Kernels use SciPy's LAPACK for large matrices only, so that it is not imported for others. */
enum { LAPACK_ELEMENTS = 48 * 48 };

int rl_lapack_load(const rl_op_call *b) {
    static bool loaded;
    bool large = false;
    if (RL_LIKELY(loaded)) return 0;
    for (int i = 0; i < b->k.n_arg && i < 2; i++)
        large |= b->k.arg[i].tag == RL_TENSOR && rl_tensor_arg(&b->k, i)->numel >= LAPACK_ELEMENTS;
    if (!large) return 0;
    loaded = true; /* an import that computes finds no LAPACK yet */
    RL_OWNED PyObject *finder = PyImport_ImportModule("rushlight._scipy");
    RL_OWNED PyObject *done = finder ? PyObject_CallMethod(finder, "offer", NULL) : NULL;
    return done ? 0 : -1;
}

/* Giving the GIL up and taking it again costs half a microsecond and, when others want it, some more; they
 * wait no longer than for work of this many tenths of a nanosecond. */
enum { WITHOUT_GIL = 100000 };
/* More than any memory holds: only views that repeat elements have so many, and no kernel ever came to an
 * end. A view may have 2^63 - 1 of them, so they are not added up before they are refused. */
#define MAX_ELEMENTS ((uint64_t)1 << 47)

/* too many elements to walk over; those of a tensor that others pick from are not walked over */
static bool is_endless(const rl_operator *op, const rl_call *k, uint64_t bits) {
    if (bits < MAX_ELEMENTS) return false;
    if (!(op->traits & RL_GATHERS)) return true;
    uint64_t others = 0;
    for (int i = 1; i < k->n_arg; i++) {
        if (k->arg[i].tag == RL_TENSOR) others |= (uint64_t)rl_tensor_arg(k, i)->numel;
        for (int j = 0; k->arg[i].tag == RL_TENSORS && j < k->arg[i].n; j++)
            if (k->arg[i].u.ts[j]) others |= (uint64_t)k->arg[i].u.ts[j]->numel;
    }
    for (int i = 0; i < k->n_out; i++) others |= (uint64_t)k->out[i]->numel;
    return others >= MAX_ELEMENTS;
}

/* [m, k] by [k, n] is [m, n]: m * k * n multiplications are the root of the three sizes' product. That of a
 * convolution comes close. */
static RL_NOINLINE uint64_t product_work(const rl_call *k, int cost) {
    double first = 1, second = 1; /* the largest two */
    for (int i = 0; i < k->n_arg; i++) {
        double n = k->arg[i].tag == RL_TENSOR ? (double)rl_tensor_arg(k, i)->numel : 0;
        if (n > first)
            second = first, first = n;
        else if (n > second)
            second = n;
    }
    double work = cost * sqrt(first * second * (double)k->out[0]->numel);
    return work < (double)WITHOUT_GIL ? (uint64_t)work : WITHOUT_GIL;
}

/* in tenths of a nanosecond, roughly, by one thread */
static inline uint64_t work_of(const rl_operator *op, const rl_call *k, uint64_t elements) {
    if (op->traits & RL_GEMM_LIKE) return product_work(k, op->cost);
    if (op->traits & RL_GATHERS) elements -= (uint64_t)rl_tensor_arg(k, 0)->numel;
    return elements * op->cost;
}

/* ---- Note [Writes]: what others may see is bracketed ---- */
static void bracket(rl_storage *s, void (*step)(rl_storage *)) {
    if (s) step(s);
}

static void bracket_writes(const rl_operator *op, const rl_call *k, void (*step)(rl_storage *)) {
    for (int i = 0; i < k->n_out; i++) bracket(k->out[i]->storage, step);
    for (int i = 0; op->side_writes >> i; i++) {
        if (!(op->side_writes >> i & 1)) continue;
        if (k->arg[i].tag == RL_TENSOR) bracket(rl_tensor_arg(k, i)->storage, step);
        for (int j = 0; k->arg[i].tag == RL_TENSORS && j < k->arg[i].n; j++)
            bracket(k->arg[i].u.ts[j]->storage, step);
    }
}

static inline __attribute__((always_inline)) rl_status dispatch(const rl_op_call *b, rl_call *k,
                                                                rl_results results) {
    const rl_operator *op = b->schema->op;
    if (RL_LIKELY(!RL_CHECKED && results == RL_RESULTS_NEW && !op->side_writes))
        return rl_dispatch(op, k, b->device);
    bracket_writes(op, k, rl_write_begin);
    rl_status status = rl_dispatch(op, k, b->device);
    bracket_writes(op, k, rl_write_end);
    return status;
}

/* the generator that the call draws from, or NULL */
static rl_shared_generator *generator_of(const rl_op_call *b) {
    int i = b->schema->op->rng_arg;
    return i >= 0 && b->k.arg[i].tag == RL_RNG ? rl_generator_shared(b->k.arg[i].u.g) : NULL;
}

static RL_NOINLINE rl_status run_without_gil(const rl_op_call *b, rl_call *k, rl_results results) {
    rl_hold hold;
    rl_shared_generator *g = generator_of(b);
    rl_threads_load();
    if (rl_hold_take(&hold, k, true) != RL_OK) return RL_FAIL;
    if (g) rl_generator_claim(g);
    PyThreadState *thread = PyEval_SaveThread();
    if (g) rl_generator_lock(g);
    rl_status status = dispatch(b, k, results);
    if (g) rl_generator_unlock(g);
    PyEval_RestoreThread(thread);
    if (g) rl_generator_release(g);
    rl_call_end(k); /* before the hold: packed weights that it reads die with their storage */
    rl_hold_end(&hold);
    return status;
}

/* Launches do not wait; where a kernel does, for memory or for a copy, others run Python. */
static rl_status work_on_device(const rl_op_call *b, rl_call *k, rl_results results) {
    const rl_device_driver *driver = rl_device_driver_get(b->device);
    int before;
    if (driver->enter(b->index, &before) != RL_OK) return rl_device_failed(driver);
    k->stream = driver->stream(b->index);
    rl_status status = dispatch(b, k, results);
    driver->leave(before);
    return status;
}

static RL_NOINLINE rl_status run_on_device(const rl_op_call *b, rl_call *k, rl_results results) {
    rl_hold hold;
    k->device = b->device;
    k->device_index = b->index;
    if (rl_hold_take(&hold, k, true) != RL_OK) return RL_FAIL;
    rl_status status = work_on_device(b, k, results);
    rl_call_end(k);
    if (status == RL_FAIL && rl_error_kind() == RL_NOTIMPL && rl_upcalls.fallback_run) {
        rl_error_clear();
        status = rl_upcalls.fallback_run(b->schema->op, k);
    }
    rl_hold_end(&hold);
    return status;
}

static bool without_gil(const rl_op_call *b, uint64_t elements) {
    const rl_operator *op = b->schema->op;
    if (work_of(op, &b->k, elements) >= WITHOUT_GIL && !rl_tls.gil_kept) return true;
    if (RL_LIKELY(op->rng_arg < 0)) return false;
    rl_shared_generator *g = generator_of(b);
    return g && rl_generator_busy(g);
}

rl_status rl_run_kernels(rl_op_call *b, rl_results results) {
    rl_call *k = &b->k;
    uint64_t elements = b->meta.elements, bits = b->meta.bits;
    rl_call_begin(k);
    if (RL_UNLIKELY(b->device == RL_META)) return RL_OK; /* shapes and dtypes were all there was to find */
    for (int i = 0; i < k->n_out; i++) {
        elements += (uint64_t)k->out[i]->numel;
        bits |= (uint64_t)k->out[i]->numel;
    }
    if (RL_UNLIKELY(bits >= MAX_ELEMENTS) && is_endless(b->schema->op, k, bits))
        return rl_error_set(RL_MEMORY,
                            "DefaultCPUAllocator: can't allocate memory: the tensors of this call have "
                            "more elements than an address can have.");
    if (RL_UNLIKELY(b->device != RL_CPU)) return run_on_device(b, k, results);
    if (without_gil(b, elements)) return run_without_gil(b, k, results);
    rl_status status = dispatch(b, k, results);
    rl_call_end(k);
    return status;
}
