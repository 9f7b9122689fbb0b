/* What keeps memory safe from Python code that runs in between. object/tensor.h includes it.
 *
 * Note [Python in between]
 * Making a Python object may run the garbage collector, dropping one a destructor, a warning a filter; each
 * may be anybody's code, which may give any tensor another memory, shape or dtype (x.data = y,
 * storage.resize_()). What was read from a tensor is good until the next such call, therefore:
 *
 *   RL_RAW;             addresses of elements exist from here to the end of the block only, and nothing in it
 *                       runs Python. Without it rl_data does not compile;
 *                       tests/architecture/test_python_between.py reads on.
 *   RL_HELD v = ...     a private look at a tensor: its dims and its storage stay as they were when taken
 *   rl_host_data(v)     the elements of v for a reader in C, who has waited for them by bringing them to the
 * CPU: raises and answers NULL where they lie elsewhere. Readers have no other way to them rl_tensor_reveal
 * shows a tensor to the collector, and so to Python, when it is whole
 *
 * Dims are copied before they are handed on; tests/architecture/test_python_between.py refuses x->shape
 * elsewhere.
 *
 * With RUSHLIGHT_BUILD=debug or asan every allocation of a Python object is a gc point (object/gc.c):
 * RUSHLIGHT_GC_EVERY=1 has the collector run at each, and _gc_every(f) whatever Python code a test brings. */
#ifndef RL_OBJECT_RAW_H
#define RL_OBJECT_RAW_H

#if RL_CHECKED
void rl_gc_point(void);
int rl_raw_begin(void);
void rl_raw_end(int *open);
#define RL_RAW                   __attribute__((cleanup(rl_raw_end), unused)) int rl_raw_open = rl_raw_begin()
#define PyTuple_New(n)           (rl_gc_point(), PyTuple_New(n))
#define PyTuple_Pack(...)        (rl_gc_point(), PyTuple_Pack(__VA_ARGS__))
#define PyList_New(n)            (rl_gc_point(), PyList_New(n))
#define PyList_AsTuple(o)        (rl_gc_point(), PyList_AsTuple(o))
#define PySequence_Tuple(o)      (rl_gc_point(), PySequence_Tuple(o))
#define PySequence_List(o)       (rl_gc_point(), PySequence_List(o))
#define PyDict_New()             (rl_gc_point(), PyDict_New())
#define PyDict_Copy(o)           (rl_gc_point(), PyDict_Copy(o))
#define PyODict_New()            (rl_gc_point(), PyODict_New())
#define PySet_New(o)             (rl_gc_point(), PySet_New(o))
#define PyStructSequence_New(t)  (rl_gc_point(), PyStructSequence_New(t))
#define PyObject_GetIter(o)      (rl_gc_point(), PyObject_GetIter(o))
#define PyMethod_New(f, self)    (rl_gc_point(), PyMethod_New(f, self))
#define PyErr_WarnEx(c, text, n) (rl_gc_point(), PyErr_WarnEx(c, text, n))
#else
#define rl_gc_point() ((void)0)
#define RL_RAW        __attribute__((unused)) const int rl_raw_open = 0
#endif
#define rl_data(v, mode)          ((void)rl_raw_open, rl_data(v, mode))
#define rl_const_data(v)          ((void)rl_raw_open, rl_const_data(v))
#define rl_storage_bytes(s, mode) ((void)rl_raw_open, rl_storage_bytes(s, mode))
#define rl_host_data(v)           ((void)rl_raw_open, rl_host_data(v))

const void *(rl_host_data)(const rl_view *v);

static inline PyObject *rl_type_alloc(PyTypeObject *type, Py_ssize_t n) {
    rl_gc_point();
    return type->tp_alloc(type, n);
}

static inline void rl_held_drop(rl_view *v) {
    rl_storage_release(v->storage);
    if (RL_UNLIKELY(v->shape != v->small)) rl_view_clear(v); /* a block of their own, or never taken */
}
#define RL_HELD __attribute__((cleanup(rl_held_drop))) rl_view
int rl_held_take(rl_view *held, const rl_view *v); /* `held` is zero; -1 without memory, raised */
int rl_held_changed(void); /* always -1: Python code changed a tensor while a function used it */

/* The size of a dim that was counted earlier: 0 when the tensor has fewer dims by now. */
static inline int64_t rl_size_at(const rl_view *v, int64_t dim) {
    return dim >= 0 && dim < v->ndim ? v->shape[dim] : 0;
}
#endif
