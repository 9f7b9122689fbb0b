/* Threads: the OpenMP pool that oneDNN uses too, found at run time, so that slim images without libgomp
 * still import rushlight. Without it everything runs on the calling thread. */
#include "threads.h"
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

typedef void (*gomp_parallel_fn)(void (*)(void *), void *, unsigned, unsigned);
static struct { /* the functions are set once and then only read; the numbers change with the GIL held */
    gomp_parallel_fn parallel;
    int (*thread_num)(void);
    int (*max_threads)(void);
    void (*set_num_threads)(int);
    int (*pause)(int);
    int wanted, used; /* what get_num_threads() says, and what a call takes; 0 until somebody asks */
    bool forked;      /* this is a child, and libgomp takes workers for its own that it does not have */
} pool;
static _Thread_local bool paused; /* before a fork of this thread: no worker waits for it */
static pthread_once_t once = PTHREAD_ONCE_INIT;
enum { MOST = 1024 }; /* kernels take scratch for each thread that they may have */

/* Note [Fork]
 * libgomp's workers do not exist in a forked child, and the next region of the thread that forked would wait
 * for them for ever. So that thread lets them go before it forks; parent and child start new ones when they
 * need them. Where libgomp cannot do so (before GCC 9, or inside of a region) a child runs on one thread for
 * the rest of its life. */
enum { OMP_PAUSE_HARD = 2 };
static void pool_before_fork(void) {
    paused = pool.pause && pool.pause(OMP_PAUSE_HARD) == 0;
}

static void pool_after_fork(void) {
    if (paused || !pool.parallel) return;
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
    pool.thread_num = member_num;
    pool.parallel = member_parallel; /* which starts new threads each time, in a child too */
}
#else
static void pool_load(void) {
    pthread_atfork(pool_before_fork, NULL, pool_after_fork);
    void *gomp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!gomp) return;
    pool.thread_num = (int (*)(void))dlsym(gomp, "omp_get_thread_num");
    pool.max_threads = (int (*)(void))dlsym(gomp, "omp_get_max_threads");
    pool.set_num_threads = (void (*)(int))dlsym(gomp, "omp_set_num_threads");
    pool.pause = (int (*)(int))dlsym(gomp, "omp_pause_resource_all");
    if (pool.thread_num && pool.max_threads && pool.set_num_threads)
        pool.parallel = (gomp_parallel_fn)dlsym(gomp, "GOMP_parallel");
}
#endif

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

/* Note [Regions]
 * A parallel region costs what reaching the other threads costs. That is measured: work below REGION_NS, or
 * six times that cost, is left to the calling thread. More work gets a thread for each half of that. What is
 * measured while another pool keeps the cores busy is too much, so every PROBE_EVERY calls of a size for
 * which it matters it is measured again; a call goes by one number from begin to end.
 *
 *     items    [ lane of thread 0: piece | piece | ... ][ lane of thread 1: piece | piece | ... ]
 *
 * A thread takes the pieces of its own lane, whose memory its core has seen in the call before, then those
 * that the others have not come to: another process on a core costs a piece and not the whole half. Which
 * thread takes which piece is chance, so no result may depend on it. */
enum { REGION_NS = 10000, REGION_MOST_NS = 5 * REGION_NS, PROBE_EVERY = 32, PIECE_NS = 2500, PIECES = 4 };
static int64_t region = REGION_NS;

enum { LANES = 64 };
typedef struct {
    _Alignas(64) int64_t next;
    int64_t end;
} lane;
typedef struct {
    void (*body)(void *, int64_t, int64_t, int);
    void *ctx;
    int64_t piece, lanes;
    lane lane[LANES];
} job;

static void job_run(void *arg) {
    job *j = arg;
    const int thread = pool.thread_num();
    for (int64_t i = 0; i < j->lanes; i++) {
        lane *l = &j->lane[(thread + i) % j->lanes];
        for (;;) {
            const int64_t begin = __atomic_fetch_add(&l->next, j->piece, __ATOMIC_RELAXED);
            if (begin >= l->end) break;
            j->body(j->ctx, begin, begin + j->piece < l->end ? begin + j->piece : l->end, thread);
        }
    }
}

static void job_start(int64_t n, int64_t threads, double ns, void (*body)(void *, int64_t, int64_t, int),
                      void *ctx) {
    job j;
    j.body = body, j.ctx = ctx;
    j.lanes = threads < LANES ? threads : LANES;
    j.piece = (n + PIECES * threads - 1) / (PIECES * threads);
    if ((double)j.piece * ns < PIECE_NS) j.piece = (int64_t)(PIECE_NS / ns) + 1;
    for (int64_t i = 0, at = 0; i < j.lanes; i++) {
        j.lane[i].next = at;
        j.lane[i].end = at += n / j.lanes + (i < n % j.lanes);
    }
    pool.parallel(job_run, &j, (unsigned)threads, 0);
}

static void nothing(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)ctx, (void)begin, (void)end, (void)thread;
}

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void region_measure(int threads) {
    double best = REGION_MOST_NS / 6;
    for (int i = 0; i < 3; i++) { /* the first one starts the threads, or wakes them */
        double start = now_ns();
        job_start(threads, threads, PIECE_NS, nothing, NULL);
        double cost = now_ns() - start;
        if (i && cost < best) best = cost;
    }
    int64_t found = 6 * best > REGION_NS ? (int64_t)(6 * best) : REGION_NS;
    __atomic_store_n(&region, found, __ATOMIC_RELAXED);
}

int64_t rl_threads_region(void) {
    return __atomic_load_n(&region, __ATOMIC_RELAXED);
}

static void region_probe(const rl_call *k, double work) {
    static int32_t calls;
    if (k->threads <= 1 || work < REGION_NS || work > REGION_MOST_NS) return;
    if (__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) % PROBE_EVERY == 0) region_measure(k->threads);
}

void rl_threads_parallel(rl_call *k, int64_t n, double ns, void (*body)(void *, int64_t, int64_t, int),
                         void *ctx) {
    const double work = (double)n * ns;
    if (n <= 0) return;
    if (n > 1 && work >= REGION_NS && pool.parallel && !pool.forked) region_probe(k, work);
    if (n == 1 || rl_is_serial(k, n, ns) || !pool.parallel || pool.forked) {
        body(ctx, 0, n, 0);
        return;
    }
    double worth = 2 * work / (double)k->region_ns;
    int64_t threads = n < k->threads ? n : k->threads;
    if (worth < (double)threads) threads = (int64_t)worth;
    job_start(n, threads, ns, body, ctx);
}

#ifdef __SSE2__
static void flush_denormal(void *on) {
    enum { FLUSH = 0x8000, READ_AS_ZERO = 0x40 };
    unsigned mode = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(on ? mode | FLUSH | READ_AS_ZERO : mode & ~(unsigned)(FLUSH | READ_AS_ZERO));
}

/* this thread and those of its pool; threads that start later take over what the one that starts them has */
bool rl_threads_flush_denormal(bool on) {
    static char yes;
    void *arg = on ? &yes : NULL;
    if (pool.parallel && !pool.forked && rl_threads_get() > 1)
        pool.parallel(flush_denormal, arg, (unsigned)pool.used, 0);
    flush_denormal(arg);
    return true;
}
#else
bool rl_threads_flush_denormal(bool on) {
    (void)on;
    return false;
}
#endif

void rl_threads_load(void) {
    pthread_once(&once, pool_load);
}
