/* For cuda_init.c: what rushlight._cuda_sim has beside the functions of rushlight._cuda. */
#ifndef RL_CUDA_SIM_INIT_H
#define RL_CUDA_SIM_INIT_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyMethodDef rl_cuda_sim_functions[];
#endif
