/* The engine: runs the nodes that lead from the roots to the leaves, each when all that it waits for is
 * there.
 *
 *   states[i]: node │ waiting │ gradients so far ...      table: node ─► i (open addressing)
 *   ready:     a heap of states, the highest sequence number first
 *
 * Everything that a run counts lies in its task, nothing in the nodes: runs may nest, and threads may run
 * backward through graphs that share nodes. */
#include "autograd.h"
#include "object/interceptors.h"
#include <string.h>
#include <pthread.h>

/* ---- nodes as a profiler records them ----
 * The node with its hooks and what it hands on, and in it the formula alone. */
static rl_mark profiled_begin(const rl_node *node, rl_event_kind kind, PyObject *const *grads) {
    rl_value inputs[RL_MAX_OUT];
    if (!rl_profile_here()) return (rl_mark){0};
    const int n = grads && node->n_out <= RL_MAX_OUT ? node->n_out : 0;
    for (int i = 0; i < n; i++)
        inputs[i] = grads[i] ? (rl_value){.tag = RL_TENSOR, .u.t = &((rl_tensor *)grads[i])->v}
                             : (rl_value){.tag = RL_NONE};
    const rl_event_begin what = {.kind = kind,
                                 .prefix = rl_node_prefix(node),
                                 .name = rl_node_name(node),
                                 .borrowed = !node->name,
                                 .sequence = (int64_t)node->sequence,
                                 .inputs = inputs,
                                 .n_inputs = n};
    return rl_profile_begin(&what);
}

rl_mark rl_profiled_function(PyObject *cls) {
    if (!rl_profile_here()) return (rl_mark){0};
    const rl_event_begin what = {.kind = RL_EVENT_FUNCTION,
                                 .name = ((PyTypeObject *)cls)->tp_name,
                                 .borrowed = true,
                                 .sequence = rl_tls.grad ? (int64_t)rl_node_sequence : -1};
    return rl_profile_begin(&what);
}

static int profiled_apply(rl_node *node, PyObject **grads, PyObject **results) {
    const rl_mark mark = profiled_begin(node, RL_EVENT_NODE, grads);
    const int failed = node->kind->apply(node, grads, results);
    rl_profile_end(mark);
    return failed;
}

/* ---- the engine ---- */
typedef struct {
    rl_node *node;
    PyObject *grad, **grads; /* owned; `grads` when the node has several results */
    int32_t waiting;
    bool needed, runs; /* leads to a target or is one; is applied (always, without targets) */
} state;

enum { SMALL = 24, SMALL_TABLE = 64 };
typedef struct {
    rl_backward *run;
    state *states;
    int32_t *table, *ready;
    int n, room, mask, n_ready;
    state small_states[SMALL];
    int32_t small_table[SMALL_TABLE], small_ready[SMALL];
    int64_t id; /* what hooks know the run by */
} task;

static _Thread_local task *running; /* the innermost run of this thread */

/* ---- the table of states ---- */
static size_t hash_of(const rl_node *node) {
    return (size_t)(((uintptr_t)node >> 4) * 0x9E3779B97F4A7C15ull >> 20);
}

static void task_begin(task *t, rl_backward *run) {
    t->run = run;
    t->states = t->small_states;
    t->table = t->small_table;
    t->ready = t->small_ready;
    t->n = t->n_ready = 0;
    t->room = SMALL;
    t->mask = SMALL_TABLE - 1;
    memset(t->small_table, 0xff, sizeof t->small_table);
}

static void state_drop(state *s) {
    Py_CLEAR(s->grad);
    for (int i = 0; s->grads && i < s->node->n_out; i++) Py_XDECREF(s->grads[i]);
    PyMem_Free(s->grads);
    s->grads = NULL;
}

static void task_end(task *t) {
    for (int i = 0; i < t->n; i++) state_drop(&t->states[i]);
    if (t->states == t->small_states) return;
    PyMem_Free(t->states);
    PyMem_Free(t->table);
    PyMem_Free(t->ready);
}

static void table_put(task *t, int i) {
    size_t at = hash_of(t->states[i].node) & (size_t)t->mask;
    while (t->table[at] >= 0) at = (at + 1) & (size_t)t->mask;
    t->table[at] = i;
}

static int task_grow(task *t) {
    bool fits = t->room < INT32_MAX / 16;
    int room = fits ? t->room * 4 : 0, size = 1;
    while (size < room * 2) size *= 2;
    state *states = fits ? PyMem_Malloc((size_t)room * sizeof *states) : NULL;
    int32_t *table = PyMem_Malloc((size_t)size * sizeof *table),
            *ready = PyMem_Malloc((size_t)room * sizeof *ready);
    if (!states || !table || !ready) {
        PyMem_Free(states);
        PyMem_Free(table);
        PyMem_Free(ready);
        PyErr_NoMemory();
        return -1;
    }
    memcpy(states, t->states, (size_t)t->n * sizeof *states);
    memcpy(ready, t->ready, (size_t)t->n_ready * sizeof *ready);
    if (t->states != t->small_states) {
        PyMem_Free(t->states);
        PyMem_Free(t->table);
        PyMem_Free(t->ready);
    }
    t->states = states;
    t->ready = ready;
    t->room = room;
    t->table = memset(table, 0xff, (size_t)size * sizeof *table);
    t->mask = size - 1;
    for (int i = 0; i < t->n; i++) table_put(t, i);
    return 0;
}

static int state_find(const task *t, const rl_node *node) {
    size_t at = hash_of(node) & (size_t)t->mask;
    for (; t->table[at] >= 0; at = (at + 1) & (size_t)t->mask)
        if (t->states[t->table[at]].node == node) return t->table[at];
    return -1;
}

/* its index; *fresh when it was not there; -1: no memory */
static int state_of(task *t, rl_node *node, bool *fresh) {
    int i = state_find(t, node);
    *fresh = i < 0;
    if (i >= 0) return i;
    if (t->n == t->room && task_grow(t) < 0) return -1;
    t->states[t->n] = (state){.node = node, .runs = true};
    if (node->n_out > 1 && !(t->states[t->n].grads = PyMem_Calloc((size_t)node->n_out, sizeof(PyObject *)))) {
        PyErr_NoMemory();
        return -1;
    }
    table_put(t, t->n);
    return t->n++;
}

static PyObject **state_grads(state *s) {
    return s->grads ? s->grads : &s->grad;
}

/* ---- what waits for what ---- */
/* All that the roots reach, each with the number of edges that lead to it. States are found in an order in
 * which `t->ready` can serve as the stack of those still to look at. */
static int task_count(task *t) {
    bool fresh;
    int n_stack = 0;
    for (int i = 0; i < t->run->n_roots; i++) {
        int at = state_of(t, t->run->roots[i].to, &fresh);
        if (at < 0) return -1;
        t->states[at].waiting++;
        if (fresh) t->ready[n_stack++] = at;
        t->n_ready = n_stack; /* so that growing keeps the stack */
    }
    while (n_stack) {
        rl_node *node = t->states[t->ready[--n_stack]].node;
        for (int e = 0; e < node->n_edge; e++) {
            if (!node->edge[e].to) continue;
            t->n_ready = n_stack;
            int at = state_of(t, node->edge[e].to, &fresh);
            if (at < 0) return -1;
            t->states[at].waiting++;
            if (fresh) t->ready[n_stack++] = at;
        }
    }
    t->n_ready = 0;
    return 0;
}

/* With targets only what leads to one is run. `order` lists states so that a node stands before its inputs.
 */
static int task_mark(task *t) {
    rl_backward *run = t->run;
    int32_t *order = PyMem_Malloc(2 * (size_t)t->n * sizeof *order), *waits = order + t->n;
    int n = 0;
    if (!order) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < t->n; i++) waits[i] = t->states[i].waiting;
    for (int i = 0; i < run->n_roots; i++) {
        int at = state_find(t, run->roots[i].to);
        if (--waits[at] == 0) order[n++] = at;
    }
    for (int i = 0; i < n; i++) {
        rl_node *node = t->states[order[i]].node;
        for (int e = 0; e < node->n_edge; e++) {
            if (!node->edge[e].to) continue;
            int at = state_find(t, node->edge[e].to);
            if (--waits[at] == 0) order[n++] = at;
        }
    }
    for (int i = 0; i < t->n; i++) t->states[i].runs = false;
    for (int i = 0; i < run->n_targets; i++) {
        int at = run->targets[i].to ? state_find(t, run->targets[i].to) : -1;
        if (at < 0) continue;
        t->states[at].needed = true;
        t->states[at].runs = run->accumulate;
    }
    while (n--) {
        state *s = &t->states[order[n]];
        for (int e = 0; e < s->node->n_edge && !s->runs; e++)
            s->runs = s->node->edge[e].to && t->states[state_find(t, s->node->edge[e].to)].needed;
        s->needed |= s->runs;
    }
    PyMem_Free(order);
    return 0;
}

/* ---- the ready: a binary heap that breaks ties as PyTorch's priority queue does, since hooks show it ----
 */
static bool before(const task *t, int a, int b) {
    return t->states[a].node->sequence < t->states[b].node->sequence;
}
static void heap_up(task *t, int hole, int top, int value) {
    while (hole > top && before(t, t->ready[(hole - 1) / 2], value)) {
        t->ready[hole] = t->ready[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    t->ready[hole] = value;
}
static void heap_push(task *t, int value) {
    int hole = t->n_ready++;
    heap_up(t, hole, 0, value);
}
static int heap_pop(task *t) {
    int first = t->ready[0], value = t->ready[--t->n_ready], n = t->n_ready, hole = 0;
    if (!n) return first;
    int child = 0;
    while (child < (n - 1) / 2) {
        child = 2 * (child + 1);
        if (before(t, t->ready[child], t->ready[child - 1])) child--;
        t->ready[hole] = t->ready[child];
        hole = child;
    }
    if ((n & 1) == 0 && child == (n - 2) / 2) {
        child = 2 * (child + 1);
        t->ready[hole] = t->ready[child - 1];
        hole = child - 1;
    }
    heap_up(t, hole, 0, value);
    return first;
}

/* ---- one node ---- */
/* compiled twice, so that who is not profiled is not asked */
#define EITHER_WAY inline __attribute__((always_inline))
static int deliver(task *t, const rl_edge *edge, PyObject *grad_steal) {
    int at = state_find(t, edge->to);
    state *s = &t->states[at];
    int failed = 0;
    if (grad_steal && (!t->run->n_targets || s->needed)) {
        rl_stream_place before;
        rl_streams_enter(&before, edge->to);
        failed = rl_grad_add(&state_grads(s)[edge->nr], grad_steal);
        rl_streams_leave(&before);
    } else {
        Py_XDECREF(grad_steal);
    }
    if (--s->waiting == 0) heap_push(t, at);
    return failed;
}

static RL_NOINLINE int capture(task *t, const rl_node *node, PyObject **grads,
                               const rl_stream_place *before) {
    for (int i = 0; i < t->run->n_targets; i++) {
        PyObject *grad = t->run->targets[i].to == node ? grads[t->run->targets[i].nr] : NULL;
        if (!grad) continue;
        t->run->found[i] = Py_NewRef(grad);
        if (rl_streams_pass(before, NULL, grad) < 0) return -1;
    }
    return 0;
}

static EITHER_WAY int apply(task *t, rl_node *node, PyObject **grads, PyObject **results, bool profiled) {
    bool small[16], *unwanted = NULL;
    const bool *outer = rl_node_unwanted;
    if (t->run->n_targets && node->n_edge <= (int)Py_ARRAY_LENGTH(small)) {
        unwanted = small;
        for (int e = 0; e < node->n_edge; e++)
            unwanted[e] = node->edge[e].to && !t->states[state_find(t, node->edge[e].to)].needed;
    }
    rl_node_unwanted = unwanted;
    int failed = profiled ? profiled_apply(node, grads, results) : node->kind->apply(node, grads, results);
    rl_node_unwanted = outer;
    if (!failed && node->extras && node->extras->after) failed = rl_hooks_after(node, results, grads);
    for (int e = 0; !failed && e < node->n_edge; e++) {
        const rl_edge *edge = &node->edge[e];
        if (results[e] && edge->to)
            failed = rl_validate_grad(&edge->to->meta[edge->nr], &results[e], rl_node_name(node), e);
    }
    return failed;
}

/* detect_anomaly(check_nan=True) */
static int refuse_nan(const rl_node *node, PyObject *const *results) {
    int grad = rl_tls.grad, failed = 0;
    rl_tls.grad = 0;
    for (int e = 0; e < node->n_edge && !failed; e++) {
        RL_OWNED PyObject *which = results[e] ? rl_op_unary(RL_OP_isnan, results[e]) : NULL;
        RL_OWNED PyObject *any = which ? rl_op_unary(RL_OP_any, which) : NULL;
        int found = any ? PyObject_IsTrue(any) : results[e] ? -1 : 0;
        if (found > 0)
            PyErr_Format(PyExc_RuntimeError, "Function '%s' returned nan values in its %dth output.",
                         rl_node_name(node), e);
        failed = found ? -1 : 0;
    }
    rl_tls.grad = grad;
    return failed;
}

static EITHER_WAY int run_state(task *t, int at, bool profiled) {
    PyObject *small[8], **results = small, *grad = t->states[at].grad, **several = t->states[at].grads;
    rl_node *node = t->states[at].node;
    rl_stream_place before;
    const bool runs = t->states[at].runs, captures = t->run->n_targets && !t->run->accumulate;
    int n = node->n_edge, failed = 0;
    rl_tls.grad = t->run->create_graph; /* a hook may have left it otherwise */
    /* the gradients are ours from here on: hooks may run anything */
    t->states[at].grad = NULL;
    t->states[at].grads = NULL;
    PyObject **grads = several ? several : &grad;
    if (n > (int)Py_ARRAY_LENGTH(small) && !(results = PyMem_Malloc((size_t)n * sizeof *results))) {
        PyErr_NoMemory();
        failed = -1;
        n = 0;
    }
    for (int i = 0; i < n; i++) results[i] = NULL;
    /* as in PyTorch a target that is also run gives its gradient before hooks see it */
    rl_streams_enter(&before, node);
    if (!failed && runs && captures) failed = capture(t, node, grads, &before);
    if (!failed && RL_UNLIKELY(node->extras || node->kind == rl_upcalls.leaf_vtable))
        failed = rl_hooks_before(node, grads);
    if (!failed && !runs && captures) failed = capture(t, node, grads, &before);
    if (!failed && runs && node->extras) failed = rl_hooks_prehooks(node, grads);
    if (!failed && runs) failed = apply(t, node, grads, results, profiled);
    if (RL_UNLIKELY(rl_anomaly_mode && rl_anomaly_nan) && !failed) failed = refuse_nan(node, results);
    for (int e = 0; RL_UNLIKELY(rl_device_present) && e < n && !failed; e++)
        if (results[e] && node->edge[e].to) failed = rl_streams_pass(&before, node->edge[e].to, results[e]);
    rl_streams_leave(&before);
    for (int i = 0; i < node->n_out; i++) Py_XDECREF(grads[i]);
    PyMem_Free(several);
    if (!t->run->keep_graph && runs && !failed) rl_node_release(node);
    for (int e = 0; e < n; e++) {
        if (!failed && node->edge[e].to)
            failed = deliver(t, &node->edge[e], results[e]);
        else
            Py_XDECREF(results[e]);
    }
    if (results != small) PyMem_Free(results);
    return failed;
}

static RL_NOINLINE int run_profiled(task *t, int at) {
    const rl_mark mark = profiled_begin(t->states[at].node, RL_EVENT_EVALUATE, NULL);
    const int failed = run_state(t, at, true);
    rl_profile_end(mark);
    return failed;
}

static int task_run(task *t) {
    rl_backward *run = t->run;
    if (task_count(t) < 0 || (run->n_targets && task_mark(t) < 0)) return -1;
    for (int i = 0; i < run->n_roots; i++) {
        const rl_edge *root = &run->roots[i];
        RL_OWNED PyObject *grad = Py_NewRef(run->root_grads[i]);
        if (rl_validate_grad(&root->to->meta[root->nr], &grad, rl_node_name(root->to), i) < 0 ||
            rl_streams_pass(&(rl_stream_place){-1, NULL}, root->to, grad) < 0 ||
            deliver(t, root, rl_move(&grad)) < 0)
            return -1;
    }
    while (t->n_ready) {
        int at = heap_pop(t);
        if (run->n_targets && !t->states[at].needed) { /* still what waits for it must be told */
            rl_node *node = t->states[at].node;
            for (int e = 0; e < node->n_edge; e++)
                if (node->edge[e].to && deliver(t, &node->edge[e], NULL) < 0) return -1;
            continue;
        }
        rl_node_running = t->states[at].node;
        if ((RL_UNLIKELY(rl_profiling.id) ? run_profiled(t, at) : run_state(t, at, false)) < 0) {
            if (RL_UNLIKELY(rl_anomaly_mode)) rl_anomaly_report(rl_node_running);
            return -1;
        }
    }
    return 0;
}

int64_t rl_backward_id(void) {
    return running ? running->id : -1;
}
bool rl_backward_reaches_all(void) {
    return !running || !running->run->n_targets;
}

int rl_backward_runs(const rl_node *node) {
    int at = running ? state_find(running, node) : -1;
    return at >= 0 && (!running->run->n_targets || running->states[at].needed);
}

static int backward_run_here(rl_backward *run) {
    static int64_t ids;
    task t, *outer = running;
    rl_node *outer_node = rl_node_running;
    int grad = rl_tls.grad;
    task_begin(&t, run);
    t.id = ids++;
    running = &t;
    rl_tls.grad = run->create_graph;
    for (int i = 0; i < run->n_roots; i++) Py_INCREF((PyObject *)run->roots[i].to);
    int failed = task_run(&t);
    rl_tls.grad = grad;
    running = outer;
    rl_node_running = outer_node;
    task_end(&t);
    for (int i = 0; i < run->n_roots; i++) Py_DECREF((PyObject *)run->roots[i].to);
    return failed;
}

/* ---- backward within backward ----
 * A hook may run backward, whose hooks may run backward ... However deep that goes, the stack must last: each
 * MAX_NESTED runs the next one gets a thread of its own, for which this one waits. */
enum { MAX_NESTED = 48 };
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
    rl_tls.grad = d->grad;
    rl_tls.inference = d->inference;
    rl_tls.device = d->device;
    rl_tls.profile = d->profile;
    rl_intercept(RL_INTERCEPT_profiler, rl_profile_here());
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
    d->autocast = rl_tls.autocast;
    rl_autocast_become(&(rl_autocast){0});
    rl_intercept(rl_tls.interceptors, false); /* the thread ends */
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
                  .grad = rl_tls.grad,
                  .inference = rl_tls.inference,
                  .device = rl_tls.device,
                  .profile = rl_tls.profile,
                  .autocast = rl_tls.autocast,
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
    if (RL_UNLIKELY(nested == MAX_NESTED)) return run_deep(run);
    nested++;
    int failed = backward_run_here(run);
    nested--;
    return failed;
}
