/* Threads: the OpenMP pool that oneDNN uses too, found at run time, so that slim images without libgomp
 * still import rushlight. Without it everything runs on the calling thread. */
#include "threads.h"
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

typedef void (*gomp_parallel_fn)(void (*)(void *), void *, unsigned, unsigned);
static struct { /* the functions are set once and then only read; the numbers change with the GIL held */
    gomp_parallel_fn parallel;
    int (*thread_num)(void);
    int (*max_threads)(void);
    void (*set_num_threads)(int);
    int wanted, used; /* what get_num_threads() says, and what a call takes; 0 until somebody asks */
    bool forked;
} pool;
static pthread_once_t once = PTHREAD_ONCE_INIT;
enum { MOST = 1024 }; /* kernels take scratch for each thread that they may have */

/* Note [Fork]
 * libgomp's workers do not exist in a forked child and its next region would wait for them for ever,
 * so a child runs on one thread for the rest of its life. */
static void pool_after_fork(void) {
    pool.forked = true;
    pool.wanted = pool.used = 1;
}

#ifdef __SANITIZE_THREAD__
/* ThreadSanitizer does not see how libgomp's threads wait for each other; it sees these. */
typedef struct {
    void (*body)(void *);
    void *arg;
    int number;
} member;
static _Thread_local int member_number;

static int member_num(void) {
    return member_number;
}

static void *member_run(void *arg) {
    const member *m = arg;
    member_number = m->number;
    m->body(m->arg);
    return NULL;
}

static void member_parallel(void (*body)(void *), void *arg, unsigned n, unsigned flags) {
    enum { TEAM = 8 };
    member team[TEAM];
    pthread_t thread[TEAM];
    unsigned started = 1;
    (void)flags;
    for (; started < n && started < TEAM; started++) {
        team[started] = (member){body, arg, (int)started};
        if (pthread_create(&thread[started], NULL, member_run, &team[started])) break;
    }
    body(arg);
    for (unsigned i = 1; i < started; i++) pthread_join(thread[i], NULL);
}

static void pool_load(void) {
    pthread_atfork(NULL, NULL, pool_after_fork);
    pool.thread_num = member_num;
    pool.parallel = member_parallel;
}
#else
static void pool_load(void) {
    pthread_atfork(NULL, NULL, pool_after_fork);
    void *gomp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!gomp) return;
    pool.thread_num = (int (*)(void))dlsym(gomp, "omp_get_thread_num");
    pool.max_threads = (int (*)(void))dlsym(gomp, "omp_get_max_threads");
    pool.set_num_threads = (void (*)(int))dlsym(gomp, "omp_set_num_threads");
    if (pool.thread_num && pool.max_threads && pool.set_num_threads)
        pool.parallel = (gomp_parallel_fn)dlsym(gomp, "GOMP_parallel");
}
#endif

void rl_threads_load(void) {
    pthread_once(&once, pool_load);
}

void rl_threads_set(int n) {
    if (pool.forked) n = 1;
    pool.wanted = n;
    pool.used = n < MOST ? n : MOST;
}

int rl_threads_get(void) {
    if (RL_UNLIKELY(!pool.used)) rl_threads_set(rl_cpu_count_here());
    return pool.used;
}

int rl_threads_wanted(void) {
    rl_threads_get();
    return pool.wanted;
}

/* OpenMP keeps a count for each thread that calls it, whose first value is not ours to say. */
int rl_threads_lend(rl_call *k, int n) {
    (void)k;
    if (!pool.parallel || !pool.set_num_threads) return n;
    int before = pool.max_threads();
    if (before != n) pool.set_num_threads(n);
    return before;
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
