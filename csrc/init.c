/* rushlight._C: the only file that sees all components. */
#include "kernels/dnnl/load.h"
#include "kernels/lapack/load.h"
#include "autograd/autograd.h"
#include "bindings/bindings.h"
#include "call/call.h"
#include "call/override.h"
#include "composite/composite.h"
#include "derivatives/derivatives.h"
#include "files/files.h"
#include "foreach/foreach.h"
#include "module/module.h"
#include "optim/optim.h"
#include "profile/profile.h"
#include "pytree/pytree.h"
#include "object/storage.h"
#include "core/blocks.h"
#include "core/fence.h"
#include "core/memory.h"
#include "core/packed.h"
#include "core/threads.h"
#include "ops/select.h"
#include "core/generator.h"
#include "core/services.h"
#include "core/storage.h"

static PyObject *debug_live(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    rl_block_stats stats = rl_blocks_stats();
    return Py_BuildValue("{s:n,s:n,s:n,s:n}", "tensors", (Py_ssize_t)rl_live_count[RL_LIVE_TENSORS],
                         "storages", stats.used[RL_BLOCK_STORAGE], "nodes",
                         (Py_ssize_t)rl_live_count[RL_LIVE_NODES], "bytes", stats.in_use);
}

static PyObject *memory_stats(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    rl_block_stats stats = rl_blocks_stats();
    return Py_BuildValue("{s:n,s:n,s:n,s:n,s:n,s:K,s:K,s:K}", "in_use_bytes", stats.in_use, "kept_bytes",
                         stats.kept, "cap_bytes", stats.cap, "in_use_blocks",
                         stats.used[RL_BLOCK_STORAGE] + stats.used[RL_BLOCK_SCRATCH], "kept_blocks",
                         stats.n_kept, "hits", stats.hits, "misses", stats.misses, "evicted_blocks",
                         stats.evicted);
}

static PyObject *empty_cache(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    Py_BEGIN_ALLOW_THREADS rl_blocks_empty();
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject *deterministic(PyObject *m, PyObject *args) {
    int on, fill_unset;
    (void)m;
    if (!PyArg_ParseTuple(args, "pp", &on, &fill_unset)) return NULL;
    rl_services_deterministic(on, fill_unset);
    Py_RETURN_NONE;
}

static PyObject *set_tf32(PyObject *m, PyObject *args) {
    int matmul, conv;
    (void)m;
    if (!PyArg_ParseTuple(args, "pp:_set_tf32", &matmul, &conv)) return NULL;
    rl_services_tf32(matmul, conv);
    Py_RETURN_NONE;
}

static PyObject *debug_fail_alloc(PyObject *m, PyObject *n) {
    (void)m;
    long long after = PyLong_AsLongLong(n);
    if (after == -1 && PyErr_Occurred()) return NULL;
    rl_alloc_fail_after(after);
    Py_RETURN_NONE;
}

/* tensors that were packed before must not come again: packed weights do not say for which ISA */
static PyObject *debug_kernels(PyObject *m, PyObject *which) {
    const char *text = PyUnicode_AsUTF8(which);
    (void)m;
    if (!text) return NULL;
    const bool ref = strcmp(text, "ref") == 0;
    const int isa = strcmp(text, "all") == 0 ? INT_MAX : rl_services_isa_named(text);
    if (!ref && isa < 0)
        return PyErr_Format(PyExc_ValueError, "kernels must be all, ref or one of _isas(), but got '%s'",
                            text);
    rl_dispatch_limit(ref, isa);
    Py_RETURN_NONE;
}

static PyObject *dnnl_offer(PyObject *m, PyObject *path) {
    (void)m;
    const char *text = PyUnicode_AsUTF8(path);
    if (!text) return NULL;
    rl_dnnl_offer(text);
    Py_RETURN_NONE;
}

static int dnnl_say_failed(void *reason) {
    PyObject *finder = PyImport_ImportModule("rushlight._onednn");
    PyObject *said = finder ? PyObject_CallMethod(finder, "failed", "s", reason) : NULL;
    Py_XDECREF(finder);
    Py_XDECREF(said);
    return said ? 0 : -1;
}

/* Kernels open oneDNN, most often without the GIL: why it failed is said when Python runs again. */
static bool dnnl_open(void) {
    static int said;
    if (RL_LIKELY(rl_dnnl_open())) return true;
    const char *reason = rl_dnnl_reason();
    if (reason && !__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
        Py_AddPendingCall(dnnl_say_failed, (void *)reason);
    return false;
}

static PyObject *dnnl_is_open(PyObject *m, PyObject *unused) {
    bool opened;
    (void)m, (void)unused;
    Py_BEGIN_ALLOW_THREADS opened = dnnl_open();
    Py_END_ALLOW_THREADS return PyBool_FromLong(opened);
}

/* {"path", "version"}, {"reason"} why it does not serve, or {} before it was opened or offered */
static PyObject *dnnl_describe(PyObject *m, PyObject *unused) {
    rl_dnnl_about about;
    (void)m, (void)unused;
    if (rl_dnnl_describe(&about))
        return Py_BuildValue("{s:N,s:N}", "path", PyUnicode_DecodeFSDefault(about.path), "version",
                             PyUnicode_FromFormat("%d.%d.%d", about.major, about.minor, about.patch));
    const char *reason = rl_dnnl_reason();
    return reason ? Py_BuildValue("{s:N}", "reason", PyUnicode_DecodeFSDefault(reason)) : PyDict_New();
}

/* [("sgetrf", "scipy.linalg.cython_lapack"), ...] */
static PyObject *lapack_names(PyObject *m, PyObject *unused) {
    rl_lapack_wanted f;
    (void)m, (void)unused;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && rl_lapack_want(i, &f); i++) {
        PyObject *item = Py_BuildValue("(ss)", f.name, f.module);
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* a capsule is called by the signature of its function: all must fit before one is taken */
static PyObject *lapack_offer(PyObject *m, PyObject *capsules) {
    rl_lapack_wanted f;
    (void)m;
    if (!PyTuple_Check(capsules)) return PyErr_Format(PyExc_TypeError, "expected a tuple of capsules");
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; rl_lapack_want(i, &f); i++) {
            PyObject *capsule = i < PyTuple_GET_SIZE(capsules) ? PyTuple_GET_ITEM(capsules, i) : NULL;
            if (!capsule || !PyCapsule_IsValid(capsule, f.signature))
                return PyErr_Format(PyExc_ValueError, "%s.%s is not a function %s", f.module, f.name,
                                    f.signature);
            if (pass == 1) rl_lapack_offer(i, PyCapsule_GetPointer(capsule, f.signature));
        }
    Py_RETURN_NONE;
}

static PyObject *debug_cpu_count(PyObject *m, PyObject *args) {
    const char *omp, *root;
    int online, allowed;
    (void)m;
    if (!PyArg_ParseTuple(args, "ziis:_cpu_count", &omp, &online, &allowed, &root)) return NULL;
    return PyLong_FromLong(rl_cpu_count(omp, online, allowed, root));
}

static PyObject *isas(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    PyObject *list = PyList_New(0);
    for (int isa = 0; list && rl_services_isa_name(isa); isa++) {
        PyObject *name = PyUnicode_FromString(rl_services_isa_name(isa));
        if (!name || PyList_Append(list, name) < 0) Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

/* PyTorch's names */
static PyObject *get_cpu_capability(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return PyUnicode_FromString(rl_services_isa_torch());
}

/* RUSHLIGHT_BUILD as setup.py's options for it show: its name itself would make every object another one */
#if defined(__SANITIZE_THREAD__)
#define BUILD_MODE "tsan"
#elif defined(__SANITIZE_ADDRESS__)
#define BUILD_MODE "asan"
#elif defined(NDEBUG)
#define BUILD_MODE "release"
#elif defined(RL_CHECKED)
#define BUILD_MODE "debug"
#elif defined(__OPTIMIZE__)
#define BUILD_MODE "ubsan"
#else
#define BUILD_MODE "cov"
#endif
#ifdef __clang__
#define COMPILER __VERSION__ /* begins with its name */
#else
#define COMPILER "GCC " __VERSION__
#endif
static PyObject *build_describe(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return Py_BuildValue("{s:s,s:s,s:s}", "compiler", COMPILER, "mode", BUILD_MODE, "python", PY_VERSION);
}

static PyMethodDef functions[] = {
    {"_live", debug_live, METH_NOARGS,
     "_live()\n--\n\nCounts of living tensors, storages, nodes and their bytes."},
    {"_memory_stats", memory_stats, METH_NOARGS,
     "_memory_stats()\n--\n\nThe memory of tensors and kernels on the CPU: what is in use and what is kept "
     "for "
     "later, the most that is kept, how often a kept block served (hits) and not (misses), and how many "
     "blocks went because more than the cap would have been kept."},
    {"_empty_cache", empty_cache, METH_NOARGS,
     "_empty_cache()\n--\n\nGives the memory that is kept for later tensors back to the system."},
    {"_set_deterministic", deterministic, METH_VARARGS,
     "_set_deterministic(on, fill_unset)\n--\n\nAsks for deterministic algorithms, and for memory that "
     "empty() fills: "
     "with NaN, with the largest number, or with True."},
    {"_set_tf32", set_tf32, METH_VARARGS,
     "_set_tf32(matmul, conv)\n--\n\nWhether products and convolutions of float32 may use TF32."},
    {"_return_types", rl_return_types, METH_NOARGS,
     "_return_types()\n--\n\nThe named tuples of operators with several results, by their names."},
    {"_fail_alloc", debug_fail_alloc, METH_O,
     "_fail_alloc(n)\n--\n\nMakes the n-th allocation from now fail (0 is the next); a negative n none."},
    {"_kernels", debug_kernels, METH_O,
     "_kernels(which)\n--\n\nFrom now on: all kernels, those of an instruction set (_isas()), or the "
     "reference kernels alone (ref). For tensors that are made afterwards."},
    {"_isas", isas, METH_NOARGS,
     "_isas()\n--\n\nWhat RUSHLIGHT_ISA may say: instruction sets that this build has vectors for, and "
     "none."},
    {"_dnnl_offer", dnnl_offer, METH_O,
     "_dnnl_offer(path)\n--\n\nSays where oneDNN is; it is opened when a kernel is about to run it."},
    {"_dnnl_open", dnnl_is_open, METH_NOARGS,
     "_dnnl_open()\n--\n\nOpens oneDNN where it was offered, unless that was done: does it serve?"},
    {"_dnnl_about", dnnl_describe, METH_NOARGS,
     "_dnnl_about()\n--\n\nThe path and version of the oneDNN that serves, or the reason why none does."},
    {"_get_cpu_capability", get_cpu_capability, METH_NOARGS,
     "_get_cpu_capability()\n--\n\nThe widest vectors that kernels use: DEFAULT, AVX2 or AVX512."},
    {"_build", build_describe, METH_NOARGS,
     "_build()\n--\n\nThe compiler of this extension, RUSHLIGHT_BUILD, and the Python that it was built "
     "for."},
    {"_lapack_names", lapack_names, METH_NOARGS,
     "_lapack_names()\n--\n\nThe functions of LAPACK that are used, and the modules that have them."},
    {"_lapack_offer", lapack_offer, METH_O,
     "_lapack_offer(capsules)\n--\n\nGives the functions of _lapack_names(), in their order; their "
     "signatures "
     "must be SciPy's."},
    {"_cpu_count", debug_cpu_count, METH_VARARGS,
     "_cpu_count(omp, online, allowed, root)\n--\n\nThe default of get_num_threads() where OMP_NUM_THREADS "
     "is "
     "omp, the machine and this process have so many CPUs, and the files of cgroups lie below root."},
    {NULL, NULL, 0, NULL}};

/* Public functions are the package's: there users find them, and pickles look for them. */
static int adopt_functions(PyObject *m) {
    RL_OWNED PyObject *home = PyUnicode_InternFromString("rushlight");
    PyObject *name, *value;
    Py_ssize_t at = 0;
    while (home && PyDict_Next(PyModule_GetDict(m), &at, &name, &value)) {
        if (!PyCFunction_CheckExact(value) || PyUnicode_READ_CHAR(name, 0) == '_') continue;
        PyCFunctionObject *function = (PyCFunctionObject *)value;
        if (function->m_module != home) Py_XSETREF(function->m_module, Py_NewRef(home));
    }
    return home ? 0 : -1;
}

static void fill_upcalls(void) {
    rl_upcalls = (struct rl_upcalls){
        .compose = rl_composite_run,
        .fallback_run = rl_fallback_asked() ? rl_fallback_run : NULL,
        .node_watch = rl_anomaly_remember,
        .formula_vtable = &rl_formula_vtable,
        .leaf_vtable = &rl_leaf_vtable,
        .copy_slices_vtable = &rl_copy_slices_vtable,
        .pieces_vtables = {[RL_PIECES_CAT] = &rl_pieces_cat_vtable,
                           [RL_PIECES_STACK] = &rl_pieces_stack_vtable},
    };
}

static int fill_module(PyObject *m) {
    rl_fence_init();
    rl_blocks_init();
    rl_packed_guard_fork();
    rl_weak_guard_fork();
    rl_generator_guard_fork();
    rl_services_init();
    rl_services_onednn(dnnl_open);
    rl_dispatch_init();
    fill_upcalls();
    if (rl_schema_init() != RL_OK) return rl_raise("rushlight") ? 0 : -1;
    int (*const parts[])(PyObject *) = {
        rl_raise_init,     rl_types_init,    rl_limits_init,    rl_device_type_init, rl_untyped_storage_init,
        rl_tensor_init,    rl_override_init, rl_parameter_init, rl_node_init,        rl_mode_init,
        rl_generator_init, rl_ops_init,      rl_infer_init,     rl_promote_init,     rl_overridable_init,
        rl_create_init,    rl_numpy_init,    rl_dlpack_init,    rl_pinned_init,      rl_memory_init,
        rl_foreign_init,   rl_shared_init,   rl_files_init,     rl_driver_init,      rl_foreach_init,
        rl_optim_init,     rl_grad_init,     rl_module_init,    rl_profile_init,     rl_pytree_init,
        rl_gc_init};
    for (size_t i = 0; i < Py_ARRAY_LENGTH(parts); i++)
        if (parts[i](m) < 0) return -1;
    return PyModule_AddFunctions(m, functions) < 0 ? -1 : adopt_functions(m);
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "rushlight._C", "rushlight's C extension.", -1, NULL, NULL, NULL, NULL, NULL};

/* State of the process, not of an interpreter, lies in statics; say so instead of breaking later. */
static int refuse_interpreter(void) {
#ifdef Py_GIL_DISABLED
    PyErr_SetString(PyExc_ImportError, "rushlight does not support free-threaded builds of Python");
    return -1;
#else
    if (PyInterpreterState_Get() == PyInterpreterState_Main()) return 0;
    PyErr_SetString(PyExc_ImportError, "rushlight does not support sub-interpreters");
    return -1;
#endif
}

PyMODINIT_FUNC PyInit__C(void) {
    if (refuse_interpreter() < 0) return NULL;
    PyObject *m = PyModule_Create(&definition);
    if (m && fill_module(m) < 0) Py_CLEAR(m);
    return m;
}
