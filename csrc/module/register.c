/* register_parameter, register_buffer, add_module: the checks in torch's order, then the global hooks. */
#include "register.h"
#include "args.h"
#include "docs.h"
#include "global_hooks.h"
#include "helpers.h"
#include "map.h"
#include "methods.h"
#include "state.h"

/* isinstance(value, Buffer): Buffers are Tensors marked `_is_buffer`. */
int rl_module_buffer_check(PyObject *value) {
    if (!rl_tensor_check(value)) return 0;
    if (Py_TYPE(value) == rl_tensor_type && ((rl_tensor *)value)->dict == NULL) return 0;
    RL_OWNED PyObject *mark = PyObject_GetAttr(value, rl_name._is_buffer);
    if (mark) return PyObject_IsTrue(mark);
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    PyErr_Clear();
    return 0;
}

static int register_key_error(const char *format, PyObject *name) {
    RL_OWNED PyObject *text = PyUnicode_FromFormat(format, name);
    if (text) PyErr_SetObject(PyExc_KeyError, text);
    return -1;
}

/* `hasattr(m, name) and name not in map`. No user code can run where the class has no such name and
 * looks names up by itself, so the dicts are asked alone. */
static int register_clashes(PyObject *m, PyObject *name, PyObject *map) {
    PyObject *known;
    const rl_module_facts *f = rl_module_facts_get(Py_TYPE(m));
    int plain = f->plain_get && (f->ours >> RL_M___getattr__ & 1), has;
    if (plain && _PyType_Lookup(Py_TYPE(m), name) == NULL) {
        PyObject *const places[] = {rl_name._parameters, rl_name._buffers, rl_name._modules};
        PyObject *dict = rl_module_dict(m);
        if (rl_map_peek(map, name, &known) && known) return 0;
        if ((has = rl_map_has(map, name)) != 0) return has < 0 ? -1 : 0;
        if (dict == NULL || (has = PyDict_Contains(dict, name)) != 0) return has;
        for (int i = 0; i < 3; i++) {
            PyObject *place = PyDict_GetItemWithError(dict, places[i]);
            if (place == NULL && PyErr_Occurred()) return -1;
            if (place && place != map && (has = rl_map_has(place, name)) != 0) return has;
        }
        return 0;
    }
    has = rl_hasattr(m, name);
    if (has <= 0) return has;
    has = rl_map_has(map, name);
    return has < 0 ? -1 : !has;
}

static int register_name_is_str(const char *what, PyObject *name) {
    if (PyUnicode_Check(name)) return 0;
    RL_OWNED PyObject *type = rl_typename(name);
    if (type) PyErr_Format(PyExc_TypeError, "%s name should be a string. Got %U", what, type);
    return -1;
}

static int register_has_dot(PyObject *name) {
    if (PyUnicode_IS_COMPACT_ASCII(name))
        return memchr(PyUnicode_1BYTE_DATA(name), '.', (size_t)PyUnicode_GET_LENGTH(name)) != NULL;
    return PyUnicode_FindChar(name, '.', 0, PyUnicode_GET_LENGTH(name), 1) >= 0;
}

static int register_name_check(const char *what, PyObject *m, PyObject *name, PyObject *map) {
    if (register_name_is_str(what, name) < 0) return -1;
    if (register_has_dot(name) || PyUnicode_GET_LENGTH(name) == 0) {
        RL_OWNED PyObject *text = PyUnicode_FromFormat(
            register_has_dot(name) ? "%s name can't contain \".\"" : "%s name can't be empty string \"\"",
            what);
        if (text) PyErr_SetObject(PyExc_KeyError, text);
        return -1;
    }
    int clashes = register_clashes(m, name, map);
    if (clashes > 0) return register_key_error("attribute '%U' already exists", name);
    return clashes;
}

/* map[name] = value, after `for hook in hooks.values()` had a chance to replace the value */
static int register_put(PyObject *hooks, PyObject *m, PyObject *map, PyObject *name, PyObject *value) {
    RL_OWNED PyObject *now = Py_NewRef(value);
    if (RL_LIKELY(PyDict_GET_SIZE(hooks) == 0)) return rl_map_set(map, name, now);
    RL_OWNED PyObject *held = Py_NewRef(hooks);
    RL_MAP_ITER it;
    int more;
    if (rl_map_iter_begin(&it, held) < 0) return -1;
    while ((more = rl_map_iter_next(&it)) > 0) {
        PyObject *args[] = {m, name, now};
        PyObject *other = PyObject_Vectorcall(it.value, args, 3, NULL);
        if (other == NULL) return -1;
        if (Py_IsNone(other))
            Py_DECREF(other);
        else
            Py_SETREF(now, other);
    }
    return more < 0 ? -1 : rl_map_set(map, name, now);
}

int rl_module_set_child(PyObject *m, PyObject *map, PyObject *name, PyObject *value) {
    return register_put(rl_module_hooks.module_registration_hooks, m, map, name, value);
}

/* m.__dict__[state], or torch's complaint that __init__() was not called */
static PyObject *register_map(PyObject *m, PyObject *state, const char *what) {
    PyObject *dict = rl_module_dict(m), *map = dict ? PyDict_GetItemWithError(dict, state) : NULL;
    if (map == NULL && !PyErr_Occurred())
        PyErr_Format(PyExc_AttributeError, "cannot assign %s before Module.__init__() call", what);
    return Py_XNewRef(map);
}

/* What register_parameter does when the name was found to be good. */
int rl_module_put_parameter(PyObject *m, PyObject *map, PyObject *name, PyObject *value) {
    if (Py_IsNone(value)) return rl_map_set(map, name, value);
    if (!rl_parameter_check(value)) {
        RL_OWNED PyObject *type = rl_typename(value);
        if (type)
            PyErr_Format(PyExc_TypeError,
                         "cannot assign '%U' object to parameter '%U' (torch.nn.Parameter or None required)",
                         type, name);
        return -1;
    }
    if (rl_tensor_check(value) && ((rl_tensor *)value)->grad_fn) {
        PyErr_Format(PyExc_ValueError,
                     "Cannot assign non-leaf Tensor to parameter '%U'. Model parameters must be created "
                     "explicitly. To express '%U' as a function of another Tensor, compute the value in the "
                     "forward() method.",
                     name, name);
        return -1;
    }
    return register_put(rl_module_hooks.parameter_registration_hooks, m, map, name, value);
}

int rl_module_set_parameter(PyObject *m, PyObject *name, PyObject *value) {
    RL_OWNED PyObject *map = register_map(m, rl_name._parameters, "parameter");
    if (map == NULL || register_name_check("parameter", m, name, map) < 0) return -1;
    return rl_module_put_parameter(m, map, name, value);
}

int rl_module_set_buffer(PyObject *m, PyObject *name, PyObject *value, int persistent) {
    RL_OWNED PyObject *map = register_map(m, rl_name._buffers, "buffer");
    if (map == NULL || register_name_check("buffer", m, name, map) < 0) return -1;
    int like = Py_IsNone(value) || rl_tensor_check(value) ? 1 : rl_hasattr(value, rl_name.__torch_function__);
    if (like < 0) return -1;
    if (!like) {
        RL_OWNED PyObject *type = rl_typename(value);
        if (type)
            PyErr_Format(PyExc_TypeError,
                         "cannot assign '%U' object to buffer '%U' (torch Tensor or None required)", type,
                         name);
        return -1;
    }
    if (register_put(rl_module_hooks.buffer_registration_hooks, m, map, name, value) < 0) return -1;
    RL_OWNED PyObject *fleeting = rl_state_get(m, rl_name._non_persistent_buffers_set);
    if (fleeting == NULL) return -1;
    if (PySet_CheckExact(fleeting))
        return persistent ? (PySet_Discard(fleeting, name) < 0 ? -1 : 0) : PySet_Add(fleeting, name);
    RL_OWNED PyObject *done =
        PyObject_CallMethodOneArg(fleeting, persistent ? rl_name.discard : rl_name.add, name);
    return done ? 0 : -1;
}

/* ---- the methods ---- */
static PyObject *register_parameter(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const rl_signature sig = {"register_parameter", 2, 2, {"name", "param"}};
    PyObject *bound[2];
    if (rl_method_bind(&sig, args, nargs, kwnames, bound) < 0) return NULL;
    if (rl_module_set_parameter(m, bound[0], bound[1]) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *register_buffer(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const rl_signature sig = {"register_buffer", 2, 3, {"name", "tensor", "persistent"}};
    PyObject *bound[3];
    if (rl_method_bind(&sig, args, nargs, kwnames, bound) < 0) return NULL;
    int persistent = bound[2] ? PyObject_IsTrue(bound[2]) : 1;
    if (persistent < 0 || rl_module_set_buffer(m, bound[0], bound[1], persistent) < 0) return NULL;
    Py_RETURN_NONE;
}

static int register_child_check(PyObject *m, PyObject *name, PyObject *child) {
    int is = Py_IsNone(child) ? 1 : rl_module_check(child);
    if (is < 0) return -1;
    if (!is) {
        RL_OWNED PyObject *type = rl_typename(child);
        if (type) PyErr_Format(PyExc_TypeError, "%U is not a Module subclass", type);
        return -1;
    }
    if (register_name_is_str("module", name) < 0) return -1;
    /* torch looks at `_modules` only when the name exists; both end in the same AttributeError */
    RL_OWNED PyObject *map = rl_state_get(m, rl_name._modules);
    int clashes = map ? register_clashes(m, name, map) : -1;
    if (clashes < 0) return -1;
    if (clashes) return register_key_error("attribute '%U' already exists", name);
    if (register_has_dot(name)) return register_key_error("module name can't contain \".\", got: %U", name);
    if (PyUnicode_GET_LENGTH(name) == 0)
        return register_key_error("module name can't be empty string \"\"%U", rl_name.empty);
    return rl_module_set_child(m, map, name, child);
}

static PyObject *register_add_module(PyObject *m, PyObject *const *args, Py_ssize_t nargs,
                                     PyObject *kwnames) {
    static const rl_signature sig = {"add_module", 2, 2, {"name", "module"}};
    PyObject *bound[2];
    if (rl_method_bind(&sig, args, nargs, kwnames, bound) < 0) return NULL;
    if (register_child_check(m, bound[0], bound[1]) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *register_module(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const rl_signature sig = {"register_module", 2, 2, {"name", "module"}};
    PyObject *bound[2];
    if (rl_method_bind(&sig, args, nargs, kwnames, bound) < 0) return NULL;
    RL_OWNED PyObject *done = rl_method_call(m, rl_name.add_module, bound, 2, NULL);
    if (done == NULL) return NULL;
    Py_RETURN_NONE;
}

#define REGISTER_FLAGS (METH_FASTCALL | METH_KEYWORDS)
#define REGISTER_FN(f) (PyCFunction)(void (*)(void)) f
PyMethodDef rl_module_register_methods[] = {
    {"register_parameter", REGISTER_FN(register_parameter), REGISTER_FLAGS, rl_module_register_parameter_doc},
    {"register_buffer", REGISTER_FN(register_buffer), REGISTER_FLAGS, rl_module_register_buffer_doc},
    {"add_module", REGISTER_FN(register_add_module), REGISTER_FLAGS, rl_module_add_module_doc},
    {"register_module", REGISTER_FN(register_module), REGISTER_FLAGS, rl_module_register_module_doc},
    {NULL, NULL, 0, NULL}};
