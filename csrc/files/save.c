/* The pickle of a file that is saved: plain values are written here, everything else as Python describes it.
 */
#include "internal.h"
#include "object/storage.h"
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

static int save_op(saver *s, char op) {
    return rl_save_bytes(s, &op, 1);
}

/* an opcode and a number, little endian */
static int save_number(saver *s, char op, uint64_t value, int size) {
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

/* -1: absent */
static int64_t written_find(const memo_table *t, const void *key) {
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

static int written_add(memo_table *t, const void *key, PyObject *kept, int64_t index) {
    if (t->used * 2 >= t->room && memo_grow(t) < 0) return -1;
    memo_slot *slot = memo_place(t, key);
    if (!slot->key) t->used++;
    Py_XINCREF(kept);
    Py_XSETREF(slot->kept, kept);
    slot->key = key, slot->index = index;
    return 0;
}

static void written_free(memo_table *t) {
    for (int64_t i = 0; i < t->room; i++) Py_XDECREF(t->slots[i].kept);
    PyMem_Free(t->slots);
}

/* Remembers what was just written; key NULL: nothing. */
static int save_put(saver *s, const void *key, PyObject *kept) {
    int64_t index = s->memo_next++;
    if (key && written_add(&s->memo, key, kept, index) < 0) return -1;
    return index < 256 ? save_number(s, 'q', (uint64_t)index, 1) : save_number(s, 'r', (uint64_t)index, 4);
}

/* writes a reference; 1, or 0 when it is new */
static int save_memo(saver *s, const void *key) {
    int64_t index = written_find(&s->memo, key);
    if (index < 0) return 0;
    int failed =
        index < 256 ? save_number(s, 'h', (uint64_t)index, 1) : save_number(s, 'j', (uint64_t)index, 4);
    return failed ? -1 : 1;
}

/* ---- numbers, texts, names ---- */
static int save_int(saver *s, int64_t value) {
    if (value >= 0 && value < 256) return save_number(s, 'K', (uint64_t)value, 1);
    if (value >= 0 && value < 65536) return save_number(s, 'M', (uint64_t)value, 2);
    if (value >= INT32_MIN && value <= INT32_MAX) return save_number(s, 'J', (uint64_t)value, 4);
    int size = 8; /* the fewest bytes of two's complement */
    while (size > 1 && value >> (8 * size - 9) == (value < 0 ? -1 : 0)) size--;
    return save_number(s, (char)0x8a, 0, 1) ? -1
                                            : (s->at[s->n - 1] = (char)size, rl_save_bytes(s, &value, size));
}

static int save_utf8(saver *s, const char *text, int64_t n) {
    if (n > UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "cannot serialize a string larger than 4GiB");
        return -1;
    }
    return save_number(s, 'X', (uint64_t)n, 4) || rl_save_bytes(s, text, n) ? -1 : 0;
}

/* a fixed one: the same address is written once */
static int save_text(saver *s, const char *text) {
    int known = save_memo(s, text);
    if (known) return known < 0 ? -1 : 0;
    return save_utf8(s, text, (int64_t)strlen(text)) || save_put(s, text, NULL) ? -1 : 0;
}

/* key: as in the memo */
static int save_name(saver *s, const void *key, const char *module, const char *name) {
    int known = save_memo(s, key);
    if (known) return known < 0 ? -1 : 0;
    if (save_op(s, 'c') || rl_save_bytes(s, module, (int64_t)strlen(module)) || save_op(s, '\n') ||
        rl_save_bytes(s, name, (int64_t)strlen(name)) || save_op(s, '\n'))
        return -1;
    return save_put(s, key, NULL);
}

/* ---- tensors and storages in the pickle, as PyTorch's rebuild functions want them ---- */
static const char *const storage_class[RL_NDTYPES] = {
#define X(e, c, n, title) [e] = #title "Storage",
    RL_DTYPES(X)
#undef X
};
/* The dtypes that PyTorch gave a storage class of their own; later ones lie in UntypedStorages. */
static const uint64_t storage_typed = RL_SET_ALL | RL_BIT(RL_C64) | RL_BIT(RL_C128) | RL_BIT(RL_QI8) |
                                      RL_BIT(RL_QU8) | RL_BIT(RL_QI32) | RL_BIT(RL_QU4X2) | RL_BIT(RL_QU2X4);
static bool storage_is_typed(int dtype) {
    return storage_typed >> dtype & 1;
}

/* ---- storages ---- */
static int storage_numel(rl_storage *storage, int dtype, int64_t *numel) {
    *numel = (int64_t)storage->nbytes / (dtype < 0 ? 1 : rl_itemsize(dtype));
    return 0;
}

/* Its place in the list of storages; a new one gets the next number as its key. */
static int64_t storage_find(saver *s, rl_storage *storage, int dtype) {
    int64_t place = written_find(&s->storages, storage);
    if (place >= 0) {
        PyObject *known = PyTuple_GET_ITEM(PyList_GET_ITEM(s->list, place), 3);
        if (PyLong_AsLong(known) == dtype) return place;
        PyErr_SetString(
            PyExc_RuntimeError,
            "Cannot save multiple tensors or storages that view the same data as different types");
        return -1;
    }
    int64_t numel;
    storage_numel(storage, dtype, &numel);
    place = PyList_GET_SIZE(s->list);
    RL_OWNED PyObject *bytes = rl_bytes_readable(storage);
    RL_OWNED PyObject *held = rl_untyped_storage_new(storage); /* no other storage gets its address */
    RL_OWNED PyObject *key = PyUnicode_FromFormat("%lld", (long long)place);
    RL_OWNED PyObject *entry =
        bytes && held && key ? Py_BuildValue("(OOLi)", key, bytes, (long long)numel, dtype) : NULL;
    if (!entry || PyList_Append(s->list, entry) || written_add(&s->storages, storage, held, place)) return -1;
    return place;
}

static int storage_key(saver *s, rl_storage *storage, int64_t place) {
    int known = save_memo(s, storage);
    if (known) return known < 0 ? -1 : 0;
    char text[32] = {'X'};
    int n = PyOS_snprintf(text + 5, sizeof text - 5, "%lld", (long long)place);
    text[1] = (char)n;
    return rl_save_bytes(s, text, n + 5) || save_put(s, storage, NULL) ? -1 : 0;
}

static int storage_location(saver *s, const rl_storage *storage) {
    if (storage->device == RL_CPU) return save_text(s, "cpu");
    char text[32] = {'X'};
    int n = PyOS_snprintf(text + 5, sizeof text - 5, "cuda:%d", storage->device_index);
    text[1] = (char)n;
    return rl_save_bytes(s, text, n + 5) || save_put(s, NULL, NULL) ? -1 : 0;
}

/* dtype -1: untyped */
static int save_storage(saver *s, rl_storage *storage, int dtype) {
    int64_t place = storage_find(s, storage, dtype), numel;
    if (place < 0) return -1;
    storage_numel(storage, dtype, &numel);
    const char *name = dtype < 0 ? "UntypedStorage" : storage_class[dtype];
    if (save_op(s, '(') || save_text(s, "storage") ||
        save_name(s, name, dtype < 0 ? "torch.storage" : "torch", name) || storage_key(s, storage, place) ||
        storage_location(s, storage) || save_int(s, numel) || (s->legacy && save_op(s, 'N')))
        return -1;
    return save_op(s, 't') || save_put(s, NULL, NULL) || save_op(s, 'Q') ? -1 : 0;
}

/* ---- tensors ---- */
static int tensor_dims(saver *s, const int64_t *dims, int n) {
    static const char small[] = {')', (char)0x85, (char)0x86, (char)0x87};
    if (n == 0) return save_op(s, ')');
    if (n > 3 && save_op(s, '(')) return -1;
    for (int i = 0; i < n; i++) {
        if (save_int(s, dims[i])) return -1;
    }
    return save_op(s, n > 3 ? 't' : small[n]) || save_put(s, NULL, NULL) ? -1 : 0;
}

static int tensor_hooks(saver *s) {
    return save_name(s, s->ordered_type, "collections", "OrderedDict") || save_op(s, ')') ||
                   save_op(s, 'R') || save_put(s, NULL, NULL)
               ? -1
               : 0;
}

static int tensor_flag(saver *s, bool on) {
    return save_op(s, on ? (char)0x88 : (char)0x89);
}

/* The name comes first and its arguments as a tuple; REDUCE is left to the caller. */
static int tensor_name(saver *s, const rl_view *v) {
    const char *name = storage_is_typed(v->dtype) ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3";
    return save_name(s, name, "torch._utils", name);
}
static int save_object(saver *s, PyObject *o);

static int tensor_args(saver *s, const rl_view *v, bool requires_grad) {
    bool typed = storage_is_typed(v->dtype);
    if (save_op(s, '(') || save_storage(s, v->storage, typed ? v->dtype : -1) || save_int(s, v->offset) ||
        tensor_dims(s, v->shape, v->ndim) || tensor_dims(s, v->strides, v->ndim) ||
        tensor_flag(s, requires_grad) || tensor_hooks(s))
        return -1;
    if (!typed) {
        RL_OWNED PyObject *dtype = rl_dtype_object(v->dtype);
        if (!dtype || save_object(s, dtype)) return -1;
    }
    return save_op(s, 't') || save_put(s, NULL, NULL) ? -1 : 0;
}
static int tensor_end(saver *s, PyObject *o) {
    return save_op(s, 'R') || save_put(s, o, o) ? -1 : 0;
}

/* no memory, no offset, no hooks */
static int tensor_meta(saver *s, const rl_view *v, PyObject *o, bool requires_grad) {
    const char *name = "_rebuild_meta_tensor_no_storage";
    RL_OWNED PyObject *dtype = rl_dtype_object(v->dtype);
    if (!dtype || save_name(s, name, "torch._utils", name) || save_op(s, '(') || save_object(s, dtype) ||
        tensor_dims(s, v->shape, v->ndim) || tensor_dims(s, v->strides, v->ndim) ||
        tensor_flag(s, requires_grad) || save_op(s, 't') || save_put(s, NULL, NULL))
        return -1;
    return tensor_end(s, o);
}

/* v: a private look at the tensor, here and below */
static int tensor_plain(saver *s, const rl_view *v, PyObject *o, bool requires_grad) {
    if (v->device == RL_META) return tensor_meta(s, v, o, requires_grad);
    return tensor_name(s, v) || tensor_args(s, v, requires_grad) || tensor_end(s, o) ? -1 : 0;
}

static int tensor_parameter(saver *s, rl_tensor *t, const rl_view *v, PyObject *state) {
    const char *name = state ? "_rebuild_parameter_with_state" : "_rebuild_parameter";
    if (save_name(s, name, "torch._utils", name) || (state && save_op(s, '(')) ||
        tensor_plain(s, v, NULL, false) || tensor_flag(s, t->requires_grad) || tensor_hooks(s))
        return -1;
    if (state ? save_object(s, state) || save_op(s, 't') : save_op(s, (char)0x87)) return -1;
    return save_put(s, NULL, NULL) || tensor_end(s, (PyObject *)t) ? -1 : 0;
}

static int tensor_of_type(saver *s, rl_tensor *t, const rl_view *v, PyObject *state) {
    PyTypeObject *type = Py_TYPE(t);
    if (save_name(s, "type_v2", "torch._tensor", "_rebuild_from_type_v2") || save_op(s, '(') ||
        tensor_name(s, v))
        return -1;
    if (type == rl_tensor_type ? save_name(s, type, "torch", "Tensor") : save_object(s, (PyObject *)type))
        return -1;
    if (tensor_args(s, v, t->requires_grad) || save_object(s, state ? state : Py_None) || save_op(s, 't') ||
        save_put(s, NULL, NULL))
        return -1;
    return tensor_end(s, (PyObject *)t);
}

/* What was set on the tensor: __getstate__'s answer, NULL for nothing. */
static int tensor_state(rl_tensor *t, PyObject **state) {
    bool exact = Py_TYPE(t) == rl_tensor_type || Py_TYPE(t) == rl_parameter_type;
    if (exact && (!t->dict || PyDict_GET_SIZE(t->dict) == 0)) return 0;
    *state = PyObject_CallMethod((PyObject *)t, "__getstate__", NULL);
    if (!*state) return -1;
    int filled = PyObject_IsTrue(*state);
    if (filled <= 0) Py_CLEAR(*state);
    return filled < 0 ? -1 : 0;
}

static int tensor_reduces_itself(PyTypeObject *type, PyTypeObject *base) {
    if (type == base) return 0;
    RL_OWNED PyObject *own = PyObject_GetAttrString((PyObject *)type, "__reduce_ex__");
    RL_OWNED PyObject *usual = own ? PyObject_GetAttrString((PyObject *)base, "__reduce_ex__") : NULL;
    return usual ? own != usual : -1;
}

/* 1: written; 0: not of a plain kind; -1 */
static int save_tensor(saver *s, PyObject *o) {
    rl_tensor *t = (rl_tensor *)o;
    bool parameter = PyType_IsSubtype(Py_TYPE(o), rl_parameter_type);
    int itself = tensor_reduces_itself(Py_TYPE(o), parameter ? rl_parameter_type : rl_tensor_type);
    if (itself) return itself < 0 ? -1 : 0;
    RL_OWNED PyObject *state = NULL;
    if (tensor_state(t, &state) < 0) return -1;
    RL_HELD v = {.storage = NULL};
    if (rl_held_take(&v, &t->v) < 0) return -1;
    int failed;
    if (parameter)
        failed = tensor_parameter(s, t, &v, state);
    else if (v.device != RL_META && (state || Py_TYPE(o) != rl_tensor_type))
        failed = tensor_of_type(s, t, &v, state);
    else
        failed = tensor_plain(s, &v, o, t->requires_grad);
    return failed ? -1 : 1;
}

/* ---- objects ---- */
enum { BATCH = 1000 }; /* items between two APPENDS or SETITEMS, as pickle does */

/* ---- plain values ---- */
static int save_long(saver *s, PyObject *o) {
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (!overflow) return value == -1 && PyErr_Occurred() ? -1 : save_int(s, value);
    RL_OWNED PyObject *bits = PyObject_CallMethod(o, "bit_length", NULL);
    long long n = bits ? PyLong_AsLongLong(bits) / 8 + 1 : -1;
    if (n < 0) return -1;
    RL_OWNED PyObject *name = PyUnicode_FromString("to_bytes"), *size = PyLong_FromLongLong(n);
    RL_OWNED PyObject *order = PyUnicode_FromString("little"), *words = PyTuple_New(1);
    if (!name || !size || !order || !words) return -1;
    PyTuple_SET_ITEM(words, 0, PyUnicode_FromString("signed"));
    PyObject *args[4] = {o, size, order, Py_True};
    RL_OWNED PyObject *bytes =
        PyTuple_GET_ITEM(words, 0) ? PyObject_VectorcallMethod(name, args, 3, words) : NULL;
    if (!bytes) return -1;
    const char *at = PyBytes_AS_STRING(bytes);
    /* -(2 ** 8k) needs no byte for its sign */
    if (overflow < 0 && n > 1 && at[n - 1] == -1 && at[n - 2] < 0) n--;
    if (n < 256 ? save_number(s, (char)0x8a, (uint64_t)n, 1) : save_number(s, (char)0x8b, (uint64_t)n, 4))
        return -1;
    return rl_save_bytes(s, at, n);
}

static int save_float(saver *s, double value) {
    uint64_t bits;
    char bytes[9] = {'G'};
    memcpy(&bits, &value, 8);
    for (int i = 0; i < 8; i++) bytes[i + 1] = (char)(bits >> (56 - 8 * i));
    return rl_save_bytes(s, bytes, 9);
}

static int save_str(saver *s, PyObject *o) {
    Py_ssize_t n;
    RL_OWNED PyObject *odd = NULL;
    const char *text = PyUnicode_AsUTF8AndSize(o, &n);
    if (!text) { /* surrogates */
        PyErr_Clear();
        odd = PyUnicode_AsEncodedString(o, "utf-8", "surrogatepass");
        if (!odd) return -1;
        text = PyBytes_AS_STRING(odd), n = PyBytes_GET_SIZE(odd);
    }
    return save_utf8(s, text, n) || save_put(s, o, o) ? -1 : 0;
}

/* ---- containers ---- */
static int save_tuple(saver *s, PyObject *o) {
    static const char small[] = {')', (char)0x85, (char)0x86, (char)0x87};
    Py_ssize_t n = PyTuple_GET_SIZE(o);
    if (n == 0) return save_op(s, ')');
    if (n > 3 && save_op(s, '(')) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (save_object(s, PyTuple_GET_ITEM(o, i))) return -1;
    }
    if (written_find(&s->memo, o) >= 0) { /* it holds itself and was written on the way down */
        for (Py_ssize_t i = 0; i < (n > 3 ? 1 : n); i++) {
            if (save_op(s, n > 3 ? '1' : '0')) return -1;
        }
        return save_memo(s, o) < 0 ? -1 : 0;
    }
    return save_op(s, n > 3 ? 't' : small[n]) || save_put(s, o, o) ? -1 : 0;
}

static int save_list(saver *s, PyObject *o) {
    if (save_op(s, ']') || save_put(s, o, o)) return -1;
    if (PyList_GET_SIZE(o) == 1) {
        RL_OWNED PyObject *item = Py_NewRef(PyList_GET_ITEM(o, 0));
        return save_object(s, item) || save_op(s, 'a') ? -1 : 0;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o);) {
        if (save_op(s, '(')) return -1;
        for (Py_ssize_t end = i + BATCH; i < end && i < PyList_GET_SIZE(o); i++) {
            RL_OWNED PyObject *item = Py_NewRef(PyList_GET_ITEM(o, i));
            if (save_object(s, item)) return -1;
        }
        if (save_op(s, 'e')) return -1;
    }
    return 0;
}

static int save_pair(saver *s, PyObject *key, PyObject *value) {
    RL_OWNED PyObject *k = Py_NewRef(key), *v = Py_NewRef(value);
    return save_object(s, k) || save_object(s, v) ? -1 : 0;
}

static int save_dict(saver *s, PyObject *o) {
    PyObject *key, *value;
    Py_ssize_t at = 0, size = PyDict_GET_SIZE(o), left = size;
    if (save_op(s, '}') || save_put(s, o, o)) return -1;
    if (size == 1) {
        PyDict_Next(o, &at, &key, &value);
        return save_pair(s, key, value) || save_op(s, 's') ? -1 : 0;
    }
    int batch = size ? BATCH : 0;
    while (batch == BATCH) {
        if (save_op(s, '(')) return -1;
        for (batch = 0; batch < BATCH && left > 0 && PyDict_Next(o, &at, &key, &value); batch++, left--) {
            if (save_pair(s, key, value)) return -1;
            if (PyDict_GET_SIZE(o) != size) {
                PyErr_SetString(PyExc_RuntimeError, "dictionary changed size during iteration");
                return -1;
            }
        }
        if (save_op(s, 'u')) return -1;
    }
    return 0;
}

static int save_item(saver *s, PyObject *item, bool pairs) {
    if (!pairs) return save_object(s, item);
    if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) != 2) {
        PyErr_SetString(PyExc_TypeError, "dict items iterator must return 2-tuples");
        return -1;
    }
    return save_object(s, PyTuple_GET_ITEM(item, 0)) || save_object(s, PyTuple_GET_ITEM(item, 1)) ? -1 : 0;
}

/* what an object's description iterates over: elements of a list, or pairs of a dict */
static int save_items(saver *s, PyObject *from, bool pairs) {
    RL_OWNED PyObject *it = PyObject_GetIter(from);
    int n = it ? BATCH : -1;
    while (n == BATCH) {
        RL_OWNED PyObject *first = PyIter_Next(it);
        RL_OWNED PyObject *next = first ? PyIter_Next(it) : NULL;
        if (!first || PyErr_Occurred()) break;
        if (next && save_op(s, '(')) return -1;
        if (save_item(s, first, pairs)) return -1;
        if (!next) return save_op(s, pairs ? 's' : 'a');
        for (n = 1; next;) {
            if (save_item(s, next, pairs)) return -1;
            Py_CLEAR(next);
            if (++n < BATCH) next = PyIter_Next(it);
        }
        if (PyErr_Occurred() || save_op(s, pairs ? 'u' : 'e')) return -1;
    }
    return n < 0 || PyErr_Occurred() ? -1 : 0;
}

static int save_ordered(saver *s, PyObject *o) {
    if (save_name(s, s->ordered_type, "collections", "OrderedDict") || save_op(s, ')') || save_op(s, 'R') ||
        save_put(s, o, o))
        return -1;
    RL_OWNED PyObject *items = PyObject_CallMethod(o, "items", NULL);
    if (!items || save_items(s, items, true)) return -1;
    RL_OWNED PyObject *state = PyObject_GenericGetDict(o, NULL);
    if (!state) return -1;
    if (PyDict_GET_SIZE(state) == 0) return 0;
    return save_object(s, state) || save_op(s, 'b') ? -1 : 0;
}

/* ---- what Python describes ---- */
static int save_global(saver *s, PyObject *o, PyObject *text) {
    const char *full = PyUnicode_AsUTF8(text), *line = full ? strchr(full, '\n') : NULL;
    if (!line) return PyErr_Occurred() ? -1 : (PyErr_SetString(PyExc_TypeError, "a name without module"), -1);
    if (save_op(s, 'c') || rl_save_bytes(s, full, (int64_t)strlen(full)) || save_op(s, '\n')) return -1;
    return save_put(s, o, o);
}

/* (function, arguments[, state[, list items[, dict items[, setter]]]]), as __reduce_ex__ answers */
static int save_reduced(saver *s, PyObject *o, PyObject *parts) {
    PyObject *part[6] = {NULL};
    for (Py_ssize_t i = 0; i < 6 && i < PyTuple_GET_SIZE(parts); i++) {
        part[i] = PyTuple_GET_ITEM(parts, i) == Py_None ? NULL : PyTuple_GET_ITEM(parts, i);
    }
    if (!part[0] || !part[1] || !PyTuple_Check(part[1])) {
        PyErr_SetString(PyExc_TypeError, "second item of the tuple returned by __reduce__ must be a tuple");
        return -1;
    }
    if (part[0] == s->newobj && PyTuple_GET_SIZE(part[1]) > 0) {
        RL_OWNED PyObject *rest = PyTuple_GetSlice(part[1], 1, PY_SSIZE_T_MAX);
        if (!rest || save_object(s, PyTuple_GET_ITEM(part[1], 0)) || save_object(s, rest) ||
            save_op(s, (char)0x81))
            return -1;
    } else if (save_object(s, part[0]) || save_object(s, part[1]) || save_op(s, 'R')) {
        return -1;
    }
    if (written_find(&s->memo, o) >= 0) { /* it came up again among its own arguments */
        return save_op(s, '0') || save_memo(s, o) < 0 ? -1 : 0;
    }
    if (save_put(s, o, o)) return -1;
    if (part[3] && save_items(s, part[3], false)) return -1;
    if (part[4] && save_items(s, part[4], true)) return -1;
    if (!part[2]) return 0;
    if (!part[5]) return save_object(s, part[2]) || save_op(s, 'b') ? -1 : 0;
    return save_object(s, part[5]) || save_object(s, o) || save_object(s, part[2]) ||
                   save_op(s, (char)0x86) || save_op(s, 'R') || save_op(s, '0')
               ? -1
               : 0;
}

static int save_described(saver *s, PyObject *o) {
    PyObject *args[3] = {o, PyLong_FromLong(s->protocol), Py_NewRef(s->legacy ? Py_True : Py_False)};
    RL_OWNED PyObject *protocol = args[1], *legacy = args[2];
    RL_OWNED PyObject *what = protocol && legacy ? PyObject_Vectorcall(s->describe, args, 3, NULL) : NULL;
    if (!what) return -1;
    if (PyUnicode_Check(what)) return save_global(s, o, what);
    if (!PyTuple_Check(what) || PyTuple_GET_SIZE(what) < 2) {
        PyErr_SetString(PyExc_TypeError, "__reduce__ must return a string or tuple");
        return -1;
    }
    if (!PyUnicode_Check(PyTuple_GET_ITEM(what, 0))) return save_reduced(s, o, what);
    /* ("storage", a tensor over all of it, typed or not) */
    PyObject *flat = PyTuple_GET_ITEM(what, 1);
    if (PyTuple_GET_SIZE(what) != 3 || !rl_tensor_check(flat)) {
        PyErr_SetString(PyExc_TypeError, "a storage is described by a tensor");
        return -1;
    }
    const rl_view *v = &((rl_tensor *)flat)->v;
    return save_storage(s, v->storage, PyTuple_GET_ITEM(what, 2) == Py_True ? v->dtype : -1);
}

static int save_any(saver *s, PyObject *o) {
    PyTypeObject *type = Py_TYPE(o);
    if (type == &PyUnicode_Type) return save_str(s, o);
    if (type == &PyDict_Type) return save_dict(s, o);
    if (type == &PyTuple_Type) return save_tuple(s, o);
    if (type == &PyList_Type) return save_list(s, o);
    if ((PyObject *)type == s->ordered_type) return save_ordered(s, o);
    if (rl_tensor_check(o)) {
        int done = save_tensor(s, o);
        if (done) return done < 0 ? -1 : 0;
    }
    return save_described(s, o);
}

static int save_object(saver *s, PyObject *o) {
    if (o == Py_None) return save_op(s, 'N');
    if (o == Py_True) return save_op(s, (char)0x88);
    if (o == Py_False) return save_op(s, (char)0x89);
    if (PyLong_CheckExact(o)) return save_long(s, o);
    if (PyFloat_CheckExact(o)) return save_float(s, PyFloat_AS_DOUBLE(o));
    int known = save_memo(s, o);
    if (known) return known < 0 ? -1 : 0;
    if (Py_EnterRecursiveCall(" while pickling an object")) return -1;
    int failed = save_any(s, o);
    Py_LeaveRecursiveCall();
    return failed;
}

/* ---- what Python calls ---- */
static int save_import(saver *s) {
    RL_OWNED PyObject *copyreg = PyImport_ImportModule("copyreg");
    RL_OWNED PyObject *collections = PyImport_ImportModule("collections");
    if (!copyreg || !collections) return -1;
    s->newobj = PyObject_GetAttrString(copyreg, "__newobj__");
    s->ordered_type = PyObject_GetAttrString(collections, "OrderedDict");
    s->list = PyList_New(0);
    return s->newobj && s->ordered_type && s->list ? 0 : -1;
}

static PyObject *save_pickle(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o, *result = NULL;
    int legacy;
    saver s = {0};
    if (!PyArg_ParseTuple(args, "OipO:_save_pickle", &o, &s.protocol, &legacy, &s.describe)) return NULL;
    s.legacy = legacy;
    if (!save_import(&s) && !save_number(&s, (char)0x80, (uint64_t)s.protocol, 1) && !save_object(&s, o) &&
        !save_op(&s, '.')) {
        result = Py_BuildValue("(y#O)", s.at, (Py_ssize_t)s.n, s.list);
    }
    PyMem_Free(s.at);
    written_free(&s.memo);
    written_free(&s.storages);
    Py_XDECREF(s.newobj);
    Py_XDECREF(s.ordered_type);
    Py_XDECREF(s.list);
    return result;
}

PyMethodDef rl_save_methods[] = {
    {"_save_pickle", save_pickle, METH_VARARGS,
     PyDoc_STR("_save_pickle(obj, protocol, legacy, describe)\n--\n\n"
               "Answers the pickle and a list of (key, bytes, number of elements) of its storages.")},
    {NULL, NULL, 0, NULL}};
