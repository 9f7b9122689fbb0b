/* Walking children: over _modules where the methods are Module's own, over m.children() elsewhere. */
#include "children.h"
#include "state.h"

void rl_children_end(rl_children *c) {
    if (c->child == NULL && rl_children_none(c)) return;
    rl_map_iter_end(&c->items);
    Py_CLEAR(c->foreign);
    rl_seen_end(&c->seen);
    Py_CLEAR(c->child);
}

int rl_children_begin(rl_children *c, PyObject *m) {
    *c = (rl_children){0};
    if (rl_module_all_ours(m, RL_CHILDREN_METHODS))
        return rl_map_iter_of(&c->items, m, RL_AT_modules, rl_name._modules);
    RL_OWNED PyObject *children = PyObject_CallMethodNoArgs(m, rl_name.children);
    if (children == NULL) return -1;
    c->foreign = PyObject_GetIter(children);
    return c->foreign ? 0 : -1;
}

int rl_children_next(rl_children *c) {
    if (c->foreign) {
        Py_XSETREF(c->child, PyIter_Next(c->foreign));
        return c->child ? 1 : PyErr_Occurred() ? -1 : 0;
    }
    for (;;) {
        int more = rl_map_iter_next(&c->items);
        if (more <= 0) return more;
        if (Py_IsNone(c->items.value)) continue;
        int fresh = rl_seen_add(&c->seen, c->items.value);
        if (fresh < 0) return -1;
        if (!fresh) continue;
        Py_XSETREF(c->child, Py_NewRef(c->items.value));
        return 1;
    }
}
