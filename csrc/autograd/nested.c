/* A hook may run backward, whose hooks may run backward ... However deep that goes, the stack must last: each
 * MOST_NESTED runs the next one gets a thread of its own, for which this one waits. */
#include "autograd.h"
#include <pthread.h>

enum { MOST_NESTED = 48 };
static _Thread_local int nested;

/* what a thread needs to go on as the one that waits */
typedef struct {
    rl_backward *run;
    PyInterpreterState *interpreter;
    PyObject *saved_hooks, *type, *error, *trace; /* the last three: how it failed */
    rl_node *running;
    uint64_t sequence, profile;
    int grad, inference, device, failed;
    rl_autocast autocast;
} deep_run;

static void deep_modes(const deep_run *d) {
    rl_here.grad = d->grad;
    rl_here.inference = d->inference;
    rl_here.device = d->device;
    rl_here.profile = d->profile;
    rl_autocast_become(&d->autocast);
    rl_saved_hooks = Py_XNewRef(d->saved_hooks); /* setting others hands this one out */
    rl_node_running = d->running;
    rl_node_sequence = d->sequence;
}

static void *deep_main(void *of) {
    deep_run *d = of;
    PyThreadState *thread = PyThreadState_New(d->interpreter);
    if (!thread) return NULL;
    PyEval_AcquireThread(thread);
    deep_modes(d);
    d->failed = rl_backward_run(d->run);
    d->sequence = rl_node_sequence;
    d->autocast = rl_here.autocast;
    rl_autocast_become(&(rl_autocast){0});
    PyErr_Fetch(&d->type, &d->error, &d->trace);
    Py_CLEAR(rl_saved_hooks);
    PyThreadState_Clear(thread);
    PyThreadState_DeleteCurrent();
    return NULL;
}

static int run_deep(rl_backward *run) {
    enum { NO_THREAD = 1 };
    deep_run d = {.run = run,
                  .interpreter = PyInterpreterState_Get(),
                  .saved_hooks = rl_saved_hooks,
                  .running = rl_node_running,
                  .sequence = rl_node_sequence,
                  .grad = rl_here.grad,
                  .inference = rl_here.inference,
                  .device = rl_here.device,
                  .profile = rl_here.profile,
                  .autocast = rl_here.autocast,
                  .failed = NO_THREAD};
    pthread_t id;
    PyThreadState *thread = PyEval_SaveThread();
    if (pthread_create(&id, NULL, deep_main, &d) == 0) pthread_join(id, NULL);
    PyEval_RestoreThread(thread);
    rl_node_sequence = d.sequence;
    rl_autocast_become(&d.autocast);
    if (d.failed == NO_THREAD) {
        PyErr_SetString(PyExc_RecursionError, "backward is nested too deeply: no thread could be started");
        return -1;
    }
    if (d.failed) PyErr_Restore(d.type, d.error, d.trace);
    return d.failed;
}

int rl_backward_run(rl_backward *run) {
    if (RL_UNLIKELY(nested == MOST_NESTED)) return run_deep(run);
    nested++;
    int failed = rl_backward_run_here(run);
    nested--;
    return failed;
}
