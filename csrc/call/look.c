/* One look at the tensors of a call, for all that the dispatcher asks of them. */
#include "call.h"

/* a number that became a tensor (rl_word) is a view of no tensor */
static bool is_word(const rl_bound *b, const rl_view *v) {
    const char *at = (const char *)v, *words = (const char *)b->words;
    return b->n_words && at >= words && at < words + sizeof b->words;
}

static void look_at(const rl_bound *b, rl_look *l, const rl_view *v, int arg) {
    l->dtypes |= RL_BIT(v->dtype);
    l->devices |= 1u << v->device;
    l->elements += (uint64_t)v->numel;
    l->bits |= (uint64_t)v->numel;
    if (!is_word(b, v) && rl_requires_grad(RL_TENSOR_OF(v))) l->needs |= 1u << arg;
}

void rl_call_look(rl_bound *b) {
    const rl_operator *op = b->schema->op;
    rl_look *l = &b->look;
    *l = (rl_look){.dtypes = 0};
    for (uint32_t left = op->tensors; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        const rl_slot *s = &b->k.arg[i];
        if (s->tag == RL_TENSOR)
            look_at(b, l, s->u.t, i);
        else if (s->tag != RL_NONE)
            l->numbers |= 1u << s->tag;
    }
    for (uint32_t left = op->lists; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        const rl_slot *s = &b->k.arg[i];
        for (int j = 0; s->tag == RL_TENSORS && j < s->n; j++)
            if (s->u.ts[j]) look_at(b, l, s->u.ts[j], i);
    }
}
