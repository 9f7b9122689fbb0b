/* Threads: the OpenMP pool that oneDNN uses too, found at run time, so that slim images without libgomp
 * still import rushlight. Without it everything runs on the calling thread. */
#define _GNU_SOURCE
#include "threads.h"
#include <ctype.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

/* ---- how many threads ----
 * A kernel takes so many unless somebody says otherwise: OMP_NUM_THREADS, else the CPUs that this
 * process may use, else fewer when its cgroup grants less CPU time than they have.
 *
 *   /proc/self/cgroup   0::/a/b          v2: cpu.max in /sys/fs/cgroup/a/b, /sys/fs/cgroup/a, /sys/fs/cgroup
 *                       4:cpu,cpuacct:/a v1: cpu.cfs_quota_us / cpu.cfs_period_us, as far up
 *
 * A container may see a path of its host, which does not exist in its own tree: the way up still ends at the
 * tree's root, and that is the container's group. The least of all levels holds. */
enum { PATH_ROOM = 8192, LINE_ROOM = 4352 };

/* The number whose digits begin there; -1 where none does, and of one that is too large. (Under _GNU_SOURCE
 * strtol is a function that only a new glibc has.) */
static int64_t number_read(const char **at) {
    int64_t n = 0;
    if (!isdigit((unsigned char)**at)) return -1;
    for (; isdigit((unsigned char)**at); ++*at)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, **at - '0', &n)) return -1;
    return n;
}

static const char *blanks_skip(const char *at) {
    while (isspace((unsigned char)*at)) at++;
    return at;
}

/* libgomp's rule: positive numbers between commas, blanks around them; anything else and none counts. */
static int omp_first(const char *text) {
    int64_t first = 0;
    for (const char *at = text;; at++) {
        at = blanks_skip(at);
        if (*at == '+') at++;
        const int64_t n = number_read(&at);
        if (n <= 0) return 0;
        if (!first) first = n;
        at = blanks_skip(at);
        if (!*at) return first < INT_MAX ? (int)first : INT_MAX;
        if (*at != ',') return 0;
    }
}

/* The first line of a file, without its end; false when there is none. */
static bool file_line(const char *folder, const char *name, char *line, int room) {
    char path[PATH_ROOM];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path) return false;
    FILE *f = fopen(path, "re");
    if (!f) return false;
    bool read = fgets(line, room, f) != NULL;
    fclose(f);
    if (read) line[strcspn(line, "\n")] = 0;
    return read;
}

/* A number that is all of the text up to `stop`; -1 for anything else. */
static int64_t number_at(const char **at, char stop) {
    const int64_t n = number_read(at);
    if (n < 0 || (**at && **at != stop)) return -1;
    if (**at) ++*at;
    return n;
}

/* ---- quotas ---- */
static int cpus_of(int64_t quota, int64_t period) { /* rounded up; INT_MAX: no limit */
    if (quota <= 0 || period <= 0) return INT_MAX;
    int64_t n = (quota - 1) / period + 1;
    return n < INT_MAX ? (int)n : INT_MAX;
}

static int quota_v2(const char *folder) {
    char line[64];
    if (!file_line(folder, "cpu.max", line, sizeof line)) return INT_MAX;
    const char *at = line;
    int64_t quota = number_at(&at, ' '); /* "max" is none */
    return cpus_of(quota, *at ? number_at(&at, 0) : 100000);
}

static int quota_v1(const char *folder) {
    char quota[32], period[32];
    if (!file_line(folder, "cpu.cfs_quota_us", quota, sizeof quota) ||
        !file_line(folder, "cpu.cfs_period_us", period, sizeof period))
        return INT_MAX;
    const char *at = quota, *of = period;
    return cpus_of(number_at(&at, 0), number_at(&of, 0)); /* a quota of -1 is none */
}

/* The least quota from top/path up to top itself. */
static int quota_up(const char *top, const char *path, int (*quota)(const char *folder)) {
    char folder[PATH_ROOM];
    size_t base = strlen(top);
    if ((size_t)snprintf(folder, sizeof folder, "%s%s", top, path) >= sizeof folder) return INT_MAX;
    int least = INT_MAX;
    for (;;) {
        int n = quota(folder);
        if (n < least) least = n;
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < base) return least;
        *slash = 0;
    }
}

static bool names_cpu(const char *controllers) {
    for (const char *at = controllers; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == 3 && memcmp(at, "cpu", 3) == 0) return true;
    return false;
}

static int quota_mounted(const char *root, const char *mount, const char *path,
                         int (*quota)(const char *folder)) {
    char top[PATH_ROOM / 2];
    if ((size_t)snprintf(top, sizeof top, "%s/sys/fs/cgroup%s", root, mount) >= sizeof top) return INT_MAX;
    return quota_up(top, path, quota);
}

static int least_of(int a, int b) {
    return a < b ? a : b;
}

/* One line of /proc/self/cgroup: "number:controllers:path"; the controllers of v2 are "". */
static int quota_of_line(const char *root, char *line) {
    char *slash = strchr(line, ':'), *path = slash ? strchr(slash + 1, ':') : NULL;
    if (!path || path[1] != '/') return INT_MAX;
    *path++ = 0;
    *slash = '/'; /* "/cpu,cpuacct", as its mount is called where /cpu is no link to it */
    if (!slash[1])
        return least_of(quota_mounted(root, "", path, quota_v2),
                        quota_mounted(root, "/unified", path, quota_v2));
    if (!names_cpu(slash + 1)) return INT_MAX;
    return least_of(quota_mounted(root, "/cpu", path, quota_v1), quota_mounted(root, slash, path, quota_v1));
}

static int quota_cpus(const char *root) {
    char path[PATH_ROOM / 2], line[LINE_ROOM];
    if ((size_t)snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= sizeof path) return INT_MAX;
    FILE *f = fopen(path, "re");
    if (!f) return INT_MAX;
    int least = INT_MAX;
    while (fgets(line, sizeof line, f)) {
        char *end = strchr(line, '\n');
        if (end) *end = 0;
        least = least_of(least, quota_of_line(root, line));
        if (!end) break; /* longer than a path may be: what follows is no line */
    }
    fclose(f);
    return least;
}

int rl_cpu_count(const char *omp, int online, int allowed, const char *root) {
    int n = omp ? omp_first(omp) : 0;
    n = n > 0 ? least_of(n, online) : least_of(allowed, quota_cpus(root));
    return n > 0 ? n : 1;
}

/* core/threads.c */
/* how many threads a kernel takes unless somebody says otherwise */
static int cpu_count_here(void) {
    enum { MOST = 8192 }; /* CPUs that Linux can have */
    static const size_t room = MOST / CHAR_BIT;
    union {
        cpu_set_t set;
        unsigned long words[MOST / CHAR_BIT / sizeof(long)];
    } mask = {.words = {0}};
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int n = online > 0 ? (int)online : 1;
    int allowed = sched_getaffinity(0, room, &mask.set) == 0 ? CPU_COUNT_S(room, &mask.set) : n;
    return rl_cpu_count(getenv("OMP_NUM_THREADS"), n, allowed, "");
}

/* ---- the pool ---- */
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
    if (RL_UNLIKELY(!pool.used)) rl_threads_set(cpu_count_here());
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
enum { REGION_NS = 10000, REGION_MAX_NS = 5 * REGION_NS, PROBE_EVERY = 32, PIECE_NS = 2500, PIECES = 4 };
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
    double best = REGION_MAX_NS / 6;
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
    if (k->threads <= 1 || work < REGION_NS || work > REGION_MAX_NS) return;
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
