/* The only kernel file with state: oneDNN's symbols, its engine and the cache of plans. */
#define _GNU_SOURCE /* dladdr */
#include "plan.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { SETS = 128, WAYS = 4, LAYOUTS = 1024 };
enum { NONE, OFFERED, OPEN, FAILED };
static struct {
    pthread_mutex_t lock;
    int library; /* NONE and so on */
    char path[4096], reason[4608];
    rl_dnnl_api api;
    dnnl_engine engine;
    uint64_t clock;
    rl_dnnl_plan plans[SETS][WAYS];
    dnnl_md layouts[LAYOUTS]; /* of weights: the index is a part of the keys of packed weights */
    int n_layouts;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_once_t guarded = PTHREAD_ONCE_INIT;

static int library_now(void) {
    return __atomic_load_n(&state.library, __ATOMIC_ACQUIRE);
}
const char *rl_dnnl_reason(void) { /* once it has failed the text does not change */
    return library_now() == FAILED ? state.reason : NULL;
}

static bool load_symbols(void *library, rl_dnnl_api *api) {
#define X(type, name, arguments)                                                                             \
    {                                                                                                        \
        void *symbol = dlsym(library, "dnnl_" #name);                                                        \
        if (!symbol) {                                                                                       \
            snprintf(state.reason, sizeof state.reason, "dnnl_" #name " is missing");                        \
            return false;                                                                                    \
        }                                                                                                    \
        memcpy(&api->name, &symbol, sizeof symbol);                                                          \
    }
    RL_DNNL_FUNCTIONS(X)
#undef X
    return true;
}

static bool load_library(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        snprintf(state.reason, sizeof state.reason, "%s", why ? why : "dlopen failed");
        return false;
    }
    if (load_symbols(library, &state.api)) {
        const dnnl_version_info *v = state.api.version();
        if (v->major != 3)
            snprintf(state.reason, sizeof state.reason, "%s is version %d.%d, not 3.x", path, v->major,
                     v->minor);
        else if (state.api.engine_create(&state.engine, DNNL_CPU, 0) != DNNL_SUCCESS)
            snprintf(state.reason, sizeof state.reason, "%s has no CPU engine", path);
        else
            return true;
    }
    dlclose(library);
    return false;
}

/* A child must not inherit a lock that a thread held which it does not have. */
static void fork_hold(void) {
    pthread_mutex_lock(&state.lock);
}
static void fork_release(void) {
    pthread_mutex_unlock(&state.lock);
}

static void guard_fork(void) {
    pthread_atfork(fork_hold, fork_release, fork_release);
}

void rl_dnnl_offer(const char *path) {
    pthread_once(&guarded, guard_fork);
    pthread_mutex_lock(&state.lock);
    if (state.library == NONE && strlen(path) < sizeof state.path) {
        memcpy(state.path, path, strlen(path) + 1);
        __atomic_store_n(&state.library, OFFERED, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&state.lock);
}

bool rl_dnnl_open(void) {
    if (library_now() == OFFERED) {
        pthread_mutex_lock(&state.lock);
        if (state.library == OFFERED)
            __atomic_store_n(&state.library, load_library(state.path) ? OPEN : FAILED, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&state.lock);
    }
    return library_now() == OPEN;
}

bool rl_dnnl_describe(rl_dnnl_about *about) {
    if (library_now() != OPEN) return false;
    Dl_info found;
    void *symbol;
    memcpy(&symbol, &state.api.version, sizeof symbol);
    const dnnl_version_info *v = state.api.version();
    *about = (rl_dnnl_about){.path = dladdr(symbol, &found) ? found.dli_fname : state.path,
                             .major = v->major,
                             .minor = v->minor,
                             .patch = v->patch};
    return true;
}

/* A number for the layout of p's packed weight, the same for equal layouts; 0 when the table is full. */
static uint64_t load_layout(const rl_dnnl_plan *p) {
    dnnl_md md = p->md[PLAN_WEIGHT_OWN];
    for (int i = 0; i < state.n_layouts; i++)
        if (state.api.memory_desc_equal(state.layouts[i], md)) return (uint64_t)0x31 << 48 | (unsigned)i;
    if (state.n_layouts == LAYOUTS) return 0;
    if (state.api.memory_desc_clone(&state.layouts[state.n_layouts], md) != DNNL_SUCCESS) return 0;
    return (uint64_t)0x31 << 48 | (unsigned)state.n_layouts++;
}

static uint64_t load_hash(const rl_dnnl_spec *spec) {
    const int64_t *word = (const int64_t *)spec;
    uint64_t h = 0;
    for (size_t i = 0; i < sizeof *spec / sizeof *word; i++) {
        h = (h ^ (uint64_t)word[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h % SETS;
}

/* The plan of a spec, made when it is new, with one more user. NULL when its set is all in use. */
static rl_dnnl_plan *load_plan(const rl_dnnl_spec *spec) {
    rl_dnnl_plan *set = state.plans[load_hash(spec)], *victim = NULL;
    pthread_mutex_lock(&state.lock);
    for (int i = 0; i < WAYS; i++) {
        rl_dnnl_plan *p = &set[i];
        if (p->cached && memcmp(&p->spec, spec, sizeof *spec) == 0) {
            victim = p;
            break;
        }
        if (p->users == 0 && (!victim || p->used < victim->used)) victim = p;
    }
    if (victim && !(victim->cached && memcmp(&victim->spec, spec, sizeof *spec) == 0)) {
        rl_dnnl_plan_clear(&state.api, victim);
        victim->spec = *spec;
        victim->cached = true;
        rl_dnnl_plan_make(&state.api, state.engine, victim);
        if (!victim->refused) victim->weight_key = load_layout(victim);
    }
    if (victim) {
        victim->users++;
        victim->used = ++state.clock;
    }
    pthread_mutex_unlock(&state.lock);
    return victim;
}

RL_CHOOSER
rl_status rl_dnnl_run(rl_call *k, const rl_dnnl_spec *spec, const float *src, const rl_view *weight,
                      const float *bias, const rl_view *out) {
    /* a primitive is made for a number of threads, and must find no other one when it runs */
    int before = k->svc->openmp(k, (int)spec->threads);
    rl_dnnl_plan *p = load_plan(spec);
    rl_status s = RL_UNSUPPORTED;
    RL_UNREACHED("other threads would have to use all plans of a set at once")
    if (p) {
        s = rl_dnnl_plan_run(&state.api, state.engine, p, k, src, weight, bias, out);
        pthread_mutex_lock(&state.lock);
        p->users--;
        pthread_mutex_unlock(&state.lock);
    }
    k->svc->openmp(k, before);
    return s;
}
