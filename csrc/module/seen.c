/* What a walk has met already. In Python that is a set; as long as everything in it is hashed by identity a
 * table of pointers answers the same, and a set takes over when something else comes or somebody looks.
 *
 *   few[n] ──► slot[mask + 1], at most half full ──► set */
#include "seen.h"

static int seen_by_identity(PyObject *o) {
    hashfunc hash = Py_TYPE(o)->tp_hash;
    return hash == PyBaseObject_Type.tp_hash || hash == rl_tensor_type->tp_hash;
}

static uint32_t seen_place(const rl_seen *seen, PyObject *o) {
    return (uint32_t)(((uintptr_t)o >> 4) * 0x9E3779B97F4A7C15u >> 32) & seen->mask;
}

/* Where o is, or the empty place where it would be. */
static PyObject **seen_find(const rl_seen *seen, PyObject *o) {
    uint32_t at = seen_place(seen, o);
    while (seen->slot[at] && seen->slot[at] != o) at = (at + 1) & seen->mask;
    return &seen->slot[at];
}

static PyObject *const *seen_all(const rl_seen *seen, size_t *n) {
    *n = seen->slot ? (size_t)seen->mask + 1 : seen->n;
    return seen->slot ? seen->slot : seen->few;
}

static void seen_forget(rl_seen *seen) {
    size_t n;
    PyObject *const *all = seen_all(seen, &n);
    PyObject **slot = seen->slot;
    seen->n = 0;
    seen->slot = NULL; /* what dies now may look at us */
    for (size_t i = 0; i < n; i++) Py_XDECREF(all[i]);
    PyMem_Free(slot);
}

void rl_seen_end(rl_seen *seen) {
    seen_forget(seen);
    Py_CLEAR(seen->set);
}

int rl_seen_traverse(const rl_seen *seen, visitproc visit, void *arg) {
    size_t n;
    PyObject *const *all = seen_all(seen, &n);
    for (size_t i = 0; i < n; i++) Py_VISIT(all[i]);
    Py_VISIT(seen->set);
    return 0;
}

static int seen_grow(rl_seen *seen) {
    rl_seen wide = {.n = seen->n, .mask = seen->slot ? 2 * seen->mask + 1 : 8 * RL_SEEN_FEW - 1};
    size_t n;
    PyObject *const *all = seen_all(seen, &n);
    wide.slot = PyMem_Calloc((size_t)wide.mask + 1, sizeof *wide.slot);
    if (wide.slot == NULL) return PyErr_NoMemory(), -1;
    for (size_t i = 0; i < n; i++)
        if (all[i]) *seen_find(&wide, all[i]) = all[i];
    PyMem_Free(seen->slot);
    seen->slot = wide.slot;
    seen->mask = wide.mask;
    return 0;
}

PyObject *rl_seen_set_peek(rl_seen *seen) {
    if (seen->set) return seen->set;
    size_t n;
    PyObject *const *all = seen_all(seen, &n);
    RL_OWNED PyObject *set = PySet_New(NULL);
    for (size_t i = 0; set && i < n; i++)
        if (all[i] && PySet_Add(set, all[i]) < 0) return NULL;
    if (set == NULL) return NULL;
    seen_forget(seen);
    return seen->set = rl_give(&set);
}

static int seen_table_has(const rl_seen *seen, PyObject *o) {
    if (seen->slot) return *seen_find(seen, o) != NULL;
    for (uint32_t i = 0; i < seen->n; i++)
        if (seen->few[i] == o) return 1;
    return 0;
}

int rl_seen_has(rl_seen *seen, PyObject *o) {
    if (RL_LIKELY(seen->set == NULL && seen_by_identity(o))) return seen_table_has(seen, o);
    PyObject *set = rl_seen_set_peek(seen);
    return set ? PySequence_Contains(set, o) : -1;
}

static int seen_set_add(PyObject *set, PyObject *o) {
    if (PySet_CheckExact(set)) return PySet_Add(set, o);
    RL_OWNED PyObject *done = PyObject_CallMethodOneArg(set, rl_name.add, o);
    return done ? 0 : -1;
}

int rl_seen_add(rl_seen *seen, PyObject *o) {
    int has = rl_seen_has(seen, o);
    if (has) return has < 0 ? -1 : 0;
    if (seen->set) return seen_set_add(seen->set, o) < 0 ? -1 : 1;
    if (seen->slot == NULL && seen->n < RL_SEEN_FEW) {
        seen->few[seen->n++] = Py_NewRef(o);
        return 1;
    }
    if ((seen->slot == NULL || 2 * seen->n > seen->mask) && seen_grow(seen) < 0) return -1;
    *seen_find(seen, o) = Py_NewRef(o);
    seen->n++;
    return 1;
}
