/* What one input does to the reader of checkpoints; libFuzzer calls it, or replay.c.
 *
 *   first byte % 4    the rest is
 *     0               a whole file
 *     1               the pickle of a zip that is right in all else
 *     2               what follows the first three pickles of the older stream
 *     3               a safetensors file, whose header is given the length that brings it to the last brace
 *
 * Any answer will do, but it must be one: an error with words, or a tree whose tensors lie in their storages.
 */
#include "unpickle/unpickle.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void demand(bool ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "the reader broke a promise: %s\n", what);
    abort();
}

/* ---- a zip around a pickle ---- */
typedef struct {
    uint8_t *at;
    size_t n;
} bytes;

static void put(bytes *to, const void *from, size_t n) {
    if (n) memcpy(to->at + to->n, from, n);
    to->n += n;
}
static void put_number(bytes *to, uint64_t value, int width) {
    for (int i = 0; i < width; i++) to->at[to->n++] = i < 8 ? (uint8_t)(value >> 8 * i) : 0;
}

typedef struct {
    const char *name;
    const void *from;
    size_t n, header;
} record;

static void put_record(bytes *to, record *r, bool central) {
    if (!central) r->header = to->n;
    put_number(to, central ? 0x02014b50 : 0x04034b50, 4);
    if (central) put_number(to, 20, 2);
    put_number(to, 20, 2);
    put_number(to, 0, 8); /* flags, method, time, date */
    put_number(to, 0, 4); /* no checksum */
    put_number(to, r->n, 4);
    put_number(to, r->n, 4);
    put_number(to, strlen(r->name), 2);
    put_number(to, 0, 2);
    if (central) put_number(to, 0, 10), put_number(to, r->header, 4);
    put(to, r->name, strlen(r->name));
    if (!central) put(to, r->from, r->n);
}

static bytes zip_around(const uint8_t *pickle, size_t n) {
    static const uint8_t zeros[64];
    record records[] = {{"a/data.pkl", pickle, n, 0}, {"a/version", "3\n", 2, 0}, {"a/data/0", zeros, 16, 0},
                        {"a/data/1", zeros, 64, 0},   {"a/data/2", zeros, 0, 0},  {"a/data/3", zeros, 12, 0}};
    enum { N = sizeof records / sizeof *records };
    bytes to = {malloc(n + 2048), 0};
    demand(to.at, "memory for the test itself");
    for (int i = 0; i < N; i++) put_record(&to, &records[i], false);
    size_t directory = to.n;
    for (int i = 0; i < N; i++) put_record(&to, &records[i], true);
    size_t end = to.n;
    put_number(&to, 0x06054b50, 4);
    put_number(&to, 0, 4);
    put_number(&to, N, 2);
    put_number(&to, N, 2);
    put_number(&to, end - directory, 4);
    put_number(&to, directory, 4);
    put_number(&to, 0, 2);
    return to;
}

static bytes stream_around(const uint8_t *rest, size_t n) {
    static const uint8_t head[] = {0x80, 2,   0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50,
                                   0x19, '.', 0x80, 2,  'M',  0xe9, 3,    '.',  0x80, 2,    '}',  '.'};
    bytes to = {malloc(n + sizeof head), 0};
    demand(to.at, "memory for the test itself");
    put(&to, head, sizeof head);
    put(&to, rest, n);
    return to;
}

/* A mutant's header has another length than its first bytes say: up to the last brace, it is whole again. */
static bytes safetensors_around(const uint8_t *file, size_t n) {
    bytes to = {malloc(n + 8), 0};
    demand(to.at, "memory for the test itself");
    size_t skip = n < 8 ? n : 8, end = n;
    while (end > skip && file[end - 1] != '}') end--;
    put_number(&to, end - skip, 8);
    put(&to, file + skip, n - skip);
    return to;
}

/* ---- what must hold ---- */
static void check_tensor(const rl_stored_tensor *t) {
    if (!t->storage) return;
    demand(t->offset >= 0 && t->ndim >= 0 && t->ndim <= RL_MAX_DIMS, "offset and rank");
    __int128 last = t->offset;
    bool empty = false;
    for (int i = 0; i < t->ndim; i++) {
        demand(t->shape[i] >= 0 && t->strides[i] >= 0, "sizes and strides");
        empty |= t->shape[i] == 0;
        if (!empty && last < INT64_MAX) last += (__int128)(t->shape[i] - 1) * t->strides[i];
    }
    demand(empty || (last + 1) * rl_itemsize(t->dtype) <= t->storage->nbytes, "a tensor lies in its storage");
}

static void check_storages(rl_reader *r) {
    int64_t total = 0;
    for (int64_t i = 0; i < r->storages_room; i++) {
        rl_stored *s = r->storages[i];
        if (!s || s->root) continue;
        demand(s->nbytes >= 0, "a storage has a size");
        demand(s->bytes.deflated || s->nbytes <= r->size, "a storage is no larger than the file");
        total += s->nbytes;
        uint8_t *to = malloc((size_t)s->nbytes + 1);
        demand(to, "memory for a storage");
        if (rl_stored_fill(r, s, to)) demand(r->error && *r->text, "an error has words");
        for (int64_t k = 0; !r->error && k < s->nbytes && s->used == RL_BOOL; k++)
            demand(to[k] <= 1, "bools are 0 or 1");
        free(to);
    }
    demand(total <= r->size + r->inflated, "storages together are no larger than the file");
}

static void check_tree(rl_reader *r) {
    if (rl_reader_mark(r)) return;
    for (int64_t i = 0; i < r->n_steps; i++) {
        const rl_step *s = &r->steps[i];
        demand(s->from >= 0 && s->from <= s->to, "steps count forwards");
        if (s->kind == RL_STEP_ADD) demand(s->to <= s->item->n, "a step adds what is there");
        if (s->item->kind == RL_ITEM_TENSOR) check_tensor(s->item->u.tensor);
    }
}

/* Stands in for zlib: every byte says how often the next one comes. */
static rl_status toy_inflate(rl_reader *r, const rl_record *from, void *to) {
    int64_t done = 0;
    for (int64_t at = 0; at + 2 <= from->packed; at += 2) {
        uint8_t pair[2];
        if (rl_source_read(r, from->at + at, pair, 2)) return RL_FAIL;
        for (; pair[0] && done < from->size; pair[0]--) ((uint8_t *)to)[done++] = pair[1];
    }
    if (done == from->size) return RL_OK;
    return rl_reader_fail(r, RL_READER_RUNTIME, "a compressed record is damaged");
}

static void read_all(const uint8_t *data, size_t n, rl_status (*read)(rl_reader *)) {
    static const char *const allowed[] = {"user.Class", "user.Other"};
    uint8_t *exact = malloc(n + (n == 0)); /* so that a byte too far is seen */
    demand(exact, "memory for the test itself");
    if (n) memcpy(exact, data, n);
    rl_reader *r = rl_reader_new(exact, -1, 0, (int64_t)n);
    demand(r, "memory for the reader");
    r->allowed = allowed, r->n_allowed = 2;
    r->inflate = toy_inflate;
    if (read(r)) {
        demand(r->error && *r->text, "an error has words");
    } else {
        demand(r->root && r->end >= 0 && r->end <= r->size, "a root, and an end inside the file");
        check_tree(r);
        check_storages(r);
    }
    rl_reader_free(r);
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n == 0) return 0;
    int mode = data[0] % 4;
    data++, n--;
    if (mode == 0) {
        read_all(data, n, rl_reader_read);
        return 0;
    }
    if (mode == 3) read_all(data, n, rl_safetensors_read);
    bytes around = mode == 1   ? zip_around(data, n)
                   : mode == 2 ? stream_around(data, n)
                               : safetensors_around(data, n);
    read_all(around.at, around.n, mode == 3 ? rl_safetensors_read : rl_reader_read);
    free(around.at);
    return 0;
}
