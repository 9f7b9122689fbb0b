/* Limits. Note [Elementwise ops] */
V_PART(FLOATS, limit, 0.15, 1, KEEP, v_min(s1, v_max(s0, a))) /* NaN stays NaN */
#define MORE(a, b) v_select(v_unordered(a, b), v_add(a, b), v_max(a, b))
#define LESS(a, b) v_select(v_unordered(a, b), v_add(a, b), v_min(a, b))
V_PART(EVERY, above, 0.2, 2, KEEP, MORE(a, b), a > b ? a : b, a | b)
V_PART(EVERY, below, 0.2, 2, KEEP, LESS(a, b), a < b ? a : b, a &b)
V_PART(NUMBERS, between, 0.3, 3, KEEP, LESS(MORE(a, b), c), (a > b ? a : b) < c ? (a > b ? a : b) : c)
#undef MORE
#undef LESS
#define BOUND(i, without) (k->arg[i].tag == RL_NONE ? (without) : rl_num(k, i))
V_FLOATS(clamp_backward, 0.2, 2, KEEP, (BOUND(2, -__builtin_inf()), BOUND(3, __builtin_inf())),
         v_select(v_mask_and(v_le(s0, b), v_le(b, s1)), a, v_zero()))
#undef BOUND
