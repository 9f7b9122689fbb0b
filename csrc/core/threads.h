/* How many threads a call uses, and their parallel loops. */
#ifndef RL_CORE_THREADS_H
#define RL_CORE_THREADS_H
#include "kernel_abi/kernel.h"

void rl_threads_load(void);  /* finds libgomp once; without it all runs serially */
int rl_threads_get(void);    /* how many a call may use */
int rl_threads_wanted(void); /* the number that was set, however large */
void rl_threads_set(int n);
int rl_threads_lend(rl_call *k, int n); /* svc->openmp */
void rl_threads_parallel(rl_call *k, int64_t n, double ns, void (*body)(void *, int64_t, int64_t, int),
                         void *ctx);

bool rl_threads_flush_denormal(bool on); /* numbers below the normal ones are 0; false: not here */
int64_t rl_threads_region(void);         /* nanoseconds of work that are worth a second thread, now */

/* The same from OMP_NUM_THREADS (or NULL), the CPUs of the machine and of this process, and a root of files.
 */
int rl_cpu_count(const char *omp, int online, int allowed, const char *root);
#endif
