/* The neutral tree: items, the steps that make them, and which of them the root reaches. */
#include "internal.h"
#include "core/error.h"
#include "core/memory.h"
#include <string.h>

const char *rl_item_title(const rl_item *i) {
    static const char *const title[] = {"None",
                                        "bool",
                                        "bool",
                                        "int",
                                        "int",
                                        "float",
                                        "complex",
                                        "str",
                                        "bytes",
                                        "bytearray",
                                        "tuple",
                                        "torch.Size",
                                        "frozenset",
                                        "list",
                                        "set",
                                        "dict",
                                        "collections.OrderedDict",
                                        "collections.Counter",
                                        "torch.dtype",
                                        "torch.layout",
                                        "torch.qscheme",
                                        "torch.device",
                                        "a class or function",
                                        "an allowed class or function",
                                        "an object of an allowed class",
                                        "an object of an allowed class",
                                        "torch.storage.UntypedStorage",
                                        "torch.Tensor",
                                        "torch.nn.parameter.Parameter",
                                        "a subclass of torch.Tensor",
                                        "a sparse tensor",
                                        "a quantized tensor"};
    return title[i->kind];
}

rl_status rl_step_add(rl_reader *r, rl_step_kind kind, rl_item *item, int64_t from, int64_t to) {
    void *steps = r->steps;
    if (rl_reader_grow(r, &steps, &r->steps_room, r->n_steps, r->n_steps + 1, sizeof *r->steps))
        return RL_FAIL;
    r->steps = steps;
    r->steps[r->n_steps++] = (rl_step){item, from, to, (uint8_t)kind};
    return RL_OK;
}

rl_item *rl_item_bare(rl_reader *r, rl_item_kind kind) {
    rl_item *i = rl_reader_alloc(r, sizeof *i);
    if (!i) return NULL;
    memset(i, 0, sizeof *i);
    i->kind = (uint8_t)kind;
    r->n_items++;
    switch (kind) {
    case RL_ITEM_INT:
    case RL_ITEM_FLOAT:
    case RL_ITEM_COMPLEX:
    case RL_ITEM_STR:
    case RL_ITEM_BYTES:
    case RL_ITEM_DTYPE:
    case RL_ITEM_LAYOUT:
    case RL_ITEM_SCHEME:
    case RL_ITEM_DEVICE: i->key_weight = 1; break;
    default: break; /* LONG stays out: equal hashes are easy to make from long integers */
    }
    return i;
}

rl_item *rl_item_new(rl_reader *r, rl_item_kind kind) {
    rl_item *i = rl_item_bare(r, kind);
    return i && rl_step_add(r, RL_STEP_MAKE, i, 0, 0) ? NULL : i;
}

rl_item *rl_item_text(rl_reader *r, rl_item_kind kind, const void *from, int64_t n) {
    char *copy = rl_reader_copy(r, from, n);
    rl_item *i = copy ? rl_item_new(r, kind) : NULL;
    if (i) i->u.text = copy, i->n = n;
    return i;
}

/* Appends to the array only; who calls decides about steps. */
static rl_status item_extend(rl_reader *r, rl_item *to, rl_item *const *items, int64_t n) {
    if (n > to->room - to->n) {
        int64_t room = to->n + n > to->room * 2 ? to->n + n : to->room * 2;
        rl_item **bigger = NULL;
        if (room < INT64_MAX / 16) bigger = rl_reader_alloc(r, room * (int64_t)sizeof *bigger);
        if (!bigger) return rl_reader_fail(r, RL_READER_MEMORY, "out of memory while reading %s", r->record);
        if (to->n) memcpy(bigger, to->u.items, (size_t)to->n * sizeof *bigger);
        to->u.items = bigger, to->room = room;
    }
    if (n) memcpy(to->u.items + to->n, items, (size_t)n * sizeof *items);
    to->n += n;
    return RL_OK;
}

rl_item *rl_item_list(rl_reader *r, rl_item_kind kind, rl_item *const *items, int64_t n) {
    if (kind == RL_ITEM_TUPLE && n == 0) return &r->nothing;
    rl_item *i = rl_item_bare(r, kind);
    if (!i || item_extend(r, i, items, n) || rl_step_add(r, RL_STEP_MAKE, i, 0, 0)) return NULL;
    if (kind == RL_ITEM_TUPLE || kind == RL_ITEM_SIZE || kind == RL_ITEM_FROZENSET) {
        int weight = 1, depth = 0;
        for (int64_t k = 0; k < n && weight; k++) {
            if (items[k]->key_depth > depth) depth = items[k]->key_depth;
            weight = items[k]->key_weight ? weight + items[k]->key_weight : 0;
            if (weight > 200) weight = 0;
        }
        i->key_weight = depth < 8 ? (uint8_t)weight : 0;
        i->key_depth = (uint8_t)(depth + 1);
    }
    return i;
}

rl_status rl_item_add(rl_reader *r, rl_item *to, rl_item *const *items, int64_t n) {
    bool pairs = to->kind >= RL_ITEM_DICT && to->kind <= RL_ITEM_COUNTER;
    if (pairs || to->kind == RL_ITEM_SET) {
        if (pairs && n % 2) return rl_reader_fail(r, RL_READER_PICKLE, "odd number of items for a dict");
        for (int64_t k = 0; k < n; k += 1 + pairs) {
            if (items[k]->key_weight) continue;
            return rl_reader_fail(
                r, RL_READER_PICKLE,
                "%s cannot be a key here: keys are str, int, float, bool, None, bytes and small "
                "tuples of those",
                rl_item_title(items[k]));
        }
    }
    int64_t from = to->n;
    if (n == 0) return RL_OK;
    if (item_extend(r, to, items, n)) return RL_FAIL;
    return rl_step_add(r, RL_STEP_ADD, to, from, to->n);
}

static void mark_push(rl_item **stack, int64_t *n, rl_item *i) {
    if (!i || i->marked) return;
    i->marked = 1;
    stack[(*n)++] = i;
}

rl_status rl_reader_mark(rl_reader *r) {
    rl_item **stack = rl_alloc(rl_count_plus(RL_COUNT(r->n_items), 4), sizeof *stack);
    if (!stack) {
        rl_error_clear();
        return rl_reader_fail(r, RL_READER_MEMORY, "out of memory while reading %s", r->record);
    }
    int64_t n = 0;
    mark_push(stack, &n, r->root);
    mark_push(stack, &n, r->metadata);
    while (n) {
        rl_item *i = stack[--n];
        mark_push(stack, &n, i->state);
        bool items = (i->kind >= RL_ITEM_TUPLE && i->kind <= RL_ITEM_COUNTER) || i->kind == RL_ITEM_CALL ||
                     i->kind == RL_ITEM_NEW || (i->kind >= RL_ITEM_PARAMETER && i->kind <= RL_ITEM_QUANTIZED);
        for (int64_t k = 0; items && k < i->n; k++) mark_push(stack, &n, i->u.items[k]);
    }
    rl_free(stack);
    return RL_OK;
}
