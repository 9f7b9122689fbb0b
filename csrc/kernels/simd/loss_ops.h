/* Losses that work element by element: values of input a, target b and weights; slopes of the gradient a,
 * input b, target c and weights, times s0. Notes [Elementwise ops], [Element losses] */
V_PART(FLOATS, mse_loss, 0.2, 2, KEEP, v_mul(v_sub(a, b), v_sub(a, b)))
V_PART(FLOATS, mse_loss_backward, 0.25, 3, KEEP, v_mul(v_mul(v_sub(b, c), v_add(s0, s0)), a))
V_PART(FLOATS, l1_loss, 0.2, 2, KEEP, v_abs(v_sub(a, b)))
V_PART(FLOATS, l1_loss_backward, 0.25, 3, KEEP,
       v_mul(a, v_select(v_lt(c, b), s0, v_select(v_lt(b, c), v_sub(v_zero(), s0), v_zero()))))

/* border */
#define HALF v_set((V_ELEMENT)0.5)
#define GAP  v_abs(v_sub(a, b))
V_PART(FLOATS, huber_loss, 0.3, 2, KEEP,
       v_select(v_lt(GAP, s0), v_mul(v_mul(HALF, GAP), GAP), v_mul(s0, v_sub(GAP, v_mul(HALF, s0)))))
V_PART(FLOATS, smooth_l1_loss, 0.3, 2, KEEP,
       v_select(v_lt(GAP, s0), v_div(v_mul(v_mul(HALF, GAP), GAP), s0), v_sub(GAP, v_mul(HALF, s0))))
#undef GAP
#undef HALF
/* s1: border, below zero too */
V_PART(FLOATS, huber_loss_backward, 0.3, 3, KEEP,
       v_mul(v_mul(v_select(v_le(v_sub(b, c), v_sub(v_zero(), s1)), v_sub(v_zero(), s1),
                            v_select(v_le(s1, v_sub(b, c)), s1, v_sub(b, c))),
                   s0),
             a))
V_PART(FLOATS, smooth_l1_loss_backward, 0.3, 3, KEEP,
       v_mul(v_mul(a, s0), v_select(v_le(v_sub(b, c), v_sub(v_zero(), s1)), v_set(-1),
                                    v_select(v_le(s1, v_sub(b, c)), v_set(1), v_div(v_sub(b, c), s1)))))

#define ONE     v_set(1)
#define LESS(x) v_xor(v_set((V_ELEMENT) - 0.0), x)
#define DECAY   V_NAME(math_exp)(LESS(v_mul(b, c)))
V_PART(FLOAT32, soft_margin_loss, 0.8, 2, KEEP, V_NAME(math_log1p)(V_NAME(math_exp)(LESS(v_mul(a, b)))))
V_PART(FLOAT32, soft_margin_loss_backward, 0.6, 3, KEEP,
       v_mul(v_mul(LESS(v_mul(c, v_div(DECAY, v_add(ONE, DECAY)))), a), s0))
#undef DECAY

V_PART(FLOAT32, kl_div, 0.6, 2, KEEP,
       v_sub(v_select(v_eq(b, v_zero()), v_zero(), v_mul(b, V_NAME(math_log)(b))), v_mul(b, a)))
V_PART(FLOAT32, kl_div_log, 0.5, 2, KEEP, v_mul(V_NAME(math_exp)(b), v_sub(b, a)))
V_PART(FLOATS, kl_div_backward, 0.2, 2, KEEP, v_mul(v_mul(a, b), LESS(s0)))
V_PART(FLOAT32, kl_div_log_backward, 0.4, 2, KEEP, v_mul(v_mul(a, V_NAME(math_exp)(b)), LESS(s0)))

/* 1 where a is no probability */
V_PART(FLOAT32, outside, 0.15, 1, KEEP, v_select(v_mask_and(v_le(v_zero(), a), v_le(a, ONE)), v_zero(), ONE))
#define LIMITED(x) v_max(v_set(-100), x)
V_PART(FLOAT32, binary_cross_entropy, 1, 3, KEEP,
       v_mul(c, v_fms(v_sub(b, ONE), LIMITED(V_NAME(math_log1p)(LESS(a))),
                      v_mul(b, LIMITED(V_NAME(math_log)(a))))))
#undef LIMITED
V_PART(FLOAT32, binary_cross_entropy_backward, 0.4, 4, KEEP,
       v_mul(v_mul(v_div(v_mul(a, v_sub(b, c)), v_max(v_set(1e-12f), v_mul(v_sub(ONE, b), b))), d), s0))
V_PART(FLOAT32, binary_cross_entropy_with_logits, 0.8, 4, KEEP,
       v_mul(c, v_sub(v_mul(v_sub(ONE, b), a),
                      v_mul(v_fma(v_sub(d, ONE), b, ONE), V_NAME(math_log_sigmoid)(a)))))
V_PART(FLOAT32, binary_cross_entropy_with_logits_backward, 0.6, 5, KEEP,
       v_mul(v_mul(v_mul(a, d), s0), v_fms(v_sub(v_fma(e, c, ONE), c), V_NAME(math_sigmoid)(b), v_mul(e, c))))
#undef ONE
#undef LESS
