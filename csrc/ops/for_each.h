/* RL_FOR_EACH(M, a, b, c): M(a) M(b) M(c), for up to eight. */
#ifndef RL_OPS_FOR_EACH_H
#define RL_OPS_FOR_EACH_H
#define RL_EACH_1(M, a)                              M(a)
#define RL_EACH_2(M, a, ...)                         M(a) RL_EACH_1(M, __VA_ARGS__)
#define RL_EACH_3(M, a, ...)                         M(a) RL_EACH_2(M, __VA_ARGS__)
#define RL_EACH_4(M, a, ...)                         M(a) RL_EACH_3(M, __VA_ARGS__)
#define RL_EACH_5(M, a, ...)                         M(a) RL_EACH_4(M, __VA_ARGS__)
#define RL_EACH_6(M, a, ...)                         M(a) RL_EACH_5(M, __VA_ARGS__)
#define RL_EACH_7(M, a, ...)                         M(a) RL_EACH_6(M, __VA_ARGS__)
#define RL_EACH_8(M, a, ...)                         M(a) RL_EACH_7(M, __VA_ARGS__)
#define RL_EACH_N(a, b, c, d, e, f, g, h, name, ...) name
#define RL_FOR_EACH(M, ...)                                                                                  \
    RL_EACH_N(__VA_ARGS__, RL_EACH_8, RL_EACH_7, RL_EACH_6, RL_EACH_5, RL_EACH_4, RL_EACH_3, RL_EACH_2,      \
              RL_EACH_1)                                                                                     \
    (M, __VA_ARGS__)
#endif
