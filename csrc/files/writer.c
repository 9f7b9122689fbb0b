/* The opcodes of a pickle being written, and the memo of what is in it already. */
#include "writer.h"
#include <string.h>

/* ---- bytes ---- */
int rl_save_bytes(saver *s, const void *from, int64_t n) {
    if (n > s->room - s->n) {
        int64_t room = s->room * 2 > s->n + n ? s->room * 2 : s->n + n + 4096;
        char *bigger = PyMem_Realloc(s->at, (size_t)room);
        if (!bigger) return PyErr_NoMemory(), -1;
        s->at = bigger, s->room = room;
    }
    memcpy(s->at + s->n, from, (size_t)n);
    s->n += n;
    return 0;
}

int rl_save_op(saver *s, char op) {
    return rl_save_bytes(s, &op, 1);
}

/* an opcode and a number, little endian */
int rl_save_number(saver *s, char op, uint64_t value, int size) {
    char bytes[9] = {op};
    for (int i = 0; i < size; i++) bytes[i + 1] = (char)(value >> 8 * i);
    return rl_save_bytes(s, bytes, size + 1);
}

/* ---- the memo ---- */
static memo_slot *memo_place(const memo_table *t, const void *key) {
    uint64_t h = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
    int64_t i = (int64_t)(h >> 20) & (t->room - 1);
    while (t->slots[i].key && t->slots[i].key != key) i = (i + 1) & (t->room - 1);
    return &t->slots[i];
}

int64_t rl_written_find(const memo_table *t, const void *key) {
    const memo_slot *slot = t->room ? memo_place(t, key) : NULL;
    return slot && slot->key ? slot->index : -1;
}

static int memo_grow(memo_table *t) {
    memo_table bigger = {.room = t->room ? t->room * 2 : 256};
    bigger.slots = PyMem_Calloc((size_t)bigger.room, sizeof *bigger.slots);
    if (!bigger.slots) return PyErr_NoMemory(), -1;
    for (int64_t i = 0; i < t->room; i++) {
        if (t->slots[i].key) *memo_place(&bigger, t->slots[i].key) = t->slots[i];
    }
    PyMem_Free(t->slots);
    t->slots = bigger.slots, t->room = bigger.room;
    return 0;
}

int rl_written_add(memo_table *t, const void *key, PyObject *kept, int64_t index) {
    if (t->used * 2 >= t->room && memo_grow(t) < 0) return -1;
    memo_slot *slot = memo_place(t, key);
    if (!slot->key) t->used++;
    Py_XINCREF(kept);
    Py_XSETREF(slot->kept, kept);
    slot->key = key, slot->index = index;
    return 0;
}

void rl_written_free(memo_table *t) {
    for (int64_t i = 0; i < t->room; i++) Py_XDECREF(t->slots[i].kept);
    PyMem_Free(t->slots);
}

int rl_save_put(saver *s, const void *key, PyObject *kept) {
    int64_t index = s->memo_next++;
    if (key && rl_written_add(&s->memo, key, kept, index) < 0) return -1;
    return index < 256 ? rl_save_number(s, 'q', (uint64_t)index, 1)
                       : rl_save_number(s, 'r', (uint64_t)index, 4);
}

int rl_save_memo(saver *s, const void *key) {
    int64_t index = rl_written_find(&s->memo, key);
    if (index < 0) return 0;
    int failed =
        index < 256 ? rl_save_number(s, 'h', (uint64_t)index, 1) : rl_save_number(s, 'j', (uint64_t)index, 4);
    return failed ? -1 : 1;
}

/* ---- numbers, texts, names ---- */
int rl_save_int(saver *s, int64_t value) {
    if (value >= 0 && value < 256) return rl_save_number(s, 'K', (uint64_t)value, 1);
    if (value >= 0 && value < 65536) return rl_save_number(s, 'M', (uint64_t)value, 2);
    if (value >= INT32_MIN && value <= INT32_MAX) return rl_save_number(s, 'J', (uint64_t)value, 4);
    int size = 8; /* the fewest bytes of two's complement */
    while (size > 1 && value >> (8 * size - 9) == (value < 0 ? -1 : 0)) size--;
    return rl_save_number(s, (char)0x8a, 0, 1)
               ? -1
               : (s->at[s->n - 1] = (char)size, rl_save_bytes(s, &value, size));
}

int rl_save_utf8(saver *s, const char *text, int64_t n) {
    if (n > UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "cannot serialize a string larger than 4GiB");
        return -1;
    }
    return rl_save_number(s, 'X', (uint64_t)n, 4) || rl_save_bytes(s, text, n) ? -1 : 0;
}

int rl_save_text(saver *s, const char *text) {
    int known = rl_save_memo(s, text);
    if (known) return known < 0 ? -1 : 0;
    return rl_save_utf8(s, text, (int64_t)strlen(text)) || rl_save_put(s, text, NULL) ? -1 : 0;
}

int rl_save_name(saver *s, const void *key, const char *module, const char *name) {
    int known = rl_save_memo(s, key);
    if (known) return known < 0 ? -1 : 0;
    if (rl_save_op(s, 'c') || rl_save_bytes(s, module, (int64_t)strlen(module)) || rl_save_op(s, '\n') ||
        rl_save_bytes(s, name, (int64_t)strlen(name)) || rl_save_op(s, '\n'))
        return -1;
    return rl_save_put(s, key, NULL);
}
