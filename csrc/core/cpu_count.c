/* How many threads a kernel takes unless somebody says otherwise: OMP_NUM_THREADS, else the CPUs that this
 * process may use, else fewer when its cgroup grants less CPU time than they have.
 *
 *   /proc/self/cgroup   0::/a/b          v2: cpu.max in /sys/fs/cgroup/a/b, /sys/fs/cgroup/a, /sys/fs/cgroup
 *                       4:cpu,cpuacct:/a v1: cpu.cfs_quota_us / cpu.cfs_period_us, as far up
 *
 * A container may see a path of its host, which does not exist in its own tree: the way up still ends at the
 * tree's root, and that is the container's group. The least of all levels holds. */
#define _GNU_SOURCE
#include "threads.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_ROOM = 8192, LINE_ROOM = 4352 };

/* libgomp's rule: positive numbers between commas, blanks around them; anything else and none counts. */
static int omp_first(const char *text) {
    long first = 0;
    for (const char *at = text;; at++) {
        char *end;
        errno = 0;
        long n = strtol(at, &end, 10);
        if (end == at || errno || n <= 0) return 0;
        if (!first) first = n;
        while (isspace((unsigned char)*end)) end++;
        if (!*end) return first < INT_MAX ? (int)first : INT_MAX;
        if (*end != ',') return 0;
        at = end;
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
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)**at)) return -1;
    long long n = strtoll(*at, &end, 10);
    if (errno || (*end && *end != stop)) return -1;
    *at = *end ? end + 1 : end;
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

int rl_cpu_count_here(void) {
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
