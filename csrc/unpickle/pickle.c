/* The pickle machine: opcodes become items and steps. It loops; nothing here recurses over file data. */
#include "internal.h"
#include "core/memory.h"
#include <string.h>

/* ---- what REDUCE, NEWOBJ and BUILD may do ----
 * one rule per name, arguments checked before anything is made */
static rl_item *rules_refuse(rl_reader *r, const char *name) {
    rl_reader_fail(r, RL_READER_PICKLE, "%s was called with arguments that PyTorch does not write", name);
    return NULL;
}

static bool rules_number(const rl_item *i, double *value) {
    if (i->kind == RL_ITEM_FLOAT) *value = i->u.d;
    if (i->kind == RL_ITEM_INT) *value = (double)i->u.i;
    return i->kind == RL_ITEM_FLOAT || i->kind == RL_ITEM_INT;
}

/* OrderedDict(): Python 3; OrderedDict([[key, value], ...]): Python 2; Counter({...}) */
static rl_item *rules_dict(rl_reader *r, rl_item_kind kind, const rl_item *args) {
    rl_item *dict = rl_item_new(r, kind);
    if (!dict || args->n == 0) return dict;
    rl_item *from = args->u.items[0];
    if (args->n == 1 && kind == RL_ITEM_COUNTER && from->kind == RL_ITEM_DICT) {
        return rl_item_add(r, dict, from->u.items, from->n) ? NULL : dict;
    }
    if (args->n != 1 || kind != RL_ITEM_ORDERED || from->kind != RL_ITEM_LIST) {
        return rules_refuse(r, rl_item_title(dict));
    }
    for (int64_t i = 0; i < from->n; i++) {
        rl_item *pair = from->u.items[i];
        if ((pair->kind != RL_ITEM_LIST && pair->kind != RL_ITEM_TUPLE) || pair->n != 2) {
            return rules_refuse(r, rl_item_title(dict));
        }
        if (rl_item_add(r, dict, pair->u.items, 2)) return NULL;
    }
    return dict;
}

static rl_item *rules_set(rl_reader *r, rl_item_kind kind, const rl_item *args) {
    const rl_item *from = args->n == 1 ? args->u.items[0] : args;
    if (args->n > 1 || (args->n && from->kind != RL_ITEM_LIST)) return rules_refuse(r, "set");
    rl_item *set = rl_item_new(r, RL_ITEM_SET);
    if (!set || rl_item_add(r, set, from->u.items, from->n)) return NULL;
    if (kind == RL_ITEM_SET) return set;
    return rl_item_list(r, RL_ITEM_FROZENSET, from->u.items, from->n);
}

/* _codecs.encode(text, 'latin1'): how protocol 2 writes bytes */
static rl_item *rules_encode(rl_reader *r, rl_item_kind kind, const rl_item *args) {
    if (args->n != 2 || args->u.items[0]->kind != RL_ITEM_STR || args->u.items[1]->kind != RL_ITEM_STR) {
        return rules_refuse(r, "_codecs.encode");
    }
    rl_text text = rl_item_str(args->u.items[0]), codec = rl_item_str(args->u.items[1]);
    if (!rl_text_is(codec, "latin1") && !rl_text_is(codec, "latin-1"))
        return rules_refuse(r, "_codecs.encode");
    uint8_t *bytes = rl_reader_alloc(r, text.n);
    if (!bytes) return NULL;
    int64_t n = 0;
    for (int64_t i = 0; i < text.n; i++) {
        uint8_t c = (uint8_t)text.at[i];
        if (c >= 0x80) {
            if ((c != 0xc2 && c != 0xc3) || i + 1 == text.n || ((uint8_t)text.at[i + 1] & 0xc0) != 0x80) {
                return rules_refuse(r, "_codecs.encode");
            }
            c = (uint8_t)(c << 6 | ((uint8_t)text.at[++i] & 0x3f));
        }
        bytes[n++] = c;
    }
    return rl_item_text(r, kind, bytes, n);
}

static rl_item *rules_bytes(rl_reader *r, rl_item_kind kind, const rl_item *args) {
    if (args->n == 0) return rl_item_text(r, kind, "", 0);
    if (kind == RL_ITEM_BYTEARRAY && args->n == 2) return rules_encode(r, kind, args); /* before Python 3.8 */
    const rl_item *from = args->u.items[0];
    if (kind != RL_ITEM_BYTEARRAY || args->n != 1 || from->kind != RL_ITEM_BYTES)
        return rules_refuse(r, "bytearray");
    return rl_item_text(r, kind, from->u.text, from->n);
}

static rl_item *rules_complex(rl_reader *r, const rl_item *args) {
    double parts[2];
    if (args->n != 2 || !rules_number(args->u.items[0], &parts[0]) ||
        !rules_number(args->u.items[1], &parts[1])) {
        return rules_refuse(r, "complex");
    }
    return rl_item_text(r, RL_ITEM_COMPLEX, parts, sizeof parts);
}

static rl_item *rules_size(rl_reader *r, const rl_item *args) {
    const rl_item *dims = args->n == 1 ? args->u.items[0] : args;
    if (args->n > 1 || (dims->kind != RL_ITEM_TUPLE && dims->kind != RL_ITEM_LIST))
        return rules_refuse(r, "torch.Size");
    for (int64_t i = 0; i < dims->n; i++) {
        if (dims->u.items[i]->kind != RL_ITEM_INT) return rules_refuse(r, "torch.Size");
    }
    return rl_item_list(r, RL_ITEM_SIZE, dims->u.items, dims->n);
}

/* device('cpu'), device('cuda', 1), device('cuda:1') */
static rl_item *rules_device(rl_reader *r, const rl_item *args) {
    static const char *const names[RL_NDEVICES] = {"cpu", "cuda", "meta"};
    if (args->n < 1 || args->n > 2 || args->u.items[0]->kind != RL_ITEM_STR)
        return rules_refuse(r, "torch.device");
    rl_text name = rl_item_str(args->u.items[0]);
    const char *colon = memchr(name.at, ':', (size_t)name.n);
    int64_t index = -1;
    if (args->n == 2) {
        const rl_item *i = args->u.items[1];
        if (colon || i->kind != RL_ITEM_INT || i->u.i < 0 || i->u.i > 127)
            return rules_refuse(r, "torch.device");
        index = i->u.i;
    }
    if (colon) {
        int64_t digits = name.at + name.n - colon - 1;
        if (digits < 1 || digits > 3) return rules_refuse(r, "torch.device");
        for (index = 0; digits; digits--) {
            int digit = colon[digits] - '0';
            if (digit < 0 || digit > 9) return rules_refuse(r, "torch.device");
        }
        for (const char *p = colon + 1; p < name.at + name.n; p++) index = index * 10 + (*p - '0');
        if (index > 127) return rules_refuse(r, "torch.device");
        name.n = colon - name.at;
    }
    for (int d = 0; d < RL_NDEVICES; d++) {
        if (!rl_text_is(name, names[d])) continue;
        rl_item *device = rl_item_new(r, RL_ITEM_DEVICE);
        if (device) device->code = d, device->u.i = index;
        return device;
    }
    rl_reader_fail(r, RL_READER_RUNTIME, "rushlight has no device of type %s", rl_reader_quote(r, name));
    return NULL;
}

static rl_item *rules_object(rl_reader *r, rl_item_kind kind, rl_item *callee, rl_item *args) {
    rl_item *pair[2] = {callee, args};
    return rl_item_list(r, kind, pair, 2);
}

static rl_item *rules_reduce(rl_reader *r, rl_item *callee, rl_item *args) {
    if (callee->kind == RL_ITEM_USER) return rules_object(r, RL_ITEM_CALL, callee, args);
    switch (callee->kind == RL_ITEM_SYMBOL ? callee->code : RL_SYMBOL_NONE) {
    case RL_SYMBOL_ORDERED: return rules_dict(r, RL_ITEM_ORDERED, args);
    case RL_SYMBOL_COUNTER: return rules_dict(r, RL_ITEM_COUNTER, args);
    case RL_SYMBOL_SET: return rules_set(r, RL_ITEM_SET, args);
    case RL_SYMBOL_FROZENSET: return rules_set(r, RL_ITEM_FROZENSET, args);
    case RL_SYMBOL_BYTES: return args->n ? rules_refuse(r, "bytes") : rules_bytes(r, RL_ITEM_BYTES, args);
    case RL_SYMBOL_BYTEARRAY: return rules_bytes(r, RL_ITEM_BYTEARRAY, args);
    case RL_SYMBOL_COMPLEX: return rules_complex(r, args);
    case RL_SYMBOL_ENCODE: return rules_encode(r, RL_ITEM_BYTES, args);
    case RL_SYMBOL_SIZE: return rules_size(r, args);
    case RL_SYMBOL_DEVICE: return rules_device(r, args);
    default: break;
    }
    if (callee->kind == RL_ITEM_SYMBOL) return rl_rules_tensor(r, callee, args);
    rl_reader_fail(r, RL_READER_PICKLE, "Trying to call reduce for unrecognized function %s",
                   rl_item_title(callee));
    return NULL;
}

static rl_item *rules_new(rl_reader *r, rl_item *cls, rl_item *args) {
    if (cls->kind == RL_ITEM_USER) return rules_object(r, RL_ITEM_NEW, cls, args);
    if (cls->kind == RL_ITEM_SYMBOL && cls->code == RL_SYMBOL_ORDERED)
        return rules_dict(r, RL_ITEM_ORDERED, args);
    if (cls->kind == RL_ITEM_SYMBOL && cls->code == RL_SYMBOL_SIZE) return rules_size(r, args);
    if (cls->kind == RL_ITEM_SYMBOL && cls->code == RL_SYMBOL_PARAMETER && args->n == 0) {
        return rl_item_bare(r, RL_ITEM_PARAMETER); /* exists once BUILD brings its data */
    }
    rl_reader_fail(
        r, RL_READER_PICKLE,
        "Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` "
        "but got %s",
        cls->kind == RL_ITEM_SYMBOL ? rl_symbol_name(cls->code) : rl_item_title(cls));
    return NULL;
}

static rl_status rules_build(rl_reader *r, rl_item *item, rl_item *state) {
    if (item->state) return rl_reader_fail(r, RL_READER_PICKLE, "an object gets its state twice");
    switch (item->kind) {
    case RL_ITEM_ORDERED:
        if (state->kind != RL_ITEM_DICT) {
            return rl_reader_fail(r, RL_READER_PICKLE,
                                  "the attributes of an OrderedDict must be a dict, but got %s",
                                  rl_item_title(state));
        }
        break;
    case RL_ITEM_CALL:
    case RL_ITEM_NEW: break;
    case RL_ITEM_TENSOR: return rl_rules_old_tensor(r, item, state);
    case RL_ITEM_PARAMETER: return rl_rules_old_parameter(r, item, state);
    default:
        return rl_reader_fail(r, RL_READER_PICKLE,
                              "Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                              "`add_safe_globals`, but got %s",
                              rl_item_title(item));
    }
    item->state = state;
    return rl_step_add(r, RL_STEP_BUILD, item, 0, 0);
}

/* ---- the machine ---- */
typedef struct {
    rl_reader *reader;
    rl_input *in;
    rl_item **stack;
    int64_t n, room;
    int64_t *marks; /* stack heights; an opcode never reaches below the last one */
    int64_t n_marks, marks_room;
    rl_item **memo; /* by number, NULL where nothing was put */
    int64_t memo_n, memo_room;
} machine;

/* ---- the stack ---- */
static rl_status machine_push(machine *m, rl_item *i) {
    if (!i) return RL_FAIL;
    void *stack = m->stack;
    if (rl_reader_grow(m->reader, &stack, &m->room, m->n, m->n + 1, sizeof *m->stack)) return RL_FAIL;
    m->stack = stack;
    m->stack[m->n++] = i;
    return RL_OK;
}

static int64_t machine_floor(const machine *m) {
    return m->n_marks ? m->marks[m->n_marks - 1] : 0;
}

static rl_status machine_need(machine *m, int64_t n) {
    if (m->n - machine_floor(m) >= n) return RL_OK;
    return rl_reader_fail(m->reader, RL_READER_PICKLE, "unexpected MARK found or stack underflow");
}

static rl_status machine_mark(machine *m) {
    void *marks = m->marks;
    if (rl_reader_grow(m->reader, &marks, &m->marks_room, m->n_marks, m->n_marks + 1, sizeof *m->marks))
        return RL_FAIL;
    m->marks = marks;
    m->marks[m->n_marks++] = m->n;
    return RL_OK;
}

/* What stands above the last mark; the mark is gone afterwards. -1: there was none. */
static int64_t machine_unmark(machine *m, rl_item ***items) {
    if (!m->n_marks) {
        rl_reader_fail(m->reader, RL_READER_PICKLE, "could not find MARK");
        return -1;
    }
    int64_t n = m->n - m->marks[--m->n_marks];
    m->n -= n;
    *items = m->stack + m->n;
    return n;
}

static rl_status machine_put(machine *m, int64_t index) {
    if (machine_need(m, 1)) return RL_FAIL;
    /* picklers count from 0, so a number larger than the pickle is a lie */
    if (index >= m->in->end)
        return rl_reader_fail(m->reader, RL_READER_PICKLE, "memo number %lld is too large", (long long)index);
    if (index >= m->memo_n) {
        void *memo = m->memo;
        if (rl_reader_grow(m->reader, &memo, &m->memo_room, m->memo_n, index + 1, sizeof *m->memo))
            return RL_FAIL;
        m->memo = memo;
        memset(m->memo + m->memo_n, 0, (size_t)(index + 1 - m->memo_n) * sizeof *m->memo);
        m->memo_n = index + 1;
    }
    m->memo[index] = m->stack[m->n - 1];
    return RL_OK;
}

static rl_status machine_get(machine *m, int64_t index) {
    if (index >= m->memo_n || !m->memo[index]) {
        return rl_reader_fail(m->reader, RL_READER_PICKLE, "memo value not found at index %lld",
                              (long long)index);
    }
    return machine_push(m, m->memo[index]);
}

static rl_status machine_tuple(machine *m, int n) {
    if (machine_need(m, n)) return RL_FAIL;
    m->n -= n;
    return machine_push(m, rl_item_list(m->reader, RL_ITEM_TUPLE, m->stack + m->n, n));
}

static rl_status machine_add(machine *m, rl_item *const *items, int64_t n, const char *opcode) {
    if (machine_need(m, 1)) return RL_FAIL;
    rl_item *to = m->stack[m->n - 1];
    bool pairs = to->kind >= RL_ITEM_DICT && to->kind <= RL_ITEM_COUNTER;
    if (opcode[0] == 'S' && !pairs) {
        return rl_reader_fail(
            m->reader, RL_READER_PICKLE,
            "Can only %s for dict, collections.OrderedDict, collections.Counter, but got %s", opcode,
            rl_item_title(to));
    }
    if (opcode[0] == 'A' && to->kind != (opcode[1] == 'D' ? RL_ITEM_SET : RL_ITEM_LIST)) {
        return rl_reader_fail(m->reader, RL_READER_PICKLE, "Can only %s %s, but got %s",
                              opcode[1] == 'D' ? "add to"
                              : opcode[6]      ? "extend"
                                               : "append to",
                              opcode[1] == 'D' ? "sets" : "lists", rl_item_title(to));
    }
    return rl_item_add(m->reader, to, items, n);
}

static rl_status machine_add_marked(machine *m, const char *opcode) {
    rl_item **items;
    int64_t n = machine_unmark(m, &items);
    return n < 0 ? RL_FAIL : machine_add(m, items, n, opcode);
}

/* ---- atoms ---- */
static uint64_t bits_of(const uint8_t *p, int n) {
    uint64_t u = 0;
    for (int i = n - 1; i >= 0; i--) u = u << 8 | p[i];
    return u;
}

static rl_status machine_int(machine *m, int64_t value) {
    rl_item *i = rl_item_new(m->reader, RL_ITEM_INT);
    if (i) i->u.i = value;
    return machine_push(m, i);
}

static rl_status machine_long(machine *m, const uint8_t *p, int64_t n) {
    while (n > 1 && ((p[n - 1] == 0 && p[n - 2] < 128) || (p[n - 1] == 255 && p[n - 2] >= 128))) n--;
    if (n == 0) return machine_int(m, 0);
    if (n > 8) return machine_push(m, rl_item_text(m->reader, RL_ITEM_LONG, p, n));
    uint64_t u = bits_of(p, (int)n);
    if (n < 8 && p[n - 1] >= 128) u |= ~(uint64_t)0 << (8 * n);
    return machine_int(m, (int64_t)u);
}

static rl_status machine_float(machine *m, const uint8_t *p) {
    uint64_t u = 0;
    for (int i = 0; i < 8; i++) u = u << 8 | p[i];
    rl_item *f = rl_item_new(m->reader, RL_ITEM_FLOAT);
    if (f) memcpy(&f->u.d, &u, 8);
    return machine_push(m, f);
}

/* A length of `bytes` bytes, then that much text. */
static rl_status machine_text(machine *m, int bytes, int kind) {
    const uint8_t *p = rl_input_take(m->in, bytes);
    if (!p) return RL_FAIL;
    uint64_t n = bits_of(p, bytes);
    if (n > INT64_MAX)
        return rl_reader_fail(m->reader, RL_READER_PICKLE, "a length in the pickle is negative or too large");
    p = rl_input_take(m->in, (int64_t)n);
    if (!p) return RL_FAIL;
    if (kind == RL_ITEM_LONG) return machine_long(m, p, (int64_t)n);
    if (kind == RL_ITEM_STR && !rl_text_utf8((rl_text){(const char *)p, (int64_t)n}, true)) {
        return rl_reader_fail(m->reader, RL_READER_PICKLE, "a text in the pickle is not UTF-8");
    }
    return machine_push(m, rl_item_text(m->reader, (rl_item_kind)kind, p, (int64_t)n));
}

/* ---- names ---- */
static rl_status machine_line(machine *m, rl_text *line) {
    char text[256];
    int64_t n = 0;
    for (;;) {
        const uint8_t *c = rl_input_take(m->in, 1);
        if (!c) return RL_FAIL;
        if (*c == '\n') break;
        if (n == sizeof text)
            return rl_reader_fail(m->reader, RL_READER_PICKLE, "the name of a GLOBAL is too long");
        text[n++] = (char)*c;
    }
    *line = (rl_text){rl_reader_copy(m->reader, text, n), n};
    return line->at ? RL_OK : RL_FAIL;
}

static rl_status machine_global(machine *m) {
    rl_text module, name;
    if (machine_line(m, &module) || machine_line(m, &name)) return RL_FAIL;
    return machine_push(m, rl_symbol_find(m->reader, module, name));
}

static rl_status machine_stack_global(machine *m) {
    if (machine_need(m, 2)) return RL_FAIL;
    rl_item *name = m->stack[--m->n], *module = m->stack[--m->n];
    if (name->kind != RL_ITEM_STR || module->kind != RL_ITEM_STR) {
        return rl_reader_fail(m->reader, RL_READER_PICKLE, "STACK_GLOBAL requires str");
    }
    return machine_push(m, rl_symbol_find(m->reader, rl_item_str(module), rl_item_str(name)));
}

/* callee, args -> result */
static rl_status machine_call(machine *m, rl_item *(*rule)(rl_reader *, rl_item *, rl_item *)) {
    if (machine_need(m, 2)) return RL_FAIL;
    rl_item *args = m->stack[--m->n], *callee = m->stack[--m->n];
    if (args->kind != RL_ITEM_TUPLE) {
        return rl_reader_fail(m->reader, RL_READER_PICKLE, "arguments must be a tuple, but got %s",
                              rl_item_title(args));
    }
    return machine_push(m, rule(m->reader, callee, args));
}

/* One opcode. *stop is set by STOP. */
static rl_status machine_step(machine *m, uint8_t op, bool *stop) {
    rl_reader *r = m->reader;
    const uint8_t *p;
    rl_item **items;
    int64_t n;
#define TAKE(count)                                                                                          \
    if (!(p = rl_input_take(m->in, (count)))) return RL_FAIL
    switch (op) {
    case 0x80: /* PROTO */
        TAKE(1);
        return *p <= 5 ? RL_OK : rl_reader_fail(r, RL_READER_PICKLE, "unsupported pickle protocol: %d", *p);
    case 0x95: /* FRAME: only a promise about lengths */
        TAKE(8);
        if (bits_of(p, 8) > (uint64_t)(m->in->end - m->in->at)) {
            return rl_reader_fail(r, RL_READER_EOF, "a frame in %s is longer than what is left", r->record);
        }
        return RL_OK;
    case '.': *stop = true; return RL_OK;
    case '(': return machine_mark(m);
    case 'N': return machine_push(m, &r->none);
    case 0x88: return machine_push(m, &r->truth[1]);
    case 0x89: return machine_push(m, &r->truth[0]);
    case 'K': TAKE(1); return machine_int(m, *p);
    case 'M': TAKE(2); return machine_int(m, (int64_t)bits_of(p, 2));
    case 'J': TAKE(4); return machine_int(m, (int32_t)bits_of(p, 4));
    case 0x8a: return machine_text(m, 1, RL_ITEM_LONG); /* LONG1 */
    case 0x8b:                                          /* LONG4: its length has a sign */
        TAKE(4);
        n = (int32_t)bits_of(p, 4);
        if (n < 0) return rl_reader_fail(r, RL_READER_PICKLE, "LONG pickle has negative byte count");
        TAKE(n);
        return machine_long(m, p, n);
    case 'G': TAKE(8); return machine_float(m, p);
    case 0x8c:                                        /* SHORT_BINUNICODE */
    case 'U': return machine_text(m, 1, RL_ITEM_STR); /* SHORT_BINSTRING: text in files of Python 2 */
    case 'X':
    case 'T': return machine_text(m, 4, RL_ITEM_STR);
    case 0x8d: return machine_text(m, 8, RL_ITEM_STR);
    case 'C': return machine_text(m, 1, RL_ITEM_BYTES);
    case 'B': return machine_text(m, 4, RL_ITEM_BYTES);
    case 0x8e: return machine_text(m, 8, RL_ITEM_BYTES);
    case 0x96: return machine_text(m, 8, RL_ITEM_BYTEARRAY);
    case ')': return machine_push(m, &r->nothing);
    case 0x85: return machine_tuple(m, 1);
    case 0x86: return machine_tuple(m, 2);
    case 0x87: return machine_tuple(m, 3);
    case 't':
    case 0x91: /* FROZENSET */
        if ((n = machine_unmark(m, &items)) < 0) return RL_FAIL;
        if (op == 't') return machine_push(m, rl_item_list(r, RL_ITEM_TUPLE, items, n));
        {
            rl_item *set = rl_item_list(r, RL_ITEM_FROZENSET, items, n);
            if (set && !set->key_weight && n) {
                for (int64_t k = 0; k < n; k++) {
                    if (!items[k]->key_weight)
                        return rl_reader_fail(r, RL_READER_PICKLE,
                                              "a frozenset holds an item that cannot be hashed: %s",
                                              rl_item_title(items[k]));
                }
            }
            return machine_push(m, set);
        }
    case ']': return machine_push(m, rl_item_new(r, RL_ITEM_LIST));
    case '}': return machine_push(m, rl_item_new(r, RL_ITEM_DICT));
    case 0x8f: return machine_push(m, rl_item_new(r, RL_ITEM_SET));
    case 'a':
        if (machine_need(m, 2)) return RL_FAIL;
        m->n -= 1;
        return machine_add(m, m->stack + m->n, 1, "APPEND");
    case 's':
        if (machine_need(m, 3)) return RL_FAIL;
        m->n -= 2;
        return machine_add(m, m->stack + m->n, 2, "SETITEM");
    case 'e': return machine_add_marked(m, "APPENDS");
    case 'u': return machine_add_marked(m, "SETITEMS");
    case 0x90: return machine_add_marked(m, "ADDITEMS");
    case 'q': TAKE(1); return machine_put(m, *p);
    case 'r': TAKE(4); return machine_put(m, (int64_t)bits_of(p, 4));
    case 0x94: return machine_put(m, m->memo_n); /* MEMOIZE */
    case 'h': TAKE(1); return machine_get(m, *p);
    case 'j': TAKE(4); return machine_get(m, (int64_t)bits_of(p, 4));
    case 'c': return machine_global(m);
    case 0x93: return machine_stack_global(m);
    case 'R': return machine_call(m, rules_reduce);
    case 0x81: return machine_call(m, rules_new);
    case 'b':
        if (machine_need(m, 2)) return RL_FAIL;
        m->n -= 1;
        return rules_build(r, m->stack[m->n - 1], m->stack[m->n]);
    case 'Q':
        if (machine_need(m, 1)) return RL_FAIL;
        m->n -= 1;
        return machine_push(m, r->persistent(r, m->stack[m->n]));
    default: return rl_reader_fail(r, RL_READER_PICKLE, "Unsupported operand %d", op);
    }
#undef TAKE
}

rl_status rl_pickle_read(rl_reader *r, rl_input *in, rl_item **root) {
    machine m = {.reader = r, .in = in};
    bool stop = false;
    void *stack = NULL;
    rl_status status = rl_reader_grow(r, &stack, &m.room, 0, 64, sizeof *m.stack);
    m.stack = stack; /* never NULL below: even no items have an address */
    while (!status && !stop) {
        const uint8_t *op = rl_input_take(in, 1);
        status = op ? machine_step(&m, *op, &stop) : RL_FAIL;
    }
    if (!status && (m.n != 1 || m.n_marks)) {
        status =
            rl_reader_fail(r, RL_READER_PICKLE,
                           "the pickle ends with %lld values on its stack instead of one", (long long)m.n);
    }
    if (!status) *root = m.stack[0];
    rl_free(m.stack);
    rl_free(m.marks);
    rl_free(m.memo);
    return status;
}
