/* rushlight._cuda, and rushlight._cuda_sim for the simulated device: hands the CUDA device to rushlight._C as
 * one capsule. Compiled into that extension only; csrc/cuda/ itself knows no Python.
 *
 *   _cuda.driver (capsule: rl_device_driver) ──► _C._register_device ──► operators' CUDA(..) by name */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "core/device.h"
#include "cuda/device.h"
#ifdef RL_CUDA_SIM
#include "cuda_sim_init.h"
#endif

static const rl_device_driver driver = {
    .abi = RL_DEVICE_ABI,
    .device = RL_CUDA,
    .count = rl_cuda_count,
    .current = rl_cuda_current,
    .enter = rl_cuda_enter,
    .leave = rl_cuda_leave,
    .alloc = rl_cuda_alloc,
    .free = rl_cuda_free,
    .copy = rl_cuda_move,
    .record = rl_cuda_record,
    .stream = rl_cuda_stream,
    .stream_use = rl_cuda_stream_use,
    .stream_join = rl_cuda_stream_join,
    .synchronize = rl_cuda_synchronize,
    .host_alloc = rl_cuda_host_alloc,
    .host_free = rl_cuda_host_free,
    .host_is_pinned = rl_cuda_host_is_pinned,
    .kernel = rl_cuda_kernel,
    .last_error = rl_cuda_last_error,
    .python = rl_cuda_python,
};

/* ---- errors ---- */
static PyObject *raise_last(void) {
    const char *text;
    int code;
    const rl_error kind = rl_cuda_last_error(&text, &code);
    PyObject *core = PyImport_ImportModule("rushlight._C");
    PyObject *done = core ? PyObject_CallMethod(core, "_raise_device", "iis", (int)kind, code, text) : NULL;
    Py_XDECREF(done); /* it raises always */
    Py_XDECREF(core);
    return NULL;
}
static PyObject *none_or_raise(rl_status status) {
    if (status == RL_OK) Py_RETURN_NONE;
    return raise_last();
}
static PyObject *truth_or_raise(rl_status status, bool truth) {
    return status == RL_OK ? PyBool_FromLong(truth) : raise_last();
}
static PyObject *handle_or_raise(void *handle) {
    return handle ? PyLong_FromVoidPtr(handle) : raise_last();
}

/* Arguments are a device's number, then handles: of a stream, of an event, an address. */
enum { MAX_HANDLES = 3 };
typedef struct {
    int index;
    void *at[MAX_HANDLES];
} handles;
static bool take(PyObject *args, int n, handles *h) {
    PyObject *given[MAX_HANDLES];
    static const char *const formats[] = {"i", "iO", "iOO", "iOOO"};
    if (!PyArg_ParseTuple(args, formats[n], &h->index, &given[0], &given[1], &given[2])) return false;
    for (int i = 0; i < n; i++) h->at[i] = PyLong_AsVoidPtr(given[i]);
    return !PyErr_Occurred();
}

/* ---- devices ---- */
static PyObject *cuda_device_count(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return PyLong_FromLong(rl_cuda_count());
}

static PyObject *cuda_last_error(PyObject *m, PyObject *unused) {
    const char *text;
    int code;
    (void)m, (void)unused;
    rl_cuda_last_error(&text, &code);
    return PyUnicode_FromString(text);
}

static PyObject *cuda_driver_version(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return PyLong_FromLong(rl_cuda_driver_version());
}

static PyObject *cuda_current(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return PyLong_FromLong(rl_cuda_current());
}

static PyObject *cuda_index_limit(PyObject *m, PyObject *args) {
    long long limit;
    (void)m;
    if (!PyArg_ParseTuple(args, "L:index_limit", &limit)) return NULL;
    rl_cuda_index_limit(limit);
    Py_RETURN_NONE;
}

#define OF_DEVICE(name, answer)                                                                              \
    static PyObject *cuda_##name(PyObject *m, PyObject *args) {                                              \
        handles h;                                                                                           \
        (void)m;                                                                                             \
        return take(args, 0, &h) ? answer : NULL;                                                            \
    }
OF_DEVICE(choose, none_or_raise(rl_cuda_choose(h.index)))
OF_DEVICE(in_use, PyBool_FromLong(rl_cuda_in_use(h.index)))
OF_DEVICE(synchronize, none_or_raise(rl_cuda_synchronize(h.index)))
OF_DEVICE(stream, PyLong_FromVoidPtr(rl_cuda_stream(h.index)))

static PyObject *cuda_can_access(PyObject *m, PyObject *args) {
    int index, peer;
    (void)m;
    if (!PyArg_ParseTuple(args, "ii:can_access", &index, &peer)) return NULL;
    return PyBool_FromLong(rl_cuda_can_access(index, peer));
}

static PyObject *cuda_properties(PyObject *m, PyObject *args) {
    handles h;
    rl_cuda_properties p;
    (void)m;
    if (!take(args, 0, &h)) return NULL;
    if (rl_cuda_properties_of(h.index, &p) != RL_OK) return raise_last();
    return Py_BuildValue("{s:s,s:y#,s:n,s:n,s:n,s:n,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i}",
                         "name", p.name, "uuid", p.uuid, (Py_ssize_t)sizeof p.uuid, "total_memory",
                         (Py_ssize_t)p.total_memory, "shared_memory_per_block", (Py_ssize_t)p.shared_memory,
                         "shared_memory_per_block_optin", (Py_ssize_t)p.shared_memory_optin,
                         "shared_memory_per_multiprocessor", (Py_ssize_t)p.shared_memory_multiprocessor,
                         "major", p.major, "minor", p.minor, "multi_processor_count", p.multiprocessors,
                         "warp_size", p.warp_size, "max_threads_per_block", p.threads,
                         "max_threads_per_multi_processor", p.threads_multiprocessor,
                         "regs_per_multiprocessor", p.registers, "L2_cache_size", p.l2_cache, "is_integrated",
                         p.is_integrated, "is_multi_gpu_board", p.is_multi_gpu, "pci_bus_id", p.pci_bus,
                         "pci_device_id", p.pci_device, "pci_domain_id", p.pci_domain);
}

/* ---- memory ---- */
static PyObject *cuda_memory(PyObject *m, PyObject *args) {
    handles h;
    size_t free, total;
    (void)m;
    if (!take(args, 0, &h)) return NULL;
    if (rl_cuda_memory(h.index, &free, &total) != RL_OK) return raise_last();
    return Py_BuildValue("(nn)", (Py_ssize_t)free, (Py_ssize_t)total);
}

static PyObject *cuda_empty_cache(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return none_or_raise(rl_cuda_empty_cache());
}

static int stat_put(PyObject *dict, const char *name, const char *pool, const char *what, int64_t value) {
    char key[96];
    snprintf(key, sizeof key, "%s%s%s%s%s", name, *pool ? "." : "", pool, *what ? "." : "", what);
    PyObject *number = PyLong_FromLongLong(value);
    int failed = number ? PyDict_SetItemString(dict, key, number) : -1;
    Py_XDECREF(number);
    return failed;
}

static int stats_put(PyObject *dict, const rl_cuda_stats *stats) {
    static const char *const names[] = {"allocation",      "segment",
                                        "active",          "inactive_split",
                                        "allocated_bytes", "reserved_bytes",
                                        "active_bytes",    "inactive_split_bytes",
                                        "requested_bytes"},
                             *const pools[] = {"all", "small_pool", "large_pool"};
    for (int i = 0; i < RL_CUDA_STATS; i++)
        for (int j = 0; j < 3; j++) {
            const rl_cuda_stat *s = &stats->of[i][j];
            if (stat_put(dict, names[i], pools[j], "current", s->current) < 0 ||
                stat_put(dict, names[i], pools[j], "peak", s->peak) < 0 ||
                stat_put(dict, names[i], pools[j], "allocated", s->made) < 0 ||
                stat_put(dict, names[i], pools[j], "freed", s->ended) < 0)
                return -1;
        }
    return stat_put(dict, "num_alloc_retries", "", "", stats->retries) < 0 ||
                   stat_put(dict, "num_ooms", "", "", stats->ooms) < 0 ||
                   stat_put(dict, "num_device_alloc", "", "", stats->mallocs) < 0
               ? -1
               : stat_put(dict, "num_device_free", "", "", stats->frees);
}

static PyObject *cuda_memory_stats(PyObject *m, PyObject *args) {
    handles h;
    rl_cuda_stats stats;
    (void)m;
    PyObject *dict = take(args, 0, &h) ? PyDict_New() : NULL;
    if (!dict) return NULL;
    rl_cuda_stats_get(h.index, &stats);
    if (stats_put(dict, &stats) < 0) Py_CLEAR(dict);
    return dict;
}

static PyObject *cuda_memory_reset(PyObject *m, PyObject *args) {
    int index, peak;
    (void)m;
    if (!PyArg_ParseTuple(args, "ip:memory_reset", &index, &peak)) return NULL;
    rl_cuda_stats_reset(index, peak);
    Py_RETURN_NONE;
}

static PyObject *cuda_memory_record(PyObject *m, PyObject *args) {
    handles h;
    int index;
    PyObject *at, *stream;
    (void)m;
    if (!PyArg_ParseTuple(args, "iOiO:memory_record", &index, &at, &h.index, &stream)) return NULL;
    h.at[0] = PyLong_AsVoidPtr(at);
    h.at[1] = PyErr_Occurred() ? NULL : PyLong_AsVoidPtr(stream);
    if (PyErr_Occurred()) return NULL;
    rl_cuda_record(index, h.at[0], h.index, h.at[1]);
    Py_RETURN_NONE;
}

/* ---- streams and events ---- */
static PyObject *cuda_stream_new(PyObject *m, PyObject *args) {
    int index, is_urgent;
    (void)m;
    if (!PyArg_ParseTuple(args, "ip:stream_new", &index, &is_urgent)) return NULL;
    return handle_or_raise(rl_cuda_stream_new(index, is_urgent));
}

static PyObject *cuda_event_new(PyObject *m, PyObject *args) {
    int index, is_timed, is_blocking;
    (void)m;
    if (!PyArg_ParseTuple(args, "ipp:event_new", &index, &is_timed, &is_blocking)) return NULL;
    return handle_or_raise(rl_cuda_event_new(index, is_timed, is_blocking));
}

static PyObject *cuda_event_free(PyObject *m, PyObject *args) {
    handles h;
    (void)m;
    if (!take(args, 1, &h)) return NULL;
    rl_cuda_event_free(h.index, h.at[0]);
    Py_RETURN_NONE;
}

static PyObject *cuda_event_elapsed(PyObject *m, PyObject *args) {
    handles h;
    float ms;
    (void)m;
    if (!take(args, 2, &h)) return NULL;
    if (rl_cuda_event_elapsed(h.index, h.at[0], h.at[1], &ms) != RL_OK) return raise_last();
    return PyFloat_FromDouble((double)ms);
}

#define OF_HANDLES(name, n, status)                                                                          \
    static PyObject *cuda_##name(PyObject *m, PyObject *args) {                                              \
        handles h;                                                                                           \
        (void)m;                                                                                             \
        return take(args, n, &h) ? none_or_raise(status) : NULL;                                             \
    }
OF_HANDLES(memory_share, 1, (rl_cuda_share(h.index, (size_t)h.at[0]), RL_OK))
OF_HANDLES(stream_use, 1, rl_cuda_stream_use(h.index, h.at[0]))
OF_HANDLES(stream_synchronize, 1, rl_cuda_stream_synchronize(h.index, h.at[0]))
OF_HANDLES(stream_wait, 2, rl_cuda_stream_wait(h.index, h.at[0], h.at[1]))
OF_HANDLES(event_record, 2, rl_cuda_event_record(h.index, h.at[0], h.at[1]))
OF_HANDLES(event_synchronize, 1, rl_cuda_event_synchronize(h.index, h.at[0]))

#define IS_DONE(name)                                                                                        \
    static PyObject *cuda_##name(PyObject *m, PyObject *args) {                                              \
        handles h;                                                                                           \
        bool done = false;                                                                                   \
        (void)m;                                                                                             \
        if (!take(args, 1, &h)) return NULL;                                                                 \
        rl_status status = rl_cuda_##name(h.index, h.at[0], &done);                                          \
        return truth_or_raise(status, done);                                                                 \
    }
IS_DONE(stream_query)
IS_DONE(event_query)

static PyMethodDef functions[] = {
#define ROW(name, how, text) {#name, cuda_##name, how, #name text}
    ROW(device_count, METH_NOARGS, "()\n--\n\nHow many GPUs can be used; 0: last_error() says why."),
    ROW(last_error, METH_NOARGS, "()\n--\n\nWhat CUDA last complained about."),
    ROW(driver_version, METH_NOARGS, "()\n--\n\nThe newest CUDA that the driver serves; 0: no driver."),
    ROW(index_limit, METH_VARARGS, "(limit)\n--\n\nWhere kernels begin to count in 64 bits."),
    ROW(current, METH_NOARGS, "()\n--\n\nThis thread's current device."),
    ROW(choose, METH_VARARGS, "(index)\n--\n\nMakes a device this thread's current one."),
    ROW(in_use, METH_VARARGS, "(index)\n--\n\nWhether this process has used a device."),
    ROW(synchronize, METH_VARARGS, "(index)\n--\n\nWaits until a GPU has nothing left to do."),
    ROW(properties, METH_VARARGS, "(index)\n--\n\nWhat a device says of itself."),
    ROW(can_access, METH_VARARGS, "(index, peer)\n--\n\nWhether a device reaches another one's memory."),
    ROW(memory, METH_VARARGS, "(index)\n--\n\nBytes that are free, and all."),
    ROW(empty_cache, METH_NOARGS, "()\n--\n\nGives unused memory back to the devices."),
    ROW(memory_stats, METH_VARARGS, "(index)\n--\n\nThe allocator's counters."),
    ROW(memory_reset, METH_VARARGS, "(index, peak)\n--\n\nCounts peaks, or else sums, anew."),
    ROW(memory_share, METH_VARARGS, "(index, bytes)\n--\n\nTakes no more memory than that; 0: all."),
    ROW(memory_record, METH_VARARGS, "(index, address, of, stream)\n--\n\nMemory is in use on a stream."),
    ROW(stream, METH_VARARGS, "(index)\n--\n\nThis thread's current stream; 0 is the default one."),
    ROW(stream_new, METH_VARARGS, "(index, is_urgent)\n--\n\nA stream of the pool."),
    ROW(stream_use, METH_VARARGS, "(index, stream)\n--\n\nMakes a stream this thread's current one."),
    ROW(stream_synchronize, METH_VARARGS, "(index, stream)\n--\n\nWaits for a stream."),
    ROW(stream_query, METH_VARARGS, "(index, stream)\n--\n\nWhether a stream has nothing to do."),
    ROW(stream_wait, METH_VARARGS, "(index, stream, event)\n--\n\nA stream goes on after the event."),
    ROW(event_new, METH_VARARGS, "(index, is_timed, is_blocking)\n--\n\nA new event."),
    ROW(event_free, METH_VARARGS, "(index, event)\n--\n\nEnds an event."),
    ROW(event_record, METH_VARARGS, "(index, event, stream)\n--\n\nThe event is what the stream does now."),
    ROW(event_query, METH_VARARGS, "(index, event)\n--\n\nWhether it has happened."),
    ROW(event_synchronize, METH_VARARGS, "(index, event)\n--\n\nWaits until it has happened."),
    ROW(event_elapsed, METH_VARARGS, "(index, start, end)\n--\n\nMilliseconds between two events."),
    {NULL, NULL, 0, NULL}};

#ifdef RL_CUDA_SIM
#define PyInit__cuda PyInit__cuda_sim
#define RL_CUDA_NAME "rushlight._cuda_sim"
#else
#define RL_CUDA_NAME "rushlight._cuda"
#endif
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, RL_CUDA_NAME, "rushlight's CUDA device.", -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__cuda(void) {
    PyObject *m = PyModule_Create(&definition);
    PyObject *capsule = m ? PyCapsule_New((void *)&driver, "rushlight._cuda.driver", NULL) : NULL;
    if (!capsule || PyModule_AddObjectRef(m, "driver", capsule) < 0) Py_CLEAR(m);
    Py_XDECREF(capsule);
#ifdef RL_CUDA_SIM
    if (m && PyModule_AddFunctions(m, rl_cuda_sim_functions) < 0) Py_CLEAR(m);
#endif
    return m;
}
