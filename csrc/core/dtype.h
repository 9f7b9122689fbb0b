/* Names and properties of dtypes; the default one. */
#ifndef RL_CORE_DTYPE_H
#define RL_CORE_DTYPE_H
#include "kernel_abi/kernel.h"

const char *rl_dtype_name(int dtype);     /* "float32" */
const char *rl_dtype_title(int dtype);    /* "Float", as PyTorch's messages say */
const char *rl_dtype_cpp_name(int dtype); /* "float", as some of them say */
bool rl_dtype_is_floating(int dtype);     /* as PyTorch says it: with the 8-bit ones that are only kept */
bool rl_dtype_has_grad(int dtype);        /* may a tensor of it require gradients? */
int rl_dtype_promote(int a, int b);
int rl_dtype_default(void);
void rl_dtype_default_set(int dtype);
#endif
