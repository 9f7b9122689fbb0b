/* Replays what the reader of checkpoints wrote down and makes the Python objects, in a loop. */
#include "loader.h"
#include <string.h>

static PyObject *loader_bad(loader *c, const char *why) {
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_ValueError)) return NULL;
    PyErr_Clear();
    rl_reader_fail(c->reader, RL_READER_PICKLE, "%s", why);
    return rl_loader_raise(c);
}

/* ---- values ---- */
static PyObject *loader_object(loader *c, const rl_item *i); /* borrowed */

static PyObject *value_new_items(loader *c, const rl_item *i) {
    RL_OWNED PyObject *tuple = PyTuple_New((Py_ssize_t)i->n);
    if (!tuple) return NULL;
    for (int64_t k = 0; k < i->n; k++) {
        PyObject *o = loader_object(c, i->u.items[k]);
        if (!o) return NULL;
        PyTuple_SET_ITEM(tuple, k, Py_NewRef(o));
    }
    if (i->kind == RL_ITEM_FROZENSET) return PyFrozenSet_New(tuple);
    return rl_give(&tuple);
}

static PyObject *value_new_size(const rl_item *i) {
    int64_t *dims = PyMem_Malloc((size_t)(i->n + 1) * sizeof *dims);
    if (!dims) return PyErr_NoMemory();
    for (int64_t k = 0; k < i->n; k++) dims[k] = i->u.items[k]->u.i;
    PyObject *size = i->n > INT32_MAX ? PyErr_NoMemory() : rl_size_new(dims, (int)i->n);
    PyMem_Free(dims);
    return size;
}

static PyObject *value_new_long(const rl_item *i) {
    RL_OWNED PyObject *from = PyObject_GetAttrString((PyObject *)&PyLong_Type, "from_bytes");
    RL_OWNED PyObject *args = Py_BuildValue("(y#s)", i->u.text, (Py_ssize_t)i->n, "little");
    RL_OWNED PyObject *words = Py_BuildValue("{s:O}", "signed", Py_True);
    return from && args && words ? PyObject_Call(from, args, words) : NULL;
}

static PyObject *value_new_from(const char *module, const char *name) {
    RL_OWNED PyObject *m = PyImport_ImportModule(module);
    RL_OWNED PyObject *type = m ? PyObject_GetAttrString(m, name) : NULL;
    return type ? PyObject_CallNoArgs(type) : NULL;
}

static PyObject *value_new_named(const rl_item *i) {
    static const char *const names[RL_NLAYOUTS] = RL_LAYOUTS;
    RL_OWNED PyObject *m = PyImport_ImportModule("rushlight._C");
    const char *name = i->kind == RL_ITEM_LAYOUT ? names[i->code] : rl_scheme_name(i->code);
    return m ? PyObject_GetAttrString(m, name) : NULL;
}

/* Sparse and quantized tensors: Python classes that check what their parts say. */
static PyObject *value_new_container(loader *c, const rl_item *i) {
    const char *name = i->kind == RL_ITEM_SPARSE ? "sparse" : "QuantizedTensor";
    RL_OWNED PyObject *m = PyImport_ImportModule("rushlight._files.layouts");
    RL_OWNED PyObject *make = m ? PyObject_GetAttrString(m, name) : NULL;
    RL_OWNED PyObject *parts = make ? value_new_items(c, i) : NULL;
    return parts ? PyObject_CallObject(make, parts) : NULL;
}

/* Attributes from the file: plain names only, and never one that the class itself gives a meaning to. */
static int value_set_attributes(loader *c, PyObject *o, const rl_item *state) {
    for (int64_t k = 0; state && k + 1 < state->n; k += 2) {
        const rl_item *key = state->u.items[k];
        if (key->kind != RL_ITEM_STR || (key->n >= 2 && !memcmp(key->u.text, "__", 2))) {
            loader_bad(c, "an attribute in the file has a name that is not allowed");
            return -1;
        }
        PyObject *name = loader_object(c, key),
                 *value = name ? loader_object(c, state->u.items[k + 1]) : NULL;
        if (!value) return -1;
        RL_OWNED PyObject *taken = PyObject_GetAttr((PyObject *)Py_TYPE(o), name);
        if (!taken) PyErr_Clear();
        if (taken && (Py_TYPE(taken)->tp_descr_get || Py_TYPE(taken)->tp_descr_set)) {
            loader_bad(c, "an attribute in the file would replace a method or property of its class");
            return -1;
        }
        if (PyObject_GenericSetAttr(o, name, value) < 0) return -1;
    }
    return 0;
}

static PyObject *value_new_parameter(loader *c, const rl_item *i) {
    PyObject *data = loader_object(c, i->u.items[0]);
    if (!data) return NULL;
    RL_OWNED PyObject *p = (PyObject *)rl_tensor_alias(rl_parameter_type, (rl_tensor *)data);
    if (!p || rl_tensor_set_requires_grad((rl_tensor *)p, i->code) < 0) return NULL;
    return value_set_attributes(c, p, i->state) < 0 ? NULL : rl_give(&p);
}

static PyObject *value_new_subclass(loader *c, const rl_item *i) {
    PyObject *t = loader_object(c, i->u.items[0]), *cls = t ? loader_object(c, i->u.items[1]) : NULL;
    if (!cls) return NULL;
    if (!PyType_Check(cls) || !PyType_IsSubtype((PyTypeObject *)cls, rl_tensor_type)) {
        return loader_bad(c, "the class of a tensor in the file is no subclass of Tensor");
    }
    RL_OWNED PyObject *o = (PyObject *)rl_tensor_alias((PyTypeObject *)cls, (rl_tensor *)t);
    if (!o || rl_tensor_set_requires_grad((rl_tensor *)o, ((rl_tensor *)t)->requires_grad) < 0) return NULL;
    return value_set_attributes(c, o, i->state) < 0 ? NULL : rl_give(&o);
}

/* A class or function that the caller allowed by name. */
static PyObject *value_new_user(loader *c, const rl_item *i) {
    PyObject *callee = loader_object(c, i->u.items[0]),
             *args = callee ? loader_object(c, i->u.items[1]) : NULL;
    if (!args) return NULL;
    if (i->kind == RL_ITEM_CALL) return PyObject_CallObject(callee, args);
    if (!PyType_Check(callee)) return loader_bad(c, "NEWOBJ wants a class");
    RL_OWNED PyObject *make = PyObject_GetAttrString(callee, "__new__");
    RL_OWNED PyObject *first = PyTuple_Pack(1, callee);
    RL_OWNED PyObject *all = first ? PySequence_Concat(first, args) : NULL;
    return make && all ? PyObject_CallObject(make, all) : NULL;
}

static PyObject *value_new(loader *c, const rl_item *i) {
    switch (i->kind) {
    case RL_ITEM_INT: return PyLong_FromLongLong(i->u.i);
    case RL_ITEM_LONG: return value_new_long(i);
    case RL_ITEM_FLOAT: return PyFloat_FromDouble(i->u.d);
    case RL_ITEM_COMPLEX: {
        double parts[2];
        memcpy(parts, i->u.text, sizeof parts);
        return PyComplex_FromDoubles(parts[0], parts[1]);
    }
    case RL_ITEM_STR: {
        PyObject *text = PyUnicode_DecodeUTF8(i->u.text, (Py_ssize_t)i->n, "surrogatepass");
        return text ? text : loader_bad(c, "a text in the pickle is not UTF-8");
    }
    case RL_ITEM_BYTES: return PyBytes_FromStringAndSize(i->u.text, (Py_ssize_t)i->n);
    case RL_ITEM_BYTEARRAY: return PyByteArray_FromStringAndSize(i->u.text, (Py_ssize_t)i->n);
    case RL_ITEM_TUPLE:
    case RL_ITEM_FROZENSET: return value_new_items(c, i);
    case RL_ITEM_SIZE: return value_new_size(i);
    case RL_ITEM_LIST: return PyList_New(0);
    case RL_ITEM_SET: return PySet_New(NULL);
    case RL_ITEM_DICT: return PyDict_New();
    case RL_ITEM_ORDERED: return value_new_from("collections", "OrderedDict");
    case RL_ITEM_COUNTER: return value_new_from("collections", "Counter");
    case RL_ITEM_DTYPE: return rl_dtype_object(i->code);
    case RL_ITEM_LAYOUT:
    case RL_ITEM_SCHEME: return value_new_named(i);
    case RL_ITEM_SPARSE:
    case RL_ITEM_QUANTIZED: return value_new_container(c, i);
    case RL_ITEM_DEVICE: return rl_device_new(i->code, (int)i->u.i);
    case RL_ITEM_USER: return Py_NewRef(c->user[i->code]);
    case RL_ITEM_CALL:
    case RL_ITEM_NEW: return value_new_user(c, i);
    case RL_ITEM_STORAGE: return rl_loader_storage_object(c, i->u.storage);
    case RL_ITEM_TENSOR: {
        RL_OWNED PyObject *t = rl_loader_tensor(c, i);
        if (!t || value_set_attributes(c, t, i->state) < 0) return NULL;
        return rl_give(&t);
    }
    case RL_ITEM_PARAMETER: return value_new_parameter(c, i);
    case RL_ITEM_SUBCLASS: return value_new_subclass(c, i);
    default: return loader_bad(c, "a class or function stands on its own in the file");
    }
}

static PyObject *loader_object(loader *c, const rl_item *i) {
    if (i->made) return i->made;
    if (i->kind == RL_ITEM_NONE) return Py_None;
    if (i->kind == RL_ITEM_TRUE) return Py_True;
    if (i->kind == RL_ITEM_FALSE) return Py_False;
    return loader_bad(c, "an object is used before it is complete");
}

/* ---- steps ---- */
static int step_add(loader *c, const rl_step *s) {
    PyObject *to = loader_object(c, s->item), *a, *b;
    if (!to) return -1;
    for (int64_t k = s->from; k < s->to; k++) {
        if (!(a = loader_object(c, s->item->u.items[k]))) return -1;
        int failed;
        if (s->item->kind == RL_ITEM_LIST) {
            failed = PyList_Append(to, a);
        } else if (s->item->kind == RL_ITEM_SET) {
            failed = PySet_Add(to, a);
        } else {
            if (!(b = loader_object(c, s->item->u.items[++k]))) return -1;
            failed = s->item->kind == RL_ITEM_ORDERED ? PyObject_SetItem(to, a, b) : PyDict_SetItem(to, a, b);
        }
        if (failed) return -1;
    }
    return 0;
}

/* What pickle does for an object of a class that the caller allowed. */
static int step_build_user(loader *c, PyObject *o, rl_item *state) {
    RL_OWNED PyObject *set = PyObject_GetAttrString(o, "__setstate__");
    if (set) {
        PyObject *value = loader_object(c, state);
        RL_OWNED PyObject *done = value ? PyObject_CallOneArg(set, value) : NULL;
        return done ? 0 : -1;
    }
    PyErr_Clear();
    const rl_item *parts[2] = {state, NULL};
    if (state->kind == RL_ITEM_TUPLE && state->n == 2)
        parts[0] = state->u.items[0], parts[1] = state->u.items[1];
    for (int i = 0; i < 2; i++) {
        if (!parts[i] || parts[i]->kind == RL_ITEM_NONE) continue;
        if (parts[i]->kind != RL_ITEM_DICT) return loader_bad(c, "the state of an object must be a dict"), -1;
        for (int64_t k = 0; k + 1 < parts[i]->n; k += 2) {
            const rl_item *key = parts[i]->u.items[k];
            if (key->kind != RL_ITEM_STR || (key->n >= 2 && !memcmp(key->u.text, "__", 2))) {
                return loader_bad(c, "an attribute in the file has a name that is not allowed"), -1;
            }
            PyObject *name = loader_object(c, key),
                     *value = name ? loader_object(c, parts[i]->u.items[k + 1]) : NULL;
            if (!value || PyObject_GenericSetAttr(o, name, value) < 0) return -1;
        }
    }
    return 0;
}

static int loader_step(loader *c, const rl_step *s) {
    if (!s->item->marked) return 0;
    switch (s->kind) {
    case RL_STEP_MAKE:
        if (!s->item->made) s->item->made = value_new(c, s->item);
        return s->item->made ? 0 : -1;
    case RL_STEP_ADD: return step_add(c, s);
    default: {
        PyObject *o = loader_object(c, s->item);
        if (!o) return -1;
        if (s->item->kind == RL_ITEM_ORDERED) return value_set_attributes(c, o, s->item->state);
        return step_build_user(c, o, s->item->state);
    }
    }
}

static PyObject *loader_replay(loader *c) {
    rl_reader *r = c->reader;
    r->nothing.made = PyTuple_New(0);
    if (!r->nothing.made) return NULL;
    for (int64_t i = 0; i < r->n_steps; i++) {
        if (loader_step(c, &r->steps[i]) < 0) return rl_loader_raise(c);
        if (i % 65536 == 65535 && PyErr_CheckSignals() < 0) return NULL;
    }
    return Py_XNewRef(loader_object(c, r->root));
}

/* names and objects of `allowed` into two arrays sorted by name */
static PyObject *loader_allowed(PyObject *allowed, const char ***names, PyObject ***objects) {
    RL_OWNED PyObject *keys = PyDict_Keys(allowed);
    if (!keys || PyList_Sort(keys) < 0) return NULL;
    Py_ssize_t n = PyList_GET_SIZE(keys);
    *names = PyMem_Calloc((size_t)n + 1, sizeof **names);
    *objects = PyMem_Calloc((size_t)n + 1, sizeof **objects);
    if (!*names || !*objects) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n; i++) {
        (*names)[i] = PyUnicode_AsUTF8(PyList_GET_ITEM(keys, i));
        (*objects)[i] = PyDict_GetItemWithError(allowed, PyList_GET_ITEM(keys, i));
        if (!(*names)[i] || !(*objects)[i]) return NULL;
    }
    return rl_give(&keys);
}

/* what `mapped` says: by the size, or not at all, or the file itself, or a copy of it */
enum { MAP_DEFAULT = -1, MAP_NOT, MAP_FILE, MAP_COPY };

static PyObject *loader_run(loader *c, rl_status (*read)(rl_reader *), int mapped) {
    rl_reader *r = c->reader;
    rl_status status;
    Py_BEGIN_ALLOW_THREADS status = read(r);
    if (!status) status = rl_reader_mark(r);
    Py_END_ALLOW_THREADS if (status) return rl_loader_raise(c);
    if (mapped) {
        if (r->legacy) {
            rl_reader_fail(
                r, RL_READER_RUNTIME,
                "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization="
                "True), please torch.save your checkpoint with this option in order to use mmap.");
            return rl_loader_raise(c);
        }
        if (rl_loader_map(c, mapped == MAP_COPY) < 0) return NULL;
    }
    RL_OWNED PyObject *root = loader_replay(c);
    return root ? Py_BuildValue("(OL)", root, (long long)r->end) : NULL;
}

PyDoc_STRVAR(load_doc, "_load(source, start, size, file, headline, mapped, allowed, place, hook)\n\n"
                       "Reads a checkpoint from a file descriptor or from bytes; answers (object, end).");

static PyObject *loader_load(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *source, *allowed;
    long long start, size;
    int mapped;
    loader c = {0};
    if (!PyArg_ParseTuple(args, "OLLssiO!OO:_load", &source, &start, &size, &c.file, &c.headline, &mapped,
                          &PyDict_Type, &allowed, &c.place, &c.hook))
        return NULL;
    if (c.place == Py_None) c.place = NULL;
    if (c.hook == Py_None) c.hook = NULL;
    if (mapped && !PyLong_Check(source))
        return PyErr_Format(PyExc_ValueError, "f must be a file path in order to use the mmap argument");
    const char **names = NULL;
    RL_OWNED PyObject *keys = loader_allowed(allowed, &names, &c.user);
    PyObject *result = NULL;
    if (keys && rl_loader_open(&c, source, start, size) == 0) {
        c.reader->allowed = names, c.reader->n_allowed = PyList_GET_SIZE(keys);
        result = loader_run(&c, rl_reader_read, mapped);
        rl_loader_close(&c);
    }
    PyMem_Free(names);
    PyMem_Free(c.user);
    return result;
}

PyDoc_STRVAR(
    safetensors_doc,
    "_load_safetensors(source, start, size, file, mapped, refusal)\n\n"
    "Reads a file of the safetensors package; answers (tensors by name, metadata or None). Mapped: 1, 0, "
    "or -1 for files of 64 MB and more.");

/* Nobody can take away the bytes of what is read, and smaller files are read in some milliseconds. */
enum { MAP_FROM = 64 << 20 };

static PyObject *loader_safetensors(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *source;
    long long start, size;
    int mapped;
    loader c = {.headline = ""};
    if (!PyArg_ParseTuple(args, "OLLsiO:_load_safetensors", &source, &start, &size, &c.file, &mapped,
                          &c.refusal))
        return NULL;
    if (rl_loader_open(&c, source, start, size) < 0) return NULL;
    if (mapped == MAP_DEFAULT) mapped = c.reader->size >= MAP_FROM ? MAP_FILE : MAP_NOT;
    if (mapped && PyLong_Check(source) && rl_loader_map(&c, mapped == MAP_COPY) < 0)
        PyErr_Clear(); /* it is read, then */
    RL_OWNED PyObject *loaded = loader_run(&c, rl_safetensors_read, MAP_NOT);
    PyObject *metadata = loaded && c.reader->metadata ? loader_object(&c, c.reader->metadata) : Py_None;
    PyObject *result = loaded && metadata ? PyTuple_Pack(2, PyTuple_GET_ITEM(loaded, 0), metadata) : NULL;
    rl_loader_close(&c);
    return result;
}

PyMethodDef rl_loader_methods[] = {
    {"_load", loader_load, METH_VARARGS, load_doc},
    {"_load_safetensors", loader_safetensors, METH_VARARGS, safetensors_doc},
    {NULL, NULL, 0, NULL},
};
