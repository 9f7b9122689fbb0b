/* Filters over bytes. */
#ifndef RL_KERNELS_REF_RESIZE_BYTES_H
#define RL_KERNELS_REF_RESIZE_BYTES_H
#include "kernels/shared/resize.h"

/* the call of a smooth mode whose input is bytes */
rl_status rl_resize_bytes(rl_call *k);
#endif
