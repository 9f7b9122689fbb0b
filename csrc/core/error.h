/* The pending error of this thread, which the dispatcher raises. */
#ifndef RL_CORE_ERROR_H
#define RL_CORE_ERROR_H
#include "kernel_abi/kernel.h"

rl_status rl_error_set(rl_error kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
rl_error rl_error_kind(void); /* 0 when none is pending */
const char *rl_error_text(void);
void rl_error_clear(void);
#define RL_DIMS_TEXT 256
/* "[2, 3]"; long shapes end in "...]" */
const char *rl_dims_text(char text[RL_DIMS_TEXT], const int64_t *dims, int n);
#endif
