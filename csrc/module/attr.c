/* Attributes of a module: reading, setting, deleting and registering them. */
#include "internal.h"

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
    PyException_SetCause(error, rl_move(&cause));
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
        if (get == NULL) return (*found = rl_move(&descr)) != NULL;
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

static int module_set_parameter(PyObject *m, PyObject *name, PyObject *value);

/* m.register_parameter(name, value), whoever defines it */
static int attr_register_parameter(PyObject *m, PyObject *name, PyObject *value) {
    if (rl_module_ours(m, RL_M_register_parameter)) return module_set_parameter(m, name, value);
    PyObject *args[] = {name, value};
    RL_OWNED PyObject *done = rl_method_call(m, rl_name.register_parameter, args, 2, NULL);
    return done ? 0 : -1;
}

static int module_put_parameter(PyObject *m, PyObject *map, PyObject *name, PyObject *value);

static int attr_set_parameter(PyObject *m, PyObject *dict, PyObject *map, PyObject *name, PyObject *value,
                              int has) {
    PyObject *const others[] = {rl_name._buffers, rl_name._modules, rl_name._non_persistent_buffers_set};
    static const uint8_t at[] = {RL_AT_buffers, RL_AT_modules, RL_AT_fleeting};
    if (rl_map_remove(dict, name) < 0 || attr_remove_from_state(m, name, others, at, 3) < 0) return -1;
    /* A registered name was checked when it was registered, and hasattr() would run no user code. */
    int plain = rl_module_facts_get(Py_TYPE(m))->ours >> RL_M___getattr__ & 1;
    if (has && plain && PyDict_CheckExact(map) && rl_module_ours(m, RL_M_register_parameter))
        return module_put_parameter(m, map, name, value);
    return attr_register_parameter(m, name, value);
}

static int module_set_child(PyObject *m, PyObject *map, PyObject *name, PyObject *value);

static int attr_set_child(PyObject *m, PyObject *dict, PyObject *map, PyObject *name, PyObject *value) {
    PyObject *const others[] = {rl_name._parameters, rl_name._buffers, rl_name._non_persistent_buffers_set};
    static const uint8_t at[] = {RL_AT_parameters, RL_AT_buffers, RL_AT_fleeting};
    if (rl_map_remove(dict, name) < 0 || attr_remove_from_state(m, name, others, at, 3) < 0) return -1;
    return module_set_child(m, map, name, value);
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

static int module_set_buffer(PyObject *m, PyObject *name, PyObject *value, int persistent);

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
    if (rl_module_ours(m, RL_M_register_buffer)) return module_set_buffer(m, name, value, persistent);
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

static int module_buffer_check(PyObject *value);

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
        return module_set_child(m, held, name, value);
    }
    has = attr_in_state(dict, rl_name._buffers, RL_AT_buffers, name, &map);
    if (has < 0 || (is = module_buffer_check(value)) < 0) return -1;
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

/* ---- register_parameter, register_buffer, add_module ----
 * the checks in torch's order, then the global hooks */
/* isinstance(value, Buffer): Buffers are Tensors marked `_is_buffer`. */
static int module_buffer_check(PyObject *value) {
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

/* hooks, then map[name] */
static int module_set_child(PyObject *m, PyObject *map, PyObject *name, PyObject *value) {
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
static int module_put_parameter(PyObject *m, PyObject *map, PyObject *name, PyObject *value) {
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

static int module_set_parameter(PyObject *m, PyObject *name, PyObject *value) {
    RL_OWNED PyObject *map = register_map(m, rl_name._parameters, "parameter");
    if (map == NULL || register_name_check("parameter", m, name, map) < 0) return -1;
    return module_put_parameter(m, map, name, value);
}

static int module_set_buffer(PyObject *m, PyObject *name, PyObject *value, int persistent) {
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
    if (module_set_parameter(m, bound[0], bound[1]) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *register_buffer(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const rl_signature sig = {"register_buffer", 2, 3, {"name", "tensor", "persistent"}};
    PyObject *bound[3];
    if (rl_method_bind(&sig, args, nargs, kwnames, bound) < 0) return NULL;
    int persistent = bound[2] ? PyObject_IsTrue(bound[2]) : 1;
    if (persistent < 0 || module_set_buffer(m, bound[0], bound[1], persistent) < 0) return NULL;
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
    return module_set_child(m, map, name, child);
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
