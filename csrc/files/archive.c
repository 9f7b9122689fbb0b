/* A checkpoint opened record by record, for the pickles that Python itself reads (weights_only=False). */
#include "internal.h"
#include "object/storage.h"

typedef struct {
    PyObject_HEAD loader c;
    PyObject *held; /* what c borrows: the file's name and the arguments */
} archive_object;
#define A(o) ((archive_object *)(o))

static void archive_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    if (A(self)->c.reader) rl_loader_close(&A(self)->c);
    Py_XDECREF(A(self)->held);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *archive_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *source;
    long long start, size;
    int mapped;
    if (kwargs && PyDict_GET_SIZE(kwargs)) return PyErr_Format(PyExc_TypeError, "_Archive takes no keywords");
    RL_OWNED PyObject *self = type->tp_alloc(type, 0);
    if (!self) return NULL;
    loader *c = &A(self)->c;
    if (!PyArg_ParseTuple(args, "OLLspOO:_Archive", &source, &start, &size, &c->file, &mapped, &c->place,
                          &c->hook))
        return NULL;
    A(self)->held = Py_NewRef(args);
    c->headline = "";
    if (c->place == Py_None) c->place = NULL;
    if (c->hook == Py_None) c->hook = NULL;
    if (rl_loader_open(c, source, start, size) < 0) return NULL;
    rl_status status;
    Py_BEGIN_ALLOW_THREADS status = rl_zip_begin(c->reader);
    Py_END_ALLOW_THREADS if (status) return rl_loader_raise(c);
    if (mapped && rl_loader_map(c, false) < 0) return NULL;
    return rl_move(&self);
}

static PyObject *archive_record(PyObject *self, PyObject *arg) {
    loader *c = &A(self)->c;
    const char *name = PyUnicode_AsUTF8(arg);
    if (!name) return NULL;
    int64_t n;
    char *bytes = rl_zip_whole(c->reader, name, INT64_MAX, &n);
    if (bytes) return PyBytes_FromStringAndSize(bytes, (Py_ssize_t)n);
    if (n < 0)
        rl_reader_fail(c->reader, RL_READER_RUNTIME,
                       "PytorchStreamReader failed locating file %s: file not found", name);
    return rl_loader_raise(c);
}

static PyObject *archive_has(PyObject *self, PyObject *arg) {
    loader *c = &A(self)->c;
    Py_ssize_t length;
    const char *name = PyUnicode_AsUTF8AndSize(arg, &length);
    rl_record record;
    if (!name) return NULL;
    int found = rl_zip_find(c->reader, (rl_text){name, length}, &record);
    return found < 0 ? rl_loader_raise(c) : PyBool_FromLong(found);
}

/* The persistent id goes through the same checks as in a file that is not trusted. */
static PyObject *archive_storage(PyObject *self, PyObject *args) {
    loader *c = &A(self)->c;
    const char *name;
    PyObject *key, *location;
    long long numel;
    if (!PyArg_ParseTuple(args, "sUUL:storage", &name, &key, &location, &numel)) return NULL;
    Py_ssize_t n_key, n_location = 0;
    const char *key_at = PyUnicode_AsUTF8AndSize(key, &n_key);
    const char *location_at = key_at ? PyUnicode_AsUTF8AndSize(location, &n_location) : NULL;
    if (!location_at) return NULL;
    rl_stored *stored =
        rl_stored_named(c->reader, name, (rl_text){key_at, n_key}, (rl_text){location_at, n_location}, numel);
    if (!stored) return rl_loader_raise(c);
    rl_storage *made = rl_loader_storage(c, stored);
    return made ? rl_untyped_storage_new(made) : NULL;
}

static PyMethodDef archive_methods[] = {
    {"record", archive_record, METH_O,
     PyDoc_STR("record($self, name, /)\n--\n\nThe bytes of a record, checked.")},
    {"has", archive_has, METH_O, PyDoc_STR("has($self, name, /)\n--\n\nWhether there is such a record.")},
    {"storage", archive_storage, METH_VARARGS,
     PyDoc_STR("storage($self, class_name, key, location, numel, /)\n--\n\nThe bytes of a storage, placed.")},
    {NULL, NULL, 0, NULL}};
static PyType_Slot archive_slots[] = {
    {Py_tp_new, archive_new},
    {Py_tp_dealloc, archive_dealloc},
    {Py_tp_methods, archive_methods},
    {Py_tp_doc,
     "_Archive(source, start, size, file, mapped, place, hook)\n--\n\nThe records of a zip checkpoint."},
    {0, NULL}};
static PyType_Spec archive_spec = {"rushlight._C._Archive", sizeof(archive_object), 0, Py_TPFLAGS_DEFAULT,
                                   archive_slots};

/* ---- what a file asks for ---- */
static PyObject *archive_asked(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *source;
    long long start, size;
    loader c = {.headline = ""};
    if (!PyArg_ParseTuple(args, "OLLs:_names_asked", &source, &start, &size, &c.file)) return NULL;
    if (rl_loader_open(&c, source, start, size) < 0) return NULL;
    rl_reader *r = c.reader;
    rl_status status;
    r->survey = true;
    Py_BEGIN_ALLOW_THREADS status = rl_reader_read(r);
    Py_END_ALLOW_THREADS RL_OWNED PyObject *names = status ? rl_loader_raise(&c) : PyList_New(0);
    for (int64_t i = 0; names && i < r->n_asked; i++) {
        RL_OWNED PyObject *name = PyUnicode_FromString(r->asked[i]);
        if (!name || PyList_Append(names, name) < 0) Py_CLEAR(names);
    }
    rl_loader_close(&c);
    return rl_move(&names);
}

/* The object of a tar is pickled apart from its tensors, which need no trust. */
static PyObject *archive_tar(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *source;
    long long start, size;
    loader c = {.headline = ""};
    if (!PyArg_ParseTuple(args, "OLLsOO:_tar_parts", &source, &start, &size, &c.file, &c.place, &c.hook))
        return NULL;
    if (c.place == Py_None) c.place = NULL;
    if (c.hook == Py_None) c.hook = NULL;
    if (rl_loader_open(&c, source, start, size) < 0) return NULL;
    rl_input in = {0};
    rl_status status;
    c.reader->legacy = true;
    Py_BEGIN_ALLOW_THREADS status = rl_reader_begin(c.reader);
    if (!status) status = rl_tar_begin(c.reader, &in);
    Py_END_ALLOW_THREADS RL_OWNED PyObject *tensors = status ? rl_loader_raise(&c) : PyDict_New();
    int64_t key = 0, n = in.end - in.at;
    const rl_item *item;
    for (int64_t i = 0; tensors && (item = rl_tar_next(c.reader, i, &key)); i++) {
        RL_OWNED PyObject *name = PyLong_FromLongLong(key), *t = rl_loader_tensor(&c, item);
        if (!name || !t || PyDict_SetItem(tensors, name, t) < 0) Py_CLEAR(tensors);
    }
    const uint8_t *bytes = tensors ? rl_input_take(&in, n) : NULL;
    PyObject *answer = bytes     ? Py_BuildValue("(Oy#)", tensors, bytes, (Py_ssize_t)n)
                       : tensors ? rl_loader_raise(&c)
                                 : NULL;
    rl_input_close(&in);
    rl_loader_close(&c);
    return answer;
}

static PyMethodDef archive_functions[] = {
    {"_names_asked", archive_asked, METH_VARARGS,
     PyDoc_STR("_names_asked(source, start, size, file)\n--\n\n"
               "The classes and functions that a file names and that are not allowed by themselves.")},
    {"_tar_parts", archive_tar, METH_VARARGS,
     PyDoc_STR("_tar_parts(source, start, size, file, place, hook)\n--\n\n"
               "The tensors of a tar checkpoint by their keys, and the pickle that names them.")},
    {NULL, NULL, 0, NULL}};

int rl_archive_init(PyObject *m) {
    RL_OWNED PyObject *type = PyType_FromSpec(&archive_spec);
    if (!type || PyModule_AddType(m, (PyTypeObject *)type) < 0) return -1;
    return PyModule_AddFunctions(m, archive_functions);
}
