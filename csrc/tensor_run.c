/* Running a bound call's kernels: pins, scratch, and other threads while a large one works. */
#include "tensor_args.h"

/* Heavy rows need oneDNN and the thread pool; both are found at the first of them, in Python. */
int rl_heavy_load(void) {
    static bool loaded;
    if (loaded) return 0;
    loaded = true;
    rl_threads_load();
    RL_OWNED PyObject *finder = PyImport_ImportModule("rushlight._onednn");
    RL_OWNED PyObject *done = finder ? PyObject_CallMethod(finder, "load", NULL) : NULL;
    return done ? 0 : -1;
}

static int64_t call_size(const rl_call *k) {
    int64_t n = 0;
    for (int i = 0; i < k->n_arg; i++) {
        if (k->arg[i].tag == RL_TENSOR) n += k->arg[i].u.t->numel;
        for (int j = 0; k->arg[i].tag == RL_TENSORS && j < k->arg[i].n; j++)
            if (k->arg[i].u.ts[j]) n += k->arg[i].u.ts[j]->numel;
    }
    for (int i = 0; i < k->n_out; i++) n += k->out[i]->numel;
    return n;
}

static void pin_call(rl_call *k, int by) {
    for (int i = 0; i < k->n_arg; i++) {
        if (k->arg[i].tag == RL_TENSOR) k->arg[i].u.t->storage->pins += by;
        for (int j = 0; k->arg[i].tag == RL_TENSORS && j < k->arg[i].n; j++)
            if (k->arg[i].u.ts[j]) k->arg[i].u.ts[j]->storage->pins += by;
    }
    for (int i = 0; i < k->n_out; i++) k->out[i]->storage->pins += by;
}

enum { WITHOUT_GIL = 1 << 14 }; /* elements from which letting other threads run pays */

/* Note [Snapshot]
 * Without the GIL another thread may give a tensor other memory (x.data = y) while a kernel reads its view.
 * So kernels then work on copies of the views, which keep the storages alive. */
typedef struct {
    rl_view **place; /* in the call */
    rl_view *original, copy;
} snapshot;

static int snapshot_places(rl_call *k, snapshot *s) {
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
    for (int i = 0; i < k->n_out; i++, n++)
        if (s) s[n].place = &k->out[i];
    return n;
}

static void snapshot_drop(snapshot *s, int n) {
    for (int i = 0; i < n; i++) {
        *s[i].place = s[i].original;
        rl_storage_drop(s[i].copy.storage);
        rl_view_clear(&s[i].copy);
    }
    rl_free(s);
}

/* NULL with RL_MEMORY pending; *n is how many views were taken */
static snapshot *snapshot_take(rl_call *k, int *n) {
    *n = snapshot_places(k, NULL);
    snapshot *s = rl_alloc_zero((size_t)*n, sizeof *s);
    if (!s) return NULL;
    snapshot_places(k, s);
    for (int i = 0; i < *n; i++) {
        s[i].original = *s[i].place;
        if (rl_view_copy(&s[i].copy, s[i].original) != RL_OK) {
            snapshot_drop(s, i);
            return NULL;
        }
        rl_storage_keep(s[i].copy.storage);
        *s[i].place = &s[i].copy;
    }
    return s;
}

static rl_status run_without_gil(const rl_row *row, rl_call *k, int device) {
    int n;
    rl_threads_load();
    snapshot *s = snapshot_take(k, &n);
    if (!s) return RL_FAIL;
    pin_call(k, 1);
    PyThreadState *thread = PyEval_SaveThread();
    rl_status status = rl_dispatch(row, k, device);
    PyEval_RestoreThread(thread);
    pin_call(k, -1);
    snapshot_drop(s, n);
    return status;
}

_Thread_local bool rl_gil_kept;

rl_status rl_run_kernels(rl_bound *b, int device, int index) {
    rl_call *k = &b->k;
    const rl_row *row = b->schema->row;
    rl_status status;
    rl_call_begin(k);
    if (RL_UNLIKELY(device != RL_CPU)) {
        if (device == RL_META) return RL_OK; /* shapes and dtypes were all there was to find */
        k->stream = rl_device_driver_get(device)->stream(index);
    }
    if (call_size(k) >= WITHOUT_GIL && !rl_gil_kept) {
        status = run_without_gil(row, k, device);
    } else {
        pin_call(k, 1);
        status = rl_dispatch(row, k, device);
        pin_call(k, -1);
    }
    rl_call_end(k);
    return status;
}
