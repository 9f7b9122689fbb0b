/* Calls of Python functions on the thread that profiles, as the interpreter tells of them. */
#include "session.h"
#include <frameobject.h>
#include <string.h>

static rl_mark innermost; /* the call that is running */
static PyObject *names;   /* {address of a code: its name in a capsule, which keeps the code} */
static uint64_t of_session;
static int64_t lost; /* calls within it that got no event */

static void enter(const char *name, bool borrowed) {
    const rl_event_begin what = {.kind = RL_EVENT_PYTHON, .name = name, .borrowed = borrowed, .sequence = -1};
    rl_mark mark = rl_profile_begin(&what);
    if (lost || !mark.event) {
        lost++;
        return;
    }
    mark.event->outer = innermost.event;
    innermost = mark;
}

static void leave(void) {
    rl_event *e = innermost.event;
    if (lost) {
        lost--;
        return;
    }
    if (!e) return;
    rl_profile_end(innermost);
    innermost.event = e->outer;
}

/* "file(line): function" in the session's text; NULL where there is no memory, with nothing raised */
static const char *name_at(PyCodeObject *code, int line) {
    RL_OWNED PyObject *text = PyUnicode_FromFormat("%U(%d): %U", code->co_filename, line, code->co_name);
    Py_ssize_t n;
    const char *bytes = text ? PyUnicode_AsUTF8AndSize(text, &n) : NULL;
    char *room = bytes ? rl_text_room((size_t)n + 1) : NULL;
    if (!bytes) PyErr_Clear();
    return room ? memcpy(room, bytes, (size_t)n + 1) : NULL;
}

static void forget_code(PyObject *capsule) {
    Py_XDECREF((PyObject *)PyCapsule_GetContext(capsule));
}

/* By address: the hash of a code is that of its constants, which may run Python and end the session. */
static const char *name_of(PyCodeObject *code) {
    RL_OWNED PyObject *key = PyLong_FromVoidPtr(code);
    PyObject *kept = key ? PyDict_GetItemWithError(names, key) : NULL;
    if (kept) return PyCapsule_GetPointer(kept, NULL);
    const char *name = name_at(code, code->co_firstlineno);
    RL_OWNED PyObject *fresh = name ? PyCapsule_New((void *)name, NULL, forget_code) : NULL;
    if (fresh && PyCapsule_SetContext(fresh, code) == 0) Py_INCREF(code);
    if (!key || !fresh || PyDict_SetItem(names, key, fresh) < 0) PyErr_Clear();
    return name;
}

static void enter_builtin(PyObject *function) {
    RL_OWNED PyObject *text = PyObject_Repr(function);
    const char *name = text ? PyUnicode_AsUTF8(text) : NULL;
    if (!name) PyErr_Clear();
    enter(name ? name : "<built-in>", true);
}

static int on_call(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    PyObject *type, *error, *trace;
    (void)self;
    if (!names || rl_profiling.id != of_session || rl_tls.profile != of_session)
        return 0;                       /* of an older session */
    PyErr_Fetch(&type, &error, &trace); /* what left the function */
    if (what == PyTrace_CALL) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        const char *name = name_of(code);
        Py_DECREF(code);
        enter(name ? name : "<function>", false);
    } else if (what == PyTrace_C_CALL)
        enter_builtin(arg);
    else if (what == PyTrace_RETURN || what == PyTrace_C_RETURN || what == PyTrace_C_EXCEPTION)
        leave();
    PyErr_Restore(type, error, trace);
    return 0;
}

static bool runs(PyFrameObject *frame, PyObject *code) {
    RL_OWNED PyObject *own = (PyObject *)PyFrame_GetCode(frame);
    return own == code;
}

/* those that run already, up to the call of a code, the outermost first */
static int enter_running(PyFrameObject *frame_steal, PyObject *within) {
    PyFrameObject **all = NULL; /* there may be more of them than a C stack has room for calls */
    size_t n = 0, room = 0;
    for (PyFrameObject *f = frame_steal; f; f = PyFrame_GetBack(f)) {
        if (runs(f, within)) {
            Py_DECREF(f);
            break;
        }
        if (n == room) {
            PyFrameObject **more = PyMem_Realloc(all, (room = room * 2 + 64) * sizeof *all);
            if (!more) {
                Py_DECREF(f);
                while (n) Py_DECREF(all[--n]);
                PyMem_Free(all);
                PyErr_NoMemory();
                return -1;
            }
            all = more;
        }
        all[n++] = f;
    }
    while (n) {
        PyFrameObject *f = all[--n];
        PyCodeObject *code = PyFrame_GetCode(f);
        const char *name = name_at(code, PyFrame_GetLineNumber(f));
        Py_DECREF(code);
        Py_DECREF(f);
        enter(name ? name : "<function>", false);
    }
    PyMem_Free(all);
    return 0;
}

int rl_python_calls_start(PyObject *within) {
    Py_XSETREF(names, PyDict_New());
    if (!names) return -1;
    innermost = (rl_mark){0};
    lost = 0;
    of_session = rl_profiling.id;
    if (enter_running(PyThreadState_GetFrame(PyThreadState_Get()), within) < 0) return -1;
    PyEval_SetProfile(on_call, NULL);
    return 0;
}

void rl_python_calls_stop(void) {
    PyObject *was = names;
    if (!was) return;
    names = NULL; /* what follows may run Python */
    PyEval_SetProfile(NULL, NULL);
    Py_DECREF(was);
}
