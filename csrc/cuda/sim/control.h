/* What tests ask of the simulated device. Compiled as C and as C++. */
#ifndef RL_CUDA_SIM_CONTROL_H
#define RL_CUDA_SIM_CONTROL_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
/* ---- findings of the checks ---- */
int cuda_sim_reports(void);
const char *cuda_sim_report(int i);
void cuda_sim_clear_reports(void);

/* ---- order: which of the entries that may run next does, and which thread of a block ---- */
void cuda_sim_seed(uint64_t seed);

/* ---- failures ---- */
long cuda_sim_calls(void);                     /* of the runtime so far */
void cuda_sim_fail(long call, int times);      /* the call-th from now on, and the next ones; 0: none */
const char *cuda_sim_failed(void);             /* the name of the call that was told to fail */
void cuda_sim_break(void);                     /* once it comes to what the current device queues next */
void cuda_sim_mend(void);                      /* a device that broke works again */
void cuda_sim_limit(int device, size_t bytes); /* how much memory it lets anybody have */
size_t cuda_sim_in_use(int device);            /* bytes of cudaMalloc that nobody freed */
#ifdef __cplusplus
}
#endif
#endif
