/* Reading, setting and deleting attributes. */
#include "args.h"
#include "helpers.h"
#include "map.h"
#include "methods.h"
#include "register.h"
#include "slots.h"
#include "state.h"

/* ---- a miss ----
 * Note [Errors of properties]: a property that raises AttributeError inside looks to Python as if it were
 * not there, and the miss names the property itself. The text stays as it is; before Python 3.12 what was
 * raised becomes its cause. From then on Python drops it before we are asked, and a property is never run
 * a second time: a note says that there is one. A user's __getattr__ stands between the raised error and
 * the miss, so it waits in this list. */
typedef struct attr_waiting {
    PyObject *module, *name, *raised; /* borrowed */
    struct attr_waiting *outer;
} attr_waiting;
static attr_waiting *attr_waits;

static void attr_wait_end(attr_waiting *wait) { /* threads may leave in another order than they came */
    attr_waiting **at = &attr_waits;
    while (*at != wait) at = &(*at)->outer;
    *at = wait->outer;
}

/* What the property of this name raised, if there is one: owned, or NULL without an error. */
static PyObject *attr_raised(PyObject *m, PyObject *name) {
    for (attr_waiting *wait = attr_waits; wait; wait = wait->outer)
        if (wait->module == m && wait->name == name) return Py_XNewRef(wait->raised);
    return NULL;
}

/* Adds the note to the raised error when the class has a property of this name. */
static void attr_note(PyObject *m, PyObject *name) {
    PyObject *descr = PyUnicode_Check(name) ? _PyType_Lookup(Py_TYPE(m), name) : NULL;
    if (descr == NULL || !PyObject_TypeCheck(descr, &PyProperty_Type)) return;
    PyObject *error = rl_raised_take();
    RL_OWNED PyObject *text = PyUnicode_FromFormat(
        "'%U' is a property of the class: the AttributeError that it raised inside was taken for a miss",
        name);
    RL_OWNED PyObject *done = text ? PyObject_CallMethod(error, "add_note", "O", text) : NULL;
    if (done == NULL) PyErr_Clear();
    rl_raised_put_steal(error);
}

static PyObject *attr_missing(PyObject *m, PyObject *name, PyObject *raised) {
    RL_OWNED PyObject *cause = raised ? Py_NewRef(raised) : attr_raised(m, name);
    RL_OWNED PyObject *type = PyType_GetName(Py_TYPE(m));
    if (type == NULL) return NULL;
    PyErr_Format(PyExc_AttributeError, "'%U' object has no attribute '%S'", type, name);
    if (cause == NULL) {
        if (PY_VERSION_HEX >= 0x030C0000) attr_note(m, name);
        return NULL;
    }
    PyObject *error = rl_raised_take();
    PyException_SetCause(error, rl_give(&cause));
    rl_raised_put_steal(error);
    return NULL;
}

/* ---- reading ---- */
/* What Module.__getattr__ does, for a name that is neither in the type nor in the dict; `raised`: what a
 * property of that name raised, or NULL. */
static PyObject *attr_registered(PyObject *m, PyObject *name, PyObject *raised) {
    PyObject *const maps[] = {rl_name._parameters, rl_name._buffers, rl_name._modules};
    static const uint8_t at[] = {RL_AT_parameters, RL_AT_buffers, RL_AT_modules};
    PyObject *dict = rl_module_dict(m);
    for (int i = 0; dict && i < 3; i++) {
        PyObject *map = rl_state_peek(dict, at[i], maps[i]), *found;
        if (RL_UNLIKELY(map == NULL)) continue;
        if (RL_LIKELY(rl_map_peek(map, name, &found))) {
            if (found) return Py_NewRef(found);
            continue;
        }
        RL_OWNED PyObject *held = Py_NewRef(map); /* a user's mapping may do anything */
        int has = rl_map_find(held, name, &found);
        if (has) return has > 0 ? found : NULL;
        dict = rl_module_dict(m);
    }
    return PyErr_Occurred() ? NULL : attr_missing(m, name, raised);
}

/* object.__getattribute__, but 0 without an exception where the name is nowhere; an AttributeError of a
 * property also ends as a miss, as in Python, and is handed out. 1 and *found, or -1. */
static inline int attr_ordinary(PyObject *m, PyObject *name, PyObject **found, PyObject **raised) {
    PyTypeObject *type = Py_TYPE(m);
    RL_OWNED PyObject *descr = Py_XNewRef(_PyType_Lookup(type, name));
    descrgetfunc get = descr ? Py_TYPE(descr)->tp_descr_get : NULL;
    if (get == NULL || Py_TYPE(descr)->tp_descr_set == NULL) {
        PyObject *dict = rl_module_dict(m);
        if (dict) {
            *found = Py_XNewRef(PyDict_GetItemWithError(dict, name));
            if (*found) return 1;
            if (PyErr_Occurred()) return -1;
        }
        if (get == NULL) return (*found = rl_give(&descr)) != NULL;
    }
    *found = get(descr, m, (PyObject *)type);
    if (*found) return 1;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    *raised = rl_raised_take();
    return 0;
}

PyObject *rl_module_getattro(PyObject *m, PyObject *name) {
    PyObject *found;
    RL_OWNED PyObject *raised = NULL;
    if (RL_UNLIKELY(!PyUnicode_CheckExact(name))) return PyObject_GenericGetAttr(m, name);
    int has = attr_ordinary(m, name, &found, &raised);
    if (has) return has > 0 ? found : NULL;
    return attr_registered(m, name, raised);
}

static PyObject *attr_call_user(PyObject *m, PyObject *name, PyObject *user) {
    PyObject *args[] = {NULL, m, name};
    if (PyType_HasFeature(Py_TYPE(user), Py_TPFLAGS_METHOD_DESCRIPTOR))
        return PyObject_Vectorcall(user, args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    descrgetfunc get = Py_TYPE(user)->tp_descr_get;
    RL_OWNED PyObject *bound = get ? get(user, m, (PyObject *)Py_TYPE(m)) : Py_NewRef(user);
    return bound ? PyObject_CallOneArg(bound, name) : NULL;
}

PyObject *rl_module_getattro_user(PyObject *m, PyObject *name) {
    PyObject *found;
    RL_OWNED PyObject *raised = NULL;
    if (RL_UNLIKELY(!PyUnicode_CheckExact(name))) return PyObject_GenericGetAttr(m, name);
    int has = attr_ordinary(m, name, &found, &raised);
    if (has) return has > 0 ? found : NULL;
    RL_OWNED PyObject *user = Py_XNewRef(_PyType_Lookup(Py_TYPE(m), rl_name.__getattr__));
    if (user == NULL) return attr_registered(m, name, raised);
    if (raised == NULL) return attr_call_user(m, name, user);
    attr_waiting wait = {m, name, raised, attr_waits};
    attr_waits = &wait;
    PyObject *answer = attr_call_user(m, name, user);
    attr_wait_end(&wait);
    return answer;
}

static PyObject *attr_getattr(PyObject *m, PyObject *name) {
    rl_module_adopt(Py_TYPE(m));
    return attr_registered(m, name, NULL);
}

/* ---- setting ---- */
static int attr_wrong(const char *format, PyObject *value, PyObject *name) {
    RL_OWNED PyObject *type = rl_typename(value);
    if (type) PyErr_Format(PyExc_TypeError, format, type, name);
    return -1;
}

/* Is object the only class behind Module in the MRO? */
static int attr_next_is_object(PyTypeObject *type) {
    PyObject *mro = type->tp_mro;
    Py_ssize_t n = mro ? PyTuple_GET_SIZE(mro) : 0;
    return n >= 2 && PyTuple_GET_ITEM(mro, n - 2) == (PyObject *)rl_module_type;
}

/* super().__setattr__(name, value), or super().__delattr__(name) for NULL */
static int attr_super(PyObject *m, PyObject *name, PyObject *value) {
    if (attr_next_is_object(Py_TYPE(m))) return PyObject_GenericSetAttr(m, name, value);
    RL_OWNED PyObject *super =
        PyObject_CallFunctionObjArgs((PyObject *)&PySuper_Type, (PyObject *)rl_module_type, m, NULL);
    if (super == NULL) return -1;
    PyObject *args[] = {name, value};
    RL_OWNED PyObject *done =
        rl_method_call(super, value ? rl_name.__setattr__ : rl_name.__delattr__, args, value ? 2 : 1, NULL);
    return done ? 0 : -1;
}

/* Is it an exact dict or set without an entry? Then there is nothing to remove. */
static int attr_is_bare(PyObject *map) {
    if (PyDict_CheckExact(map)) return PyDict_GET_SIZE(map) == 0;
    return PySet_CheckExact(map) && PySet_GET_SIZE(map) == 0;
}

static int attr_remove_from_state(PyObject *m, PyObject *name, PyObject *const *maps, const uint8_t *at,
                                  int n) {
    for (int i = 0; i < n; i++) {
        PyObject *dict = rl_module_dict(m), *known = dict ? rl_state_peek(dict, at[i], maps[i]) : NULL;
        if (known && attr_is_bare(known)) continue;
        RL_OWNED PyObject *map = rl_state_get(m, maps[i]);
        if (map == NULL || rl_map_remove(map, name) < 0) return -1;
    }
    return 0;
}

/* m.register_parameter(name, value), whoever defines it */
static int attr_register_parameter(PyObject *m, PyObject *name, PyObject *value) {
    if (rl_module_ours(m, RL_M_register_parameter)) return rl_module_set_parameter(m, name, value);
    PyObject *args[] = {name, value};
    RL_OWNED PyObject *done = rl_method_call(m, rl_name.register_parameter, args, 2, NULL);
    return done ? 0 : -1;
}

static int attr_set_parameter(PyObject *m, PyObject *dict, PyObject *map, PyObject *name, PyObject *value,
                              int has) {
    PyObject *const others[] = {rl_name._buffers, rl_name._modules, rl_name._non_persistent_buffers_set};
    static const uint8_t at[] = {RL_AT_buffers, RL_AT_modules, RL_AT_fleeting};
    if (rl_map_remove(dict, name) < 0 || attr_remove_from_state(m, name, others, at, 3) < 0) return -1;
    /* A registered name was checked when it was registered, and hasattr() would run no user code. */
    int plain = rl_module_facts_get(Py_TYPE(m))->ours >> RL_M___getattr__ & 1;
    if (has && plain && PyDict_CheckExact(map) && rl_module_ours(m, RL_M_register_parameter))
        return rl_module_put_parameter(m, map, name, value);
    return attr_register_parameter(m, name, value);
}

static int attr_set_child(PyObject *m, PyObject *dict, PyObject *map, PyObject *name, PyObject *value) {
    PyObject *const others[] = {rl_name._parameters, rl_name._buffers, rl_name._non_persistent_buffers_set};
    static const uint8_t at[] = {RL_AT_parameters, RL_AT_buffers, RL_AT_fleeting};
    if (rl_map_remove(dict, name) < 0 || attr_remove_from_state(m, name, others, at, 3) < 0) return -1;
    return rl_module_set_child(m, map, name, value);
}

/* A user's register_buffer() may lack the argument `persistent`; then only persistent ones can be set. */
static int attr_register_buffer_user(PyObject *m, PyObject *name, PyObject *value, int persistent) {
    RL_OWNED PyObject *method = PyObject_GetAttr(m, rl_name.register_buffer);
    RL_OWNED PyObject *inspect = method ? PyImport_ImportModule("inspect") : NULL;
    RL_OWNED PyObject *signature = inspect ? PyObject_CallMethod(inspect, "signature", "O", method) : NULL;
    RL_OWNED PyObject *known = signature ? PyObject_GetAttrString(signature, "parameters") : NULL;
    int takes = known ? PySequence_Contains(known, rl_name.persistent) : -1;
    if (takes < 0) return -1;
    if (!takes && !persistent) {
        PyErr_SetString(PyExc_RuntimeError,
                        "Registering a non-persistent buffer on a Module subclass that implements "
                        "register_buffer() without the persistent argument is not allowed.");
        return -1;
    }
    RL_OWNED PyObject *done = PyObject_CallFunctionObjArgs(
        method, name, value, takes ? (persistent ? Py_True : Py_False) : NULL, NULL);
    return done ? 0 : -1;
}

static int attr_set_buffer(PyObject *m, PyObject *name, PyObject *value, int is_buffer) {
    int like = Py_IsNone(value) || rl_tensor_check(value) ? 1 : rl_hasattr(value, rl_name.__torch_function__);
    if (like < 0) return -1;
    if (!like)
        return attr_wrong(
            "cannot assign '%U' as buffer '%S' (torch.nn.Buffer, torch.Tensor or None expected)", value,
            name);
    RL_OWNED PyObject *state = is_buffer ? PyObject_GetAttr(value, rl_name.persistent)
                                         : rl_state_get(m, rl_name._non_persistent_buffers_set);
    int persistent = state == NULL ? -1
                     : is_buffer   ? PyObject_IsTrue(state)
                                   : PySequence_Contains(state, name);
    if (persistent < 0) return -1;
    if (!is_buffer) persistent = !persistent;
    if (rl_module_ours(m, RL_M_register_buffer)) return rl_module_set_buffer(m, name, value, persistent);
    return attr_register_buffer_user(m, name, value, persistent);
}

/* map = m.__dict__.get(state), borrowed; 1 when `name` is registered in it, 0, -1 */
static int attr_in_state(PyObject *dict, PyObject *state, int at, PyObject *name, PyObject **map) {
    *map = dict ? rl_state_peek(dict, at, state) : NULL;
    if (*map == NULL || Py_IsNone(*map)) return PyErr_Occurred() ? -1 : (*map = NULL, 0);
    return rl_map_has(*map, name);
}

static int attr_too_early(const char *what) {
    PyErr_Format(PyExc_AttributeError, "cannot assign %s before Module.__init__() call", what);
    return -1;
}

static int attr_set(PyObject *m, PyObject *name, PyObject *value) {
    RL_OWNED PyObject *dict = Py_XNewRef(rl_module_dict(m)); /* user code below may replace it */
    PyObject *map;
    int has = attr_in_state(dict, rl_name._parameters, RL_AT_parameters, name, &map), is;
    if (has < 0) return -1;
    if (rl_parameter_check(value)) {
        if (map == NULL) return attr_too_early("parameters");
        RL_OWNED PyObject *held = Py_NewRef(map);
        return attr_set_parameter(m, dict, held, name, value, has);
    }
    if (has) {
        if (Py_IsNone(value)) return attr_register_parameter(m, name, value);
        return attr_wrong("cannot assign '%U' as parameter '%S' (torch.nn.Parameter or None expected)", value,
                          name);
    }
    has = attr_in_state(dict, rl_name._modules, RL_AT_modules, name, &map);
    if (has < 0 || (is = rl_module_check(value)) < 0) return -1;
    if (is) {
        if (map == NULL) return attr_too_early("module");
        RL_OWNED PyObject *held = Py_NewRef(map);
        return attr_set_child(m, dict, held, name, value);
    }
    if (has) {
        if (!Py_IsNone(value))
            return attr_wrong("cannot assign '%U' as child module '%S' (torch.nn.Module or None expected)",
                              value, name);
        RL_OWNED PyObject *held = Py_NewRef(map);
        return rl_module_set_child(m, held, name, value);
    }
    has = attr_in_state(dict, rl_name._buffers, RL_AT_buffers, name, &map);
    if (has < 0 || (is = rl_module_buffer_check(value)) < 0) return -1;
    if (is || has) return attr_set_buffer(m, name, value, is);
    return attr_super(m, name, value);
}

static PyObject *attr_setattr(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const rl_signature sig = {"__setattr__", 2, 2, {"name", "value"}};
    PyObject *bound[2];
    if (nargs == 2 && kwnames == NULL)
        bound[0] = args[0], bound[1] = args[1];
    else if (rl_method_bind(&sig, args, nargs, kwnames, bound) < 0)
        return NULL;
    if (attr_set(m, bound[0], bound[1]) < 0) return NULL;
    Py_RETURN_NONE;
}

/* ---- deleting ---- */
static PyObject *attr_delattr(PyObject *m, PyObject *name) {
    PyObject *const maps[] = {rl_name._parameters, rl_name._buffers, rl_name._modules};
    for (int i = 0; i < 3; i++) {
        RL_OWNED PyObject *map = rl_state_get(m, maps[i]);
        int has = map ? rl_map_has(map, name) : -1;
        if (has < 0) return NULL;
        if (!has) continue;
        if (PyObject_DelItem(map, name) < 0) return NULL;
        static const uint8_t at[] = {RL_AT_fleeting};
        if (i == 1 && attr_remove_from_state(m, name, &rl_name._non_persistent_buffers_set, at, 1) < 0)
            return NULL;
        Py_RETURN_NONE;
    }
    if (attr_super(m, name, NULL) < 0) return NULL;
    Py_RETURN_NONE;
}

PyMethodDef rl_module_attr_methods[] = {
    {"__getattr__", attr_getattr, METH_O, "__getattr__($self, name, /)\n--\n\n"},
    {"__setattr__", (PyCFunction)(void (*)(void))attr_setattr, METH_FASTCALL | METH_KEYWORDS,
     "__setattr__($self, name, value)\n--\n\n"},
    {"__delattr__", attr_delattr, METH_O, "__delattr__($self, name, /)\n--\n\n"},
    {NULL, NULL, 0, NULL}};
