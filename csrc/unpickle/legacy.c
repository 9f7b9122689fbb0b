/* Formats from before zip files: the tar of PyTorch 0.1, and the stream that came next. */
#include "internal.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    int64_t key;
    rl_item *item;
} tar_tensor;
struct rl_tar {
    tar_tensor *tensors; /* sorted by key once all are read */
    int64_t n;
};
typedef struct {
    const char *name;
    int64_t at, size; /* at: -1 until found */
} tar_member;

static rl_status tar_fail(rl_reader *r, const char *what) {
    return rl_reader_fail(r, RL_READER_RUNTIME, "%s of this tar checkpoint: %s", r->record, what);
}

/* ---- members ---- */
/* digits of base 8; -1 for anything else */
static int64_t tar_octal(const uint8_t *p, int n) {
    int64_t value = 0;
    while (n && *p == ' ') p++, n--;
    if (!n || *p < '0' || *p > '7') return -1;
    for (; n && *p >= '0' && *p <= '7'; p++, n--) value = value * 8 + (*p - '0');
    return n == 0 || *p == 0 || *p == ' ' ? value : -1;
}

static bool tar_sum_right(const uint8_t *header) {
    int64_t sum = 0;
    for (int i = 0; i < 512; i++) sum += i >= 148 && i < 156 ? ' ' : header[i];
    return sum == tar_octal(header + 148, 8);
}

static rl_status tar_find(rl_reader *r, tar_member *members, int n) {
    uint8_t h[512];
    for (int64_t at = 0; at + 512 <= r->size;) {
        if (rl_source_read(r, at, h, 512)) return RL_FAIL;
        if (h[0] == 0) break; /* two blocks of zeros end the archive */
        int64_t size = tar_octal(h + 124, 12);
        if (!tar_sum_right(h) || size < 0) return tar_fail(r, "a header is damaged");
        if (size > r->size - at - 512)
            return rl_reader_fail(r, RL_READER_EOF, "unexpected end of the file in a member of the tar");
        for (int i = 0; i < n; i++) {
            if (strncmp((const char *)h, members[i].name, 100) || (h[156] != '0' && h[156] != 0)) continue;
            if (members[i].at >= 0) return tar_fail(r, "a member comes twice");
            members[i].at = at + 512, members[i].size = size;
        }
        at += 512 + ((size + 511) & ~(int64_t)511);
    }
    for (int i = 0; i < n; i++) {
        if (members[i].at < 0)
            return rl_reader_fail(r, RL_READER_RUNTIME, "filename '%s' not found in this tar checkpoint",
                                  members[i].name);
    }
    return RL_OK;
}

/* ---- numbers and keys ---- */
static rl_status tar_number(rl_input *in, int bytes, int64_t *value) {
    const uint8_t *p = rl_input_take(in, bytes);
    uint64_t u = 0;
    if (!p) return RL_FAIL;
    for (int i = bytes - 1; i >= 0; i--) u = u << 8 | p[i];
    *value = bytes == 4 ? (int32_t)u : (int64_t)u;
    return RL_OK;
}

static rl_status tar_count(rl_reader *r, rl_input *in, int64_t *n) {
    rl_item *item;
    if (rl_pickle_read(r, in, &item)) return RL_FAIL;
    if (item->kind != RL_ITEM_INT || item->u.i < 0) return tar_fail(r, "its count is no number");
    *n = item->u.i;
    return RL_OK;
}

/* integers are the names here; the table of storages wants text */
static rl_status tar_key(rl_reader *r, const rl_item *key, rl_text *text) {
    if (key->kind != RL_ITEM_INT) return tar_fail(r, "a key is no integer");
    text->at = rl_reader_copy(r, &key->u.i, sizeof key->u.i);
    text->n = sizeof key->u.i;
    return text->at ? RL_OK : RL_FAIL;
}

static rl_status tar_triple(rl_reader *r, rl_input *in, int from, int to, rl_item ***items) {
    rl_item *entry;
    if (rl_pickle_read(r, in, &entry)) return RL_FAIL;
    if (entry->kind != RL_ITEM_TUPLE || entry->n != 3 || entry->u.items[2]->kind != RL_ITEM_SYMBOL ||
        entry->u.items[2]->code < from || entry->u.items[2]->code >= to)
        return tar_fail(r, "an entry is malformed");
    *items = entry->u.items;
    return RL_OK;
}

/* ---- the members' contents ---- */
static rl_status tar_storage(rl_reader *r, rl_input *in) {
    rl_item **e = NULL;
    rl_text key;
    int64_t count = 0;
    if (tar_triple(r, in, RL_SYMBOL_STORAGE, RL_SYMBOL_OLD_TENSOR, &e) || tar_key(r, e[0], &key) ||
        tar_number(in, 8, &count))
        return RL_FAIL;
    if (e[1]->kind != RL_ITEM_STR) return tar_fail(r, "a location is no text");
    if (rl_stored_find(r, key)) return tar_fail(r, "a storage comes twice");
    rl_stored *s = rl_stored_new(r, key, rl_item_str(e[1]), e[2]->code - RL_SYMBOL_STORAGE, count);
    if (!s) return RL_FAIL;
    if (s->nbytes > in->end - in->at)
        return rl_reader_fail(r, RL_READER_EOF,
                              "unexpected EOF, expected %lld more bytes. The file might be corrupted.",
                              (long long)(s->nbytes - (in->end - in->at)));
    s->bytes.at = in->at, s->bytes.size = s->nbytes;
    in->at += s->nbytes;
    return RL_OK;
}

static rl_status tar_views(rl_reader *r, rl_input *in) {
    rl_item *list;
    if (rl_pickle_read(r, in, &list)) return RL_FAIL;
    if (list->kind != RL_ITEM_LIST) return tar_fail(r, "its views are no list");
    for (int64_t i = 0; i < list->n; i++) {
        const rl_item *v = list->u.items[i];
        rl_text key, root;
        if (v->kind != RL_ITEM_TUPLE || v->n != 4 || v->u.items[2]->kind != RL_ITEM_INT ||
            v->u.items[3]->kind != RL_ITEM_INT)
            return tar_fail(r, "a view is malformed");
        if (tar_key(r, v->u.items[0], &key) || tar_key(r, v->u.items[1], &root)) return RL_FAIL;
        rl_stored *whole = rl_stored_find(r, root);
        if (!whole || whole->root) return tar_fail(r, "a view is of no storage");
        if (!rl_stored_slice(r, whole, key, v->u.items[2]->u.i, v->u.items[3]->u.i)) return RL_FAIL;
    }
    return RL_OK;
}

static rl_item *tar_ints(rl_reader *r, rl_input *in, int64_t n) {
    rl_item *dims[RL_MAX_DIMS];
    for (int64_t i = 0; i < n; i++) {
        dims[i] = rl_item_new(r, RL_ITEM_INT);
        if (!dims[i] || tar_number(in, 8, &dims[i]->u.i)) return NULL;
    }
    return rl_item_list(r, RL_ITEM_TUPLE, dims, n);
}

static rl_status tar_read_tensor(rl_reader *r, rl_input *in, tar_tensor *to) {
    rl_item **e = NULL, *args[4] = {NULL};
    rl_text key;
    int64_t rank = 0, unused = 0;
    if (tar_triple(r, in, RL_SYMBOL_OLD_TENSOR, RL_SYMBOL_END, &e) || tar_key(r, e[1], &key) ||
        tar_number(in, 4, &rank) || tar_number(in, 4, &unused))
        return RL_FAIL;
    rl_stored *s = rl_stored_find(r, key);
    if (!s || e[0]->kind != RL_ITEM_INT || rank < 0 || rank > RL_MAX_DIMS ||
        s->dtype != e[2]->code - RL_SYMBOL_OLD_TENSOR)
        return tar_fail(r, "a tensor is malformed");
    args[0] = s->item;
    if (!(args[2] = tar_ints(r, in, rank)) || !(args[3] = tar_ints(r, in, rank)) ||
        !(args[1] = rl_item_new(r, RL_ITEM_INT)) || tar_number(in, 8, &args[1]->u.i))
        return RL_FAIL;
    rl_stored_tensor *t = rl_stored_tensor_new(r, args, -1);
    to->item = t ? rl_item_new(r, RL_ITEM_TENSOR) : NULL;
    if (!to->item) return RL_FAIL;
    to->item->u.tensor = t, to->key = e[0]->u.i;
    return RL_OK;
}

static int tar_by_key(const void *a, const void *b) {
    int64_t x = ((const tar_tensor *)a)->key, y = ((const tar_tensor *)b)->key;
    return (x > y) - (x < y);
}

/* The decimal text of a key; -1 when it is none. */
static int64_t tar_decimal(rl_text t) {
    int64_t value = t.n > 0 && t.n < 19 ? 0 : -1;
    for (int64_t i = 0; value >= 0 && i < t.n; i++) {
        value = t.at[i] >= '0' && t.at[i] <= '9' ? value * 10 + (t.at[i] - '0') : -1;
    }
    return value;
}

static rl_item *tar_persistent(rl_reader *r, rl_item *pid) {
    tar_tensor wanted = {.key = -1};
    if (pid->kind == RL_ITEM_INT) wanted.key = pid->u.i;
    if (pid->kind == RL_ITEM_STR) wanted.key = tar_decimal(rl_item_str(pid));
    tar_tensor *found = bsearch(&wanted, r->tar->tensors, (size_t)r->tar->n, sizeof wanted, tar_by_key);
    if (found) return found->item;
    rl_reader_fail(r, RL_READER_PICKLE, "a persistent id in %s names no tensor of the file", r->record);
    return NULL;
}

static rl_status tar_storages(rl_reader *r, rl_input *in) {
    int64_t n = 0;
    r->record = "member storages";
    if (tar_count(r, in, &n)) return RL_FAIL;
    for (; n; n--) {
        if (tar_storage(r, in)) return RL_FAIL;
    }
    return tar_views(r, in);
}

static rl_status tar_tensors(rl_reader *r, rl_input *in) {
    int64_t n = 0;
    r->record = "member tensors";
    if (tar_count(r, in, &n)) return RL_FAIL;
    if (n > (in->end - in->at) / 16) return tar_fail(r, "it is too short for its count");
    rl_tar *tar = rl_reader_alloc(r, sizeof *tar);
    if (!tar || !(tar->tensors = rl_reader_alloc(r, n * (int64_t)sizeof *tar->tensors))) return RL_FAIL;
    for (tar->n = 0; tar->n < n; tar->n++) {
        if (tar_read_tensor(r, in, &tar->tensors[tar->n])) return RL_FAIL;
    }
    qsort(tar->tensors, (size_t)n, sizeof *tar->tensors, tar_by_key);
    for (int64_t i = 0; i + 1 < n; i++) {
        if (tar->tensors[i].key == tar->tensors[i + 1].key) return tar_fail(r, "a tensor comes twice");
    }
    r->tar = tar;
    r->persistent = tar_persistent;
    return RL_OK;
}

/* All tensors of the file; where the pickle lies. */
rl_status rl_tar_begin(rl_reader *r, rl_input *pickle) {
    tar_member members[] = {{"storages", -1, 0}, {"tensors", -1, 0}, {"pickle", -1, 0}};
    r->record = "the directory";
    r->persistent = rl_stored_persistent;
    if (tar_find(r, members, 3)) return RL_FAIL;
    rl_status status = RL_OK;
    for (int i = 0; i < 3 && !status; i++) {
        rl_input in = {
            .reader = r, .data = r->data, .at = members[i].at, .end = members[i].at + members[i].size};
        if (i == 2) {
            *pickle = in;
            break;
        }
        status = i == 0 ? tar_storages(r, &in) : tar_tensors(r, &in);
        rl_input_close(&in);
    }
    r->record = "member pickle";
    r->end = r->size;
    return status;
}

rl_item *rl_tar_next(rl_reader *r, int64_t i, int64_t *key) {
    if (i >= r->tar->n) return NULL;
    *key = r->tar->tensors[i].key;
    return r->tar->tensors[i].item;
}

rl_status rl_tar_read(rl_reader *r) {
    rl_input pickle;
    if (rl_tar_begin(r, &pickle)) return RL_FAIL;
    rl_status status = rl_pickle_read(r, &pickle, &r->root);
    rl_input_close(&pickle);
    return status;
}

/* ---- the stream format from before zip files ----
 * pickle(magic) pickle(1001) pickle(sys info) pickle(object) pickle(storage keys)
 *   then per key, in that order: int64 count, count * element size bytes; no mark at the end
 *
 * Tensors are rebuilt before their bytes are seen, so the object only notes which storages it wants. */
static const uint8_t legacy_magic[] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};

static rl_status legacy_head(rl_reader *r, rl_input *in) {
    rl_item *item;
    r->record = "the first pickle (magic number)";
    if (rl_pickle_read(r, in, &item)) return RL_FAIL;
    if (item->kind != RL_ITEM_LONG || item->n != sizeof legacy_magic ||
        memcmp(item->u.text, legacy_magic, sizeof legacy_magic)) {
        return rl_reader_fail(r, RL_READER_RUNTIME,
                              "Invalid magic number; corrupt file? This is no file of torch.save");
    }
    r->record = "the second pickle (protocol version)";
    if (rl_pickle_read(r, in, &item)) return RL_FAIL;
    if (item->kind != RL_ITEM_INT || item->u.i != 1001) {
        return rl_reader_fail(r, RL_READER_RUNTIME, "Invalid protocol version: %s%lld",
                              item->kind == RL_ITEM_INT ? "" : rl_item_title(item),
                              item->kind == RL_ITEM_INT ? (long long)item->u.i : -1LL);
    }
    r->record = "the third pickle (system information)";
    return rl_pickle_read(r, in, &item);
}

static rl_status legacy_storage(rl_reader *r, rl_input *in, const rl_item *key) {
    if (key->kind != RL_ITEM_STR)
        return rl_reader_fail(r, RL_READER_RUNTIME, "a storage key in %s is no str", r->record);
    const char *name = rl_reader_quote(r, rl_item_str(key));
    rl_stored *s = rl_stored_find(r, rl_item_str(key));
    if (!s || s->root) {
        return rl_reader_fail(r, RL_READER_RUNTIME, "storage key '%s' not found in deserialized_objects",
                              name);
    }
    if (s->bytes.at >= 0) return rl_reader_fail(r, RL_READER_RUNTIME, "storage %s comes twice", name);
    const uint8_t *p = rl_input_take(in, 8);
    if (!p) return RL_FAIL;
    uint64_t count = 0;
    for (int i = 7; i >= 0; i--) count = count << 8 | p[i];
    if (count != (uint64_t)s->numel) {
        return rl_reader_fail(r, RL_READER_RUNTIME,
                              "storage has wrong byte size: expected %lld got %lld (storage %s)",
                              (long long)s->numel, (long long)count, name);
    }
    if (s->nbytes > in->end - in->at) {
        return rl_reader_fail(
            r, RL_READER_EOF,
            "unexpected EOF, expected %lld more bytes. The file might be corrupted. (storage %s)",
            (long long)(s->nbytes - (in->end - in->at)), name);
    }
    s->bytes.at = in->at, s->bytes.size = s->nbytes;
    in->at += s->nbytes;
    return RL_OK;
}

static rl_status legacy_body(rl_reader *r, rl_input *in) {
    rl_item *keys;
    if (legacy_head(r, in)) return RL_FAIL;
    r->record = "the fourth pickle (the object)";
    if (rl_pickle_read(r, in, &r->root)) return RL_FAIL;
    int64_t wanted = r->n_storages;
    r->record = "the fifth pickle (storage keys)";
    if (rl_pickle_read(r, in, &keys)) return RL_FAIL;
    if (keys->kind != RL_ITEM_LIST || r->n_storages != wanted) {
        return rl_reader_fail(r, RL_READER_RUNTIME, "the list of storage keys is damaged");
    }
    r->record = "the storages";
    for (int64_t i = 0; i < keys->n; i++) {
        if (legacy_storage(r, in, keys->u.items[i])) return RL_FAIL;
    }
    for (int64_t i = 0; i < r->storages_room; i++) {
        rl_stored *s = r->storages[i];
        if (s && !s->root && s->bytes.at < 0) {
            return rl_reader_fail(r, RL_READER_RUNTIME, "storage %s has no bytes in the file; it is damaged",
                                  rl_reader_quote(r, s->key));
        }
    }
    r->end = in->at;
    return RL_OK;
}

rl_status rl_legacy_read(rl_reader *r) {
    rl_input in = {.reader = r, .data = r->data, .end = r->size};
    r->persistent = rl_stored_persistent;
    rl_status status = legacy_body(r, &in);
    rl_input_close(&in);
    return status;
}
