/* Threads: the OpenMP pool that oneDNN uses too, found at run time, so that slim images without libgomp
 * still import rushlight. Without it everything runs on the calling thread. */
#include "core.h"
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

typedef void (*gomp_parallel_fn)(void (*)(void *), void *, unsigned, unsigned);
static struct {
    gomp_parallel_fn parallel;
    int (*thread_num)(void);
    void (*set_num_threads)(int);
    int wanted;
    bool forked;
} pool;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Note [Fork]
 * libgomp's workers do not exist in a forked child and its next region would wait for them for ever,
 * so a child runs on one thread for the rest of its life. */
static void pool_after_fork(void) {
    pool.forked = true;
    if (pool.set_num_threads) pool.set_num_threads(1);
}

static void pool_load(void) {
    pthread_atfork(NULL, NULL, pool_after_fork);
    void *gomp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!gomp) return;
    pool.parallel = (gomp_parallel_fn)dlsym(gomp, "GOMP_parallel");
    pool.thread_num = (int (*)(void))dlsym(gomp, "omp_get_thread_num");
    pool.set_num_threads = (void (*)(int))dlsym(gomp, "omp_set_num_threads");
    if (!pool.thread_num || !pool.set_num_threads) pool.parallel = NULL;
}

void rl_threads_load(void) {
    pthread_once(&once, pool_load);
}

int rl_threads_get(void) {
    if (!pool.wanted) {
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        pool.wanted = n > 0 ? (int)n : 1;
    }
    return pool.forked ? 1 : pool.wanted;
}

void rl_threads_set(int n) {
    rl_threads_load();
    pool.wanted = n;
    if (pool.set_num_threads) pool.set_num_threads(rl_threads_get());
}

/* Chunks are handed out one by one: another process on a core then costs a chunk, not the whole half. */
typedef struct {
    void (*body)(void *, int64_t, int64_t, int);
    void *ctx;
    int64_t n, chunk, next;
} job;

static void job_run(void *arg) {
    job *j = arg;
    int thread = pool.thread_num();
    for (;;) {
        int64_t begin = __atomic_fetch_add(&j->next, j->chunk, __ATOMIC_RELAXED);
        if (begin >= j->n) return;
        int64_t end = begin + j->chunk < j->n ? begin + j->chunk : j->n;
        j->body(j->ctx, begin, end, thread);
    }
}

void rl_threads_parallel(rl_call *k, int64_t n, int64_t grain, void (*body)(void *, int64_t, int64_t, int),
                         void *ctx) {
    int threads = k->threads;
    if (grain < 1) grain = 1;
    if (n <= 0) return;
    if (n <= grain || threads <= 1 || !pool.parallel || pool.forked) {
        body(ctx, 0, n, 0);
        return;
    }
    int64_t pieces = (n + grain - 1) / grain;
    if (pieces < threads) threads = (int)pieces;
    int64_t chunk = (n + 4 * threads - 1) / (4 * threads);
    job j = {body, ctx, n, chunk > grain ? chunk : grain, 0};
    pool.parallel(job_run, &j, (unsigned)threads, 0);
}
