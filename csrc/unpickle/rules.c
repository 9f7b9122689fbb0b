/* What REDUCE, NEWOBJ and BUILD may do: one rule per name, arguments checked before anything is made. */
#include "rules.h"
#include "items.h"
#include "source.h"
#include "symbols.h"
#include "tensor.h"
#include <string.h>

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

rl_item *rl_rules_reduce(rl_reader *r, rl_item *callee, rl_item *args) {
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

rl_item *rl_rules_new(rl_reader *r, rl_item *cls, rl_item *args) {
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

rl_status rl_rules_build(rl_reader *r, rl_item *item, rl_item *state) {
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
