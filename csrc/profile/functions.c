/* rushlight._C's functions for profilers: what rushlight.autograd.profiler stands on. */
#include "session.h"
#include <string.h>

static const char mark_name[] = "rushlight.record";

/* ---- blocks that the user names ---- */
static PyObject *enter(PyObject *m, PyObject *args) {
    const char *name;
    int module = 0;
    (void)m;
    if (!PyArg_ParseTuple(args, "s|p:_record_enter", &name, &module)) return NULL;
    if (!rl_profile_here()) Py_RETURN_NONE;
    const rl_event_begin what = {
        .kind = module ? RL_EVENT_MODULE : RL_EVENT_USER, .name = name, .borrowed = true, .sequence = -1};
    const rl_mark mark = rl_profile_begin(&what);
    if (!mark.event) Py_RETURN_NONE;
    RL_OWNED PyObject *capsule = PyCapsule_New(mark.event, mark_name, NULL);
    if (!capsule || PyCapsule_SetContext(capsule, (void *)(uintptr_t)mark.session) < 0) return NULL;
    return rl_move(&capsule);
}

static PyObject *leave(PyObject *m, PyObject *capsule) {
    (void)m;
    if (capsule == Py_None) Py_RETURN_NONE;
    rl_event *event = PyCapsule_GetPointer(capsule, mark_name);
    if (!event) return NULL;
    rl_profile_end((rl_mark){event, (uint64_t)(uintptr_t)PyCapsule_GetContext(capsule)});
    Py_RETURN_NONE;
}

/* ---- on and off ---- */
static PyObject *start(PyObject *m, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"inputs", "memory", "python", "all_threads", "within", NULL};
    int inputs = 0, memory = 0, python = 0, all_threads = 0;
    PyObject *within = Py_None;
    (void)m;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$ppppO:_profile_start", names, &inputs, &memory, &python,
                                     &all_threads, &within))
        return NULL;
    while (rl_profiling.id) {
        rl_recording lost = rl_session_stop();
        rl_python_calls_stop(); /* runs Python: audit hooks, what sys.setprofile() was given */
        rl_recording_free(&lost);
    }
    const rl_profile_options wants = {inputs, memory, all_threads, python};
    rl_session_start(&wants);
    if (python && rl_python_calls_start(within) < 0) {
        rl_recording none = rl_session_stop();
        rl_python_calls_stop();
        rl_recording_free(&none);
        return NULL;
    }
    return PyLong_FromUnsignedLongLong(rl_profiling.id);
}

/* "_" behind the name of what writes in place, unless it is there */
static const char *last_of(const rl_event *e) {
    const size_t n = strlen(e->name);
    return e->kind == RL_EVENT_INPLACE && !(n && e->name[n - 1] == '_') ? "_" : "";
}

static PyObject *event_tuple(const rl_event *e) {
    static const char *const front[RL_EVENT_KINDS] = {
        "aten::", "aten::", "autograd::engine::evaluate_function: ", "", "", "", "", "", ""};
    RL_OWNED PyObject *inputs = rl_inputs_list(e->inputs, e->n_inputs);
    RL_OWNED PyObject *name =
        inputs ? PyUnicode_FromFormat("%s%s%s%s", front[e->kind], e->prefix, e->name, last_of(e)) : NULL;
    return name ? Py_BuildValue("(iOLLIILLLOOO)", (int)e->kind, name, (long long)e->start, (long long)e->end,
                                e->thread, e->system_thread, (long long)e->sequence, (long long)e->before,
                                (long long)e->after, inputs, e->elsewhere ? Py_True : Py_False,
                                e->unfinished ? Py_True : Py_False)
                : NULL;
}

static PyObject *events_list(const rl_recording *r) {
    RL_OWNED PyObject *list = PyList_New(r->n);
    Py_ssize_t at = 0;
    if (list) PyObject_GC_UnTrack(list); /* nobody may see its NULLs */
    for (const rl_chunk *c = list ? r->first : NULL; c; c = c->next)
        for (int i = 0; i < c->n; i++) {
            PyObject *event = event_tuple(&c->at[i]);
            if (!event) return NULL;
            PyList_SET_ITEM(list, at++, event);
        }
    if (list) PyObject_GC_Track(list);
    return rl_move(&list);
}

static PyObject *stop(PyObject *m, PyObject *id) {
    (void)m;
    const unsigned long long session = PyLong_AsUnsignedLongLong(id);
    if (PyErr_Occurred()) return NULL;
    if (!rl_profiling.id || rl_profiling.id != session) Py_RETURN_NONE;
    const bool python = rl_profiling.wants.python;
    rl_recording done = rl_session_stop();
    if (python) rl_python_calls_stop(); /* runs Python, which may come here again */
    RL_OWNED PyObject *events = events_list(&done);
    PyObject *result = events ? Py_BuildValue("(OLLL)", events, (long long)done.start, (long long)done.stop,
                                              (long long)done.dropped)
                              : NULL;
    rl_recording_free(&done);
    return result;
}

static PyObject *is_on(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return PyBool_FromLong(rl_profile_here());
}

static PyMethodDef functions[] = {
    {"_record_enter", enter, METH_VARARGS,
     "_record_enter(name, module=False)\n--\n\nBegins an event where this thread is profiled; a handle, or "
     "None."},
    {"_record_exit", leave, METH_O, "_record_exit(handle)\n--\n\nEnds it, unless the profiler went before."},
    {"_profile_start", (PyCFunction)(void (*)(void))start, METH_VARARGS | METH_KEYWORDS,
     "_profile_start(*, inputs=False, memory=False, python=False, all_threads=False, within=None)\n--\n\n"
     "Records this thread from now on, in place of whatever was recorded; the number of the session. Of the "
     "Python functions that run already those that the one whose code is `within` has called."},
    {"_profile_stop", stop, METH_O,
     "_profile_stop(session)\n--\n\nThe events of a session, when it began and ended, and how many events "
     "got "
     "no memory; None where another session took its place."},
    {"_profile_is_on", is_on, METH_NOARGS, "_profile_is_on()\n--\n\nIs this thread profiled?"},
    {NULL, NULL, 0, NULL}};

int rl_profile_init(PyObject *m) {
    return PyModule_AddFunctions(m, functions);
}
