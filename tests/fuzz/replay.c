/* Drives the fuzzed function without libFuzzer: every seed as it is, then mutants of them from a fixed
 * sequence.
 *
 *     replay FOLDER MUTANTS      prints how many inputs ran; any broken promise aborts */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct {
    uint8_t *at;
    size_t n;
} seed;
enum { MOST = 4096, ROOM = 1 << 16 };
static seed seeds[MOST];
static int n_seeds;

static uint64_t state = 0x9e3779b97f4a7c15u;
static uint32_t below(uint32_t n) { /* xorshift: the same numbers on every machine */
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 32) % n;
}

static void read_seed(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    uint8_t *at = malloc(ROOM);
    if (!file || !at || n_seeds == MOST) exit(2);
    seeds[n_seeds++] = (seed){at, fread(at, 1, ROOM, file)};
    fclose(file);
}

static size_t mutate(uint8_t *data, size_t n) {
    static const uint8_t telling[] = {0, 1, 127, 128, 255};
    for (uint32_t times = 1 + below(3); times && n > 1; times--) {
        size_t at = below((uint32_t)n), more = 1 + below(8);
        if (more > n - at) more = n - at;
        const seed *other = &seeds[below((uint32_t)n_seeds)];
        switch (below(6)) {
        case 0: data[at] ^= (uint8_t)(1 << below(8)); break;
        case 1: data[at] = (uint8_t)below(256); break;
        case 2: memset(data + at, telling[below(sizeof telling)], more); break;
        case 3: memmove(data + at, data + at + more, n - at - more), n -= more; break;
        case 4:
            if (n + more > ROOM) break;
            memmove(data + at + more, data + at, n - at), n += more;
            break;
        default: /* a piece of another seed */
            if (other->n < more) break;
            memcpy(data + at, other->at + below((uint32_t)(other->n - more + 1)), more);
        }
    }
    return n;
}

int main(int argc, char **argv) {
    static uint8_t data[ROOM];
    DIR *folder = argc == 3 ? opendir(argv[1]) : NULL;
    if (!folder) return 2;
    for (struct dirent *e; (e = readdir(folder));) {
        if (e->d_name[0] != '.') read_seed(argv[1], e->d_name);
    }
    closedir(folder);
    for (int i = 0; i < n_seeds; i++) LLVMFuzzerTestOneInput(seeds[i].at, seeds[i].n);
    long mutants = n_seeds ? atol(argv[2]) : 0;
    for (long i = 0; i < mutants; i++) {
        const seed *s = &seeds[below((uint32_t)n_seeds)];
        memcpy(data, s->at, s->n);
        LLVMFuzzerTestOneInput(data, mutate(data, s->n));
    }
    printf("%d seeds and %ld mutants read without a broken promise\n", n_seeds, mutants);
    for (int i = 0; i < n_seeds; i++) free(seeds[i].at);
    return n_seeds ? 0 : 2;
}
