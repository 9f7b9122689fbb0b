/* torch.Generator: the object around rl_generator, the default ones, and PyTorch's state: 5056 bytes of the
 * CPU's, 16 of a device's. */
#include "tensor.h"
#include "numpy.h"
#include "core/device.h"
#include "core/generator.h"
#include <string.h>

typedef struct {
    PyObject_HEAD rl_shared_generator shared;
} generator_object;
static PyTypeObject *generator_type;
static generator_object *the_default;
static PyObject *of_devices;                  /* the tuple of GPUs' default ones, once there are GPUs */
static uint64_t first_seed = RL_DEFAULT_SEED; /* which they start from */

rl_generator *rl_generator_default(int device, int index) {
    if (RL_LIKELY(device != RL_CUDA)) return &the_default->shared.g;
    return &((generator_object *)PyTuple_GET_ITEM(of_devices, index))->shared.g;
}

int rl_generator_parse(PyObject *o, rl_generator **g) {
    if (!PyObject_TypeCheck(o, generator_type)) return 0;
    *g = &((generator_object *)o)->shared.g;
    return 1;
}

static generator_object *generator_alloc(PyTypeObject *type, int device, int index) {
    generator_object *o = (generator_object *)type->tp_alloc(type, 0);
    if (o) rl_generator_make(&o->shared, device, index);
    return o;
}

static int device_of(PyObject *self) {
    return ((generator_object *)self)->shared.device;
}

/* ---- Note [Drawing]: the numbers of the stream are read and set between draws ---- */
typedef void generator_step(rl_generator *g, rl_generator *other);
static void step_read(rl_generator *g, rl_generator *to) {
    *to = *g;
}
static void step_write(rl_generator *g, rl_generator *from) {
    *g = *from;
}

static void generator_do(PyObject *self, generator_step *step, rl_generator *other) {
    rl_shared_generator *s = &((generator_object *)self)->shared;
    if (!rl_generator_busy(s)) {
        step(&s->g, other);
        return;
    }
    rl_generator_claim(s);
    PyThreadState *thread = PyEval_SaveThread();
    rl_generator_lock(s);
    step(&s->g, other);
    rl_generator_unlock(s);
    PyEval_RestoreThread(thread);
    rl_generator_release(s);
}

/* The device that was asked for, borrowed; NULL with PyTorch's words. */
static PyObject *device_asked(PyObject *args, PyObject *kwargs) {
    Py_ssize_t n = PyTuple_GET_SIZE(args), at = 0;
    PyObject *device = n ? PyTuple_GET_ITEM(args, 0) : Py_None, *name, *value;
    if (n > 1) {
        PyErr_Format(PyExc_TypeError, "Generator() takes from 0 to 1 positional arguments but %zd were given",
                     n);
        return NULL;
    }
    while (kwargs && PyDict_Next(kwargs, &at, &name, &value)) {
        bool known = PyUnicode_CompareWithASCIIString(name, "device") == 0;
        if (known && !n) {
            device = value;
            continue;
        }
        PyErr_Format(PyExc_TypeError,
                     known ? "Generator() got multiple values for argument '%U'"
                           : "Generator() got an unexpected keyword argument '%U'",
                     name);
        return NULL;
    }
    return device;
}

static PyObject *generator_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *device = device_asked(args, kwargs);
    int kind = RL_CPU, index;
    if (!device) return NULL;
    if (device != Py_None && !Py_IS_TYPE(device, rl_device_type_object) && !PyUnicode_Check(device) &&
        !PyLong_Check(device))
        return PyErr_Format(PyExc_TypeError,
                            "Generator(): argument 'device' (position 1) must be torch.device, not %.100s",
                            Py_TYPE(device)->tp_name);
    if (device != Py_None && rl_device_parse(device, &kind, &index) < 0) return NULL;
    if (kind == RL_META) {
        PyErr_SetString(PyExc_RuntimeError, "META device type not an accelerator.");
        return NULL;
    }
    if (kind != RL_CPU && (kind != RL_CUDA || rl_device_find(kind) <= 0)) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_RuntimeError, "Device type %S is not supported for torch.Generator() api.",
                         device);
        return NULL;
    }
    if (rl_device_need(kind, index) < 0) return NULL;
    return (PyObject *)generator_alloc(type, kind, rl_device_index(kind, index));
}

/* any int, also of NumPy: negative ones wrap as in PyTorch */
static int parse_seed(PyObject *o, uint64_t *seed) {
    if (PyBool_Check(o) || (!PyLong_Check(o) && rl_numpy_kind(o) != 'i')) {
        PyErr_Format(PyExc_RuntimeError, "manual_seed expected a long, but got %s", Py_TYPE(o)->tp_name);
        return -1;
    }
    RL_OWNED PyObject *number = PyNumber_Index(o);
    if (!number) return -1;
    int overflow;
    int64_t i = PyLong_AsLongLongAndOverflow(number, &overflow);
    *seed = (uint64_t)i;
    if (overflow > 0) *seed = PyLong_AsUnsignedLongLong(number);
    if (overflow < 0 || (overflow && PyErr_Occurred())) {
        PyErr_Clear();
        PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
        return -1;
    }
    return 0;
}

static PyObject *generator_manual_seed(PyObject *self, PyObject *seed) {
    uint64_t value;
    rl_generator fresh;
    if (parse_seed(seed, &value) < 0) return NULL;
    rl_generator_seed(&fresh, value);
    generator_do(self, step_write, &fresh);
    return Py_NewRef(self);
}

static PyObject *generator_initial_seed(PyObject *self, PyObject *unused) {
    rl_generator now;
    (void)unused;
    generator_do(self, step_read, &now);
    return PyLong_FromUnsignedLongLong(now.seed);
}

/* Note [Generator state]
 * What get_state answers, byte for byte PyTorch's. Of a device: seed u64, offset u64. Of the CPU: seed u64,
 * left i32, seeded i32, next u64, 624 words as u64, three doubles (x, y, rho of the double Box-Muller), valid
 * i32 and padding, float sample, its flag. */
enum {
    STATE_BYTES = 5056,
    AT_OFFSET = 8,
    DEVICE_STATE_BYTES = 16,
    AT_LEFT = 8,
    AT_SEEDED = 12,
    AT_NEXT = 16,
    AT_WORDS = 24,
    AT_NORMAL = 5016,
    AT_VALID = 5040,
    AT_FLOAT = 5048,
    AT_FLOAT_VALID = 5052
};

static void state_write(const rl_generator *g, char *p) {
    int32_t left = g->left, seeded = 1, valid = g->has_normal;
    uint64_t next = g->next;
    memset(p, 0, STATE_BYTES);
    memcpy(p, &g->seed, 8);
    memcpy(p + AT_LEFT, &left, 4);
    memcpy(p + AT_SEEDED, &seeded, 4);
    memcpy(p + AT_NEXT, &next, 8);
    for (int i = 0; i < RL_MT_N; i++) {
        uint64_t word = g->state[i];
        memcpy(p + AT_WORDS + 8 * i, &word, 8);
    }
    if (valid) memcpy(p + AT_NORMAL + 8, &g->normal, 8);
    memcpy(p + AT_VALID, &valid, 4);
    if (g->has_normal_float) memcpy(p + AT_FLOAT, &g->normal_float, 4);
    p[AT_FLOAT_VALID] = g->has_normal_float;
}

static void device_state_write(const rl_generator *g, char *p) {
    memcpy(p, &g->seed, 8);
    memcpy(p + AT_OFFSET, &g->offset, 8);
}

static PyObject *generator_get_state(PyObject *self, PyObject *unused) {
    rl_generator now;
    const bool is_cpu = device_of(self) == RL_CPU;
    int64_t n = is_cpu ? STATE_BYTES : DEVICE_STATE_BYTES;
    (void)unused;
    rl_tensor *t = rl_tensor_new(RL_U8, RL_CPU, 0, &n, 1);
    if (!t) return NULL;
    generator_do(self, step_read, &now);
    RL_RAW;
    if (is_cpu)
        state_write(&now, rl_data(&t->v, RL_FRESH));
    else
        device_state_write(&now, rl_data(&t->v, RL_FRESH));
    return (PyObject *)t;
}

/* A counter stands for four numbers. */
static int device_state_read(const char *p, rl_generator *g) {
    uint64_t seed, offset;
    memcpy(&seed, p, 8);
    memcpy(&offset, p + AT_OFFSET, 8);
    if (offset % 4) {
        PyErr_SetString(PyExc_RuntimeError, "offset must be a multiple of 4");
        return -1;
    }
    rl_generator_seed(g, seed);
    g->offset = offset;
    return 0;
}

static int state_read(const char *p, rl_generator *g) {
    int32_t left, valid;
    uint64_t next;
    memcpy(&left, p + AT_LEFT, 4);
    memcpy(&next, p + AT_NEXT, 8);
    memcpy(&valid, p + AT_VALID, 4);
    g->left = left;
    g->next = next > UINT32_MAX ? UINT32_MAX : (uint32_t)next;
    if (!rl_generator_is_valid(g)) {
        PyErr_SetString(PyExc_RuntimeError, "Invalid mt19937 state");
        return -1;
    }
    memcpy(&g->seed, p, 8);
    g->offset = 0;
    for (int i = 0; i < RL_MT_N; i++) {
        uint64_t word;
        memcpy(&word, p + AT_WORDS + 8 * i, 8);
        g->state[i] = (uint32_t)word;
    }
    memcpy(&g->normal, p + AT_NORMAL + 8, 8);
    g->has_normal = valid != 0;
    memcpy(&g->normal_float, p + AT_FLOAT, 4);
    g->has_normal_float = p[AT_FLOAT_VALID] != 0;
    return 0;
}

static int state_take(const rl_view *v, bool is_cpu, rl_generator *g) {
    RL_RAW;
    const char *p = rl_host_data(v);
    if (!p) return -1;
    return is_cpu ? state_read(p, g) : device_state_read(p, g);
}

static PyObject *generator_set_state(PyObject *self, PyObject *state) {
    rl_generator fresh;
    if (!rl_tensor_check(state))
        return PyErr_Format(PyExc_TypeError, "expected a torch.ByteTensor, but got %s",
                            Py_TYPE(state)->tp_name);
    if (((rl_tensor *)state)->v.dtype != RL_U8 || ((rl_tensor *)state)->v.device != RL_CPU) {
        PyErr_SetString(PyExc_TypeError, "RNG state must be a torch.ByteTensor");
        return NULL;
    }
    const rl_view *v = &((rl_tensor *)state)->v;
    if (!rl_is_contiguous(v)) return PyErr_Format(PyExc_RuntimeError, "RNG state must be contiguous");
    const bool is_cpu = device_of(self) == RL_CPU;
    if (!is_cpu && v->numel != DEVICE_STATE_BYTES)
        return PyErr_Format(PyExc_RuntimeError, "RNG state is wrong size");
    if (is_cpu && v->numel != STATE_BYTES)
        return PyErr_Format(PyExc_RuntimeError,
                            "Expected a CPUGeneratorImplState of size %d but found the input RNG state size "
                            "to be %lld",
                            STATE_BYTES, (long long)v->numel);
    if (state_take(v, is_cpu, &fresh) < 0) return NULL;
    generator_do(self, step_write, &fresh);
    return Py_NewRef(self);
}

static PyObject *generator_get_device(PyObject *self, void *c) {
    const rl_shared_generator *s = &((generator_object *)self)->shared;
    (void)c;
    return rl_device_new(s->device, s->device == RL_CPU ? -1 : s->device_index);
}
static PyMethodDef generator_methods[] = {
    {"manual_seed", generator_manual_seed, METH_O,
     "manual_seed($self, seed, /)\n--\n\nSet the seed and start the stream anew; return the generator."},
    {"initial_seed", generator_initial_seed, METH_NOARGS,
     "initial_seed($self, /)\n--\n\nReturn the seed that the stream started from."},
    {"get_state", generator_get_state, METH_NOARGS,
     "get_state($self, /)\n--\n\nReturn the state of the stream, a uint8 tensor: 5056 bytes, 16 of a GPU's."},
    {"set_state", generator_set_state, METH_O,
     "set_state($self, state, /)\n--\n\nSet the state that get_state() returned. Anything else raises "
     "RuntimeError."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef generator_getset[] = {
    {"device", generator_get_device, NULL, "The device whose numbers it draws.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot generator_slots[] = {
    {Py_tp_new, generator_new},
    {Py_tp_methods, generator_methods},
    {Py_tp_getset, generator_getset},
    {Py_tp_doc, "Generator(device='cpu')\n--\n\nA pseudo-random number generator (mt19937; of a GPU: "
                "Philox4x32-10), with PyTorch's numbers for the same seed."},
    {0, NULL}};
static PyType_Spec generator_spec = {"rushlight._C.Generator", sizeof(generator_object), 0,
                                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, generator_slots};

/* ---- the default ones of GPUs ---- */
static PyObject *make_generators(PyObject *m, PyObject *count) {
    const long n = PyLong_AsLong(count);
    const Py_ssize_t there = of_devices ? PyTuple_GET_SIZE(of_devices) : 0;
    (void)m;
    if (n == -1 && PyErr_Occurred()) return NULL;
    if (of_devices && n <= there) return Py_NewRef(of_devices);
    RL_OWNED PyObject *all = PyTuple_New(n);
    for (Py_ssize_t i = 0; all && i < n; i++) {
        PyObject *o = i < there ? Py_NewRef(PyTuple_GET_ITEM(of_devices, i))
                                : (PyObject *)generator_alloc(generator_type, RL_CUDA, (int)i);
        if (!o) return NULL;
        if (i >= there) rl_generator_seed(&((generator_object *)o)->shared.g, first_seed);
        PyTuple_SET_ITEM(all, i, o);
    }
    if (all) Py_XSETREF(of_devices, Py_NewRef(all));
    return rl_move(&all);
}

static PyObject *seed_devices(PyObject *m, PyObject *seed) {
    (void)m;
    if (parse_seed(seed, &first_seed) < 0) return NULL;
    for (Py_ssize_t i = 0; of_devices && i < PyTuple_GET_SIZE(of_devices); i++) {
        RL_OWNED PyObject *same = generator_manual_seed(PyTuple_GET_ITEM(of_devices, i), seed);
        if (!same) return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef generator_functions[] = {
    {"_make_generators", make_generators, METH_O,
     "_make_generators(count)\n--\n\nThe default generators of so many GPUs, made where they are not yet."},
    {"_seed_devices", seed_devices, METH_O,
     "_seed_devices(seed)\n--\n\nSets the seed of all of them, also if they are yet to be made."},
    {NULL, NULL, 0, NULL}};

int rl_generator_init(PyObject *m) {
    generator_type = (PyTypeObject *)PyType_FromSpec(&generator_spec);
    if (!generator_type || PyModule_AddType(m, generator_type) < 0) return -1;
    the_default = generator_alloc(generator_type, RL_CPU, 0);
    if (PyModule_AddFunctions(m, generator_functions) < 0) return -1;
    return the_default ? PyModule_AddObjectRef(m, "default_generator", (PyObject *)the_default) : -1;
}
