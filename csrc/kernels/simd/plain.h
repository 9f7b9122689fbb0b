/* Inputs as one contiguous block of float32. */
#ifndef RL_SIMD_PLAIN_H
#define RL_SIMD_PLAIN_H
#include "contract/kernel.h"
/* The view's own memory when it is contiguous, else a copy in scratch; NULL (reported) without memory. */
const float *rl_plain_input(rl_call *k, const rl_view *v);
#endif
