/* What is answered about a line, by its items; after sort_items_body.h. */

/* ---- to items and back, by several threads ---- */
typedef struct {
    const simd_sort_job *job;
    ITEM *items;
    simd_line x;
    char *const *p;
    int64_t n;
} I_NAME(span);

static void I_NAME(load_part)(void *ctx, int64_t begin, int64_t end, int thread) {
    const I_NAME(span) *s = ctx;
    (void)thread;
    I_NAME(simd_load)(&s->job->order, s->x, begin, end - begin, s->items + begin);
}

static void I_NAME(store_part)(void *ctx, int64_t begin, int64_t end, int thread) {
    const I_NAME(span) *s = ctx;
    const rl_along *a = &s->job->along;
    const int places = s->job->places;
    (void)thread;
    if (places != 0)
        I_NAME(simd_store)(&s->job->order, s->items + begin, end - begin, s->x, s->p[0] + begin * a->step[0],
                           a->step[0]);
    for (int64_t i = begin; places >= 0 && i < end; i++)
        *(int64_t *)(s->p[places] + i * a->step[places]) = PLACE(s->items[i]);
}

static void I_NAME(each_part)(rl_call *team, I_NAME(span) * s, void (*body)(void *, int64_t, int64_t, int)) {
    if (team)
        team->svc->parallel(team, s->n, 2, body, s);
    else
        body(s, 0, s->n, 0);
}

static void I_NAME(load_all)(const simd_sort_job *job, rl_call *team, simd_line x, ITEM *to) {
    I_NAME(span) s = {job, to, x, NULL, job->along.n};
    I_NAME(each_part)(team, &s, I_NAME(load_part));
}

/* ---- the k smallest, while the others pass by ---- */
/* Puts the items of n elements whose key is below the limit behind the m that are there. */
static int64_t I_NAME(below)(const KEY *keys, int64_t n, KEY limit, int64_t begin, ITEM *kept, int64_t m) {
    for (int64_t i = 0; i < n; i++)
        if (RL_UNLIKELY(keys[i] < limit)) kept[m++] = (ITEM)keys[i] << PLACE_BITS | (ITEM)(begin + i);
    return m;
}

/* a few of them, always in order */
static void I_NAME(sift_few)(const simd_sort_job *job, simd_line x, int64_t begin, int64_t end, ITEM *kept) {
    KEY keys[SIMD_SORT_CHUNK];
    const int64_t keep = job->keep, first = simd_min(keep, end - begin);
    I_NAME(simd_load)(&job->order, x, begin, first, kept);
    I_NAME(insert)(kept, first);
    begin += first;
    for (int64_t n; begin < end; begin += n) {
        n = simd_min(SIMD_SORT_CHUNK, end - begin);
        I_NAME(simd_keys)(&job->order, x, begin, n, keys);
        KEY limit = (KEY)(kept[keep - 1] >> PLACE_BITS);
        for (int64_t i = 0; i < n; i++) {
            if (RL_LIKELY(keys[i] >= limit)) continue;
            const ITEM item = (ITEM)keys[i] << PLACE_BITS | (ITEM)(begin + i);
            int64_t j = keep - 1;
            for (; j > 0 && item < kept[j - 1]; j--) kept[j] = kept[j - 1];
            kept[j] = item;
            limit = (KEY)(kept[keep - 1] >> PLACE_BITS);
        }
    }
}

/* Of elements [begin, end) the `keep` smallest to the front of `kept`, which has room for SIFT_ROOM, as
 * `spare` has. */
#undef SIFT_ROOM
#define SIFT_ROOM(keep) (2 * (keep) + 2 * SIMD_SORT_CHUNK)
static void I_NAME(sift)(const simd_sort_job *job, simd_line x, int64_t begin, int64_t end, ITEM *kept,
                         ITEM *spare, uint32_t *counts) {
    KEY keys[SIMD_SORT_CHUNK];
    const int64_t keep = job->keep, first = simd_min(keep, end - begin);
    if (keep <= SIMD_TOPK_FEW) {
        I_NAME(sift_few)(job, x, begin, end, kept);
        return;
    }
    I_NAME(simd_load)(&job->order, x, begin, first, kept);
    int64_t m = first;
    KEY limit = 0;
    for (int64_t i = 0; i < m; i++)
        if (kept[i] >> PLACE_BITS > limit) limit = (KEY)(kept[i] >> PLACE_BITS);
    begin += first;
    for (int64_t n; begin < end; begin += n) {
        n = simd_min(SIMD_SORT_CHUNK, end - begin);
        I_NAME(simd_keys)(&job->order, x, begin, n, keys);
        m = I_NAME(below)(keys, n, limit, begin, kept, m);
        if (m + SIMD_SORT_CHUNK <= SIFT_ROOM(keep) && begin + n < end) continue;
        if (m > keep) limit = (KEY)(I_NAME(select)(job, kept, spare, m, keep, counts) >> PLACE_BITS);
        m = simd_min(keep, m);
    }
}

typedef struct {
    const simd_sort_job *job;
    simd_line x;
    ITEM *to;
    int64_t block; /* elements */
} I_NAME(sifting);

static void I_NAME(sift_part)(void *ctx, int64_t begin, int64_t end, int thread) {
    const I_NAME(sifting) *s = ctx;
    const simd_sort_job *job = s->job;
    for (int64_t b = begin; b < end; b++) {
        char *room = rl_room(&job->sifts.rooms, b);
        ITEM *kept = (ITEM *)(room + job->sifts.a), *spare = (ITEM *)(room + job->sifts.b);
        const int64_t first = b * s->block, last = simd_min(job->along.n, first + s->block);
        I_NAME(sift)(job, s->x, first, last, kept, spare, (uint32_t *)rl_room(&job->counts, thread));
        memcpy(s->to + b * job->keep, kept, (size_t)job->keep * sizeof(ITEM));
    }
}

/* the smallest of each block, one block's after the other's */
static void I_NAME(sift_blocks)(const simd_sort_job *job, rl_call *team, simd_line x, ITEM *to) {
    I_NAME(sifting) s = {job, x, to, simd_ceil_div(job->along.n, job->blocks)};
    team->svc->parallel(team, job->blocks, (double)s.block, I_NAME(sift_part), &s);
}

/* ---- lines ---- */
/* the most frequent; of these the smallest, and the last of it */
static ITEM I_NAME(most_frequent)(const simd_sort_job *job, const ITEM *items, int64_t n) {
    ITEM found = items[0];
    for (int64_t i = 1, run = 1, longest = 1; i < n; i++) {
        const uint64_t key = (uint64_t)(items[i] >> PLACE_BITS);
        run = key == (uint64_t)(items[i - 1] >> PLACE_BITS) && !(job->order.nan && key == job->order.nan)
                  ? run + 1
                  : 1;
        if (run > longest) longest = run, found = items[i];
    }
    return found;
}

/* a median's place, or the first NaN, to `nan`, where that is what is answered */
static int64_t I_NAME(median_place)(const simd_sort_job *job, const ITEM *items, int64_t n,
                                    const ITEM **nan) {
    int64_t count = 0, first = 0;
    for (int64_t i = n; job->order.nan && i-- > 0;)
        if ((uint64_t)(items[i] >> PLACE_BITS) == job->order.nan) count++, first = i;
    if (count && (job->kind == SIMD_MEDIAN || count == n)) *nan = items + first;
    return simd_max(0, n - count - 1) / 2;
}

static ITEM I_NAME(chosen)(const simd_sort_job *job, rl_call *team, ITEM *a, ITEM *b, uint32_t *counts) {
    const int64_t n = job->along.n;
    const ITEM *nan = NULL;
    int64_t place = job->place;
    if (job->kind == SIMD_MODE)
        return I_NAME(most_frequent)(job, I_NAME(sort)(job, team, a, b, n, counts), n);
    if (job->kind != SIMD_KTH) place = I_NAME(median_place)(job, a, n, &nan);
    return nan ? *nan : I_NAME(select)(job, a, b, n, place + 1, counts);
}

/* The items that are answered, job->keep of them. */
static ITEM *I_NAME(answer)(const simd_sort_job *job, rl_call *team, simd_line x, ITEM *a, ITEM *b,
                            uint32_t *counts) {
    const int64_t n = job->along.n;
    if (job->sifted) {
        if (job->blocks) {
            I_NAME(sift_blocks)(job, team, x, a);
            I_NAME(select)(job, a, b, job->blocks * job->keep, job->keep, counts);
        } else {
            I_NAME(sift)(job, x, 0, n, a, b, counts);
            if (job->keep <= SIMD_TOPK_FEW) return a;
        }
        return I_NAME(sort)(job, team, a, b, job->keep, counts);
    }
    I_NAME(load_all)(job, team, x, a);
    if (job->kind >= SIMD_KTH) {
        a[0] = I_NAME(chosen)(job, team, a, b, counts);
        return a;
    }
    if (job->keep < n) I_NAME(select)(job, a, b, n, job->keep, counts);
    return I_NAME(sort)(job, team, a, b, job->keep, counts);
}

static void I_NAME(line)(const simd_sort_job *job, rl_call *team, simd_line x, char *const *p, int thread) {
    char *room = rl_room(&job->threads.rooms, thread);
    ITEM *a = (ITEM *)(room + job->threads.a), *b = (ITEM *)(room + job->threads.b);
    uint32_t *counts = (uint32_t *)rl_room(&job->counts, thread);
    I_NAME(span) s = {job, I_NAME(answer)(job, team, x, a, b, counts), x, p, job->keep};
    I_NAME(each_part)(team, &s, I_NAME(store_part));
}

static void I_NAME(lines_part)(void *ctx, int64_t begin, int64_t end, int thread) {
    const simd_sort_job *job = ctx;
    const rl_along *a = &job->along;
    simd_tile tile = {.end = begin};
    for (int64_t i = begin; i < end; i++) {
        char *p[RL_WALK_OPS];
        rl_along_at(a, i, p);
        simd_line x = {p[a->in], a->step[a->in]};
        if (job->tiles.base) x = simd_tile_line(job, &tile, x, i, end, thread);
        I_NAME(line)(job, NULL, x, p, thread);
    }
}

static rl_status I_NAME(lines)(simd_sort_job *job) {
    const int64_t n = job->along.n, lines = job->along.lines.numel;
    const bool alone = lines < job->k->threads && n >= SIMD_SORT_LONG; /* all threads for each line */
    const int64_t teams = alone ? 1 : job->k->threads, room = SIFT_ROOM(job->keep);
    job->blocks = alone && job->sifted ? sift_count(job) : 0;
    const int64_t items = job->blocks ? job->blocks * job->keep : job->sifted ? room : n;
    if (!pairs_begin(job->k, teams, items, sizeof(ITEM), &job->threads)) return RL_FAIL;
    if (job->blocks && !pairs_begin(job->k, job->blocks, room, sizeof(ITEM), &job->sifts)) return RL_FAIL;
    if (!alone) job->k->svc->parallel(job->k, lines, 10 * (double)n, I_NAME(lines_part), job);
    for (int64_t i = 0; alone && i < lines; i++) {
        char *p[RL_WALK_OPS];
        rl_along_at(&job->along, i, p);
        const simd_line x = {p[job->along.in], job->along.step[job->along.in]};
        I_NAME(line)(job, job->k, x, p, 0);
    }
    return RL_OK;
}
