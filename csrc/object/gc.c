/* Points at which the collector runs, for tests: Note [Python in between]. */
#include "tensor.h"
#include <assert.h>
#include <stdlib.h>

#if RL_CHECKED
static _Thread_local int raw_depth;
static _Thread_local bool inside;
static bool every;        /* RUSHLIGHT_GC_EVERY: the youngest generation is collected at each point */
static PyObject *hostile; /* _gc_every(f): f() runs at each point, too */
static PyObject *collect, *youngest;

int rl_raw_begin(void) {
    return ++raw_depth;
}
void rl_raw_end(int *open) {
    (void)open;
    --raw_depth;
}

/* Whatever is raised here is nobody's: as in a finalizer, it is reported and forgotten. */
static void point_run(void) {
    RL_OWNED PyObject *function = Py_XNewRef(hostile);
    RL_OWNED PyObject *collected = PyObject_CallOneArg(collect, youngest);
    if (!collected) PyErr_WriteUnraisable(collect);
    RL_OWNED PyObject *done = function ? PyObject_CallNoArgs(function) : NULL;
    if (function && !done) PyErr_WriteUnraisable(function);
}

void rl_gc_point(void) {
    assert(!raw_depth); /* a pointer into a tensor would live on */
    if (inside || !(every || hostile)) return;
    inside = true;
#if PY_VERSION_HEX >= 0x030c0000
    PyObject *raised = PyErr_GetRaisedException();
    point_run();
    PyErr_SetRaisedException(raised);
#else
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    point_run();
    PyErr_Restore(type, value, trace);
#endif
    inside = false;
}

static PyObject *gc_every(PyObject *m, PyObject *function) {
    (void)m;
    PyObject *before = hostile;
    hostile = function == Py_None ? NULL : Py_NewRef(function);
    Py_XDECREF(before);
    return PyBool_FromLong(every);
}
static PyMethodDef functions[] = {
    {"_gc_every", gc_every, METH_O,
     "_gc_every(function)\n--\n\nfunction() runs wherever the C code makes a Python object; None: no more. "
     "Answers whether RUSHLIGHT_GC_EVERY=1."},
    {NULL, NULL, 0, NULL}};

int rl_gc_init(PyObject *m) {
    const char *wanted = getenv("RUSHLIGHT_GC_EVERY");
    RL_OWNED PyObject *gc = PyImport_ImportModule("gc");
    RL_OWNED PyObject *frozen = gc ? PyObject_CallMethod(gc, "freeze", NULL) : NULL;
    if (!frozen || !(collect = PyObject_GetAttrString(gc, "collect")) || !(youngest = PyLong_FromLong(0)))
        return -1;
    every = wanted && *wanted == '1';
    return PyModule_AddFunctions(m, functions);
}
#else
int rl_gc_init(PyObject *m) {
    (void)m;
    return 0;
}
#endif
