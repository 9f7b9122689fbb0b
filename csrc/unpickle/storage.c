/* Storages: what persistent ids may say, and how bytes come in. */
#include "internal.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"
#include <stdio.h>
#include <string.h>

static uint64_t storage_hash(const rl_reader *r, rl_text key) {
    uint64_t h = r->seed ^ 0xcbf29ce484222325u;
    for (int64_t i = 0; i < key.n; i++) {
        h = (h ^ (uint8_t)key.at[i]) * 0x100000001b3u;
        h ^= h >> 29;
    }
    return h ^ h >> 32;
}

static rl_stored **storage_slot(rl_reader *r, rl_text key) {
    int64_t mask = r->storages_room - 1, i = (int64_t)storage_hash(r, key) & mask;
    while (r->storages[i]) {
        rl_text k = r->storages[i]->key;
        if (k.n == key.n && !memcmp(k.at, key.at, (size_t)k.n)) break;
        i = (i + 1) & mask;
    }
    return &r->storages[i];
}

rl_stored *rl_stored_find(rl_reader *r, rl_text key) {
    return r->storages_room ? *storage_slot(r, key) : NULL;
}

static rl_status storage_insert(rl_reader *r, rl_stored *s) {
    if ((r->n_storages + 1) * 2 > r->storages_room) {
        int64_t old_room = r->storages_room;
        rl_stored **old = r->storages,
                  **bigger = rl_alloc_zero(old_room ? RL_COUNT(old_room, 2) : RL_COUNT(64), sizeof *bigger);
        if (!bigger) {
            rl_error_clear();
            return rl_reader_fail(r, RL_READER_MEMORY, "out of memory while reading %s", r->record);
        }
        r->storages = bigger;
        r->storages_room = old_room ? old_room * 2 : 64;
        for (int64_t i = 0; i < old_room; i++) {
            if (old[i]) *storage_slot(r, old[i]->key) = old[i];
        }
        rl_free(old);
    }
    *storage_slot(r, s->key) = s;
    r->n_storages++;
    return RL_OK;
}

static rl_item *storage_refuse(rl_reader *r, const char *why) {
    rl_reader_fail(r, RL_READER_PICKLE, "a persistent id in %s is malformed: %s", r->record, why);
    return NULL;
}

static int64_t storage_itemsize(int dtype) {
    return dtype < 0 ? 1 : rl_itemsize(dtype);
}

/* Finds the record of a new storage of a zip file; the sizes must agree to the byte. */
static rl_status storage_locate(rl_reader *r, rl_stored *s) {
    const char *key = rl_reader_quote(r, s->key);
    char *name = rl_reader_alloc(r, s->key.n + 6);
    if (!name) return RL_FAIL;
    memcpy(name, "data/", 5);
    memcpy(name + 5, s->key.at, (size_t)s->key.n);
    int found = rl_zip_find(r, (rl_text){name, s->key.n + 5}, &s->bytes);
    if (found < 0) return RL_FAIL;
    if (!found) {
        return rl_reader_fail(r, RL_READER_RUNTIME,
                              "PytorchStreamReader failed locating file data/%s: file not found", key);
    }
    if (s->bytes.size != s->nbytes) {
        return rl_reader_fail(
            r, RL_READER_RUNTIME,
            "record size (%lld bytes) does not match expected size (%lld bytes = %lld elements * %lld "
            "bytes/element) for dtype %s (record data/%s)",
            (long long)s->bytes.size, (long long)s->nbytes, (long long)s->numel,
            (long long)storage_itemsize(s->dtype), s->dtype < 0 ? "Byte" : rl_dtype_title(s->dtype), key);
    }
    return RL_OK;
}

static rl_stored *storage_begin(rl_reader *r, rl_text key, rl_text location, int dtype, int64_t numel) {
    rl_stored *s = rl_reader_alloc(r, sizeof *s);
    if (!s) return NULL;
    *s = (rl_stored){.key = key,
                     .location = location,
                     .dtype = (int16_t)dtype,
                     .used = -1,
                     .numel = numel,
                     .bytes = {.at = -1}};
    if (numel < 0 || __builtin_mul_overflow(numel, storage_itemsize(dtype), &s->nbytes)) {
        return (void *)storage_refuse(r, "its number of elements is impossible");
    }
    return s;
}

rl_stored *rl_stored_new(rl_reader *r, rl_text key, rl_text location, int dtype, int64_t numel) {
    rl_stored *s = storage_begin(r, key, location, dtype, numel);
    if (!s) return NULL;
    /* stored bytes cannot be more than the file has: checked before memory is asked for */
    if (r->legacy && s->nbytes > r->size) {
        rl_reader_fail(
            r, RL_READER_EOF,
            "record size does not match expected size: storage %s wants %lld bytes, more than the whole file "
            "(%lld bytes)",
            rl_reader_quote(r, key), (long long)s->nbytes, (long long)r->size);
        return NULL;
    }
    if (!r->legacy && storage_locate(r, s)) return NULL;
    s->item = rl_item_new(r, RL_ITEM_STORAGE);
    if (!s->item) return NULL;
    s->item->u.storage = s;
    return storage_insert(r, s) ? NULL : s;
}

rl_stored *rl_stored_at(rl_reader *r, rl_text key, int dtype, int64_t numel, int64_t at) {
    rl_stored *s = storage_begin(r, key, (rl_text){"cpu", 3}, dtype, numel);
    if (!s || storage_insert(r, s)) return NULL;
    s->bytes.at = at;
    s->bytes.size = s->bytes.packed = s->nbytes;
    return s;
}

rl_stored *rl_stored_slice(rl_reader *r, rl_stored *root, rl_text key, int64_t offset, int64_t numel) {
    if (offset < 0 || numel < 0 || offset > root->numel || numel > root->numel - offset) {
        return (void *)storage_refuse(r, "its view reaches outside the storage");
    }
    int64_t item = storage_itemsize(root->dtype);
    rl_stored *s = rl_stored_find(r, key);
    if (s) {
        if (s->root == root && s->root_offset == offset * item && s->numel == numel) return s;
        return (void *)storage_refuse(r, "its view contradicts an earlier one");
    }
    s = rl_stored_new(r, key, root->location, root->dtype, numel);
    if (s) s->root = root, s->root_offset = offset * item;
    return s;
}

/* (view key, offset, numel) in elements: a slice of `root` */
static rl_stored *storage_view(rl_reader *r, rl_stored *root, const rl_item *view) {
    rl_item *const *v = view->u.items;
    if (view->kind != RL_ITEM_TUPLE || view->n != 3 || v[0]->kind != RL_ITEM_STR ||
        v[1]->kind != RL_ITEM_INT || v[2]->kind != RL_ITEM_INT || root->root) {
        return (void *)storage_refuse(r, "its view is no (key, offset, size) of a whole storage");
    }
    return rl_stored_slice(r, root, rl_item_str(v[0]), v[1]->u.i, v[2]->u.i);
}

rl_item *rl_stored_persistent(rl_reader *r, rl_item *pid) {
    rl_item *const *p = pid->u.items;
    if (pid->kind != RL_ITEM_TUPLE) {
        rl_reader_fail(r, RL_READER_PICKLE, "persistent_load id must be tuple or int, but got %s",
                       rl_item_title(pid));
        return NULL;
    }
    if (pid->n < 1 || p[0]->kind != RL_ITEM_STR || !rl_text_is(rl_item_str(p[0]), "storage")) {
        rl_reader_fail(r, RL_READER_PICKLE, "Only persistent_load of storage is allowed, but got %s",
                       pid->n ? rl_item_title(p[0]) : "()");
        return NULL;
    }
    if (pid->n != (r->legacy ? 6 : 5)) return storage_refuse(r, "wrong number of fields");
    int code = p[1]->kind == RL_ITEM_SYMBOL ? p[1]->code : RL_SYMBOL_NONE;
    bool typed = code >= RL_SYMBOL_STORAGE && code < RL_SYMBOL_OLD_TENSOR;
    if (!typed && code != RL_SYMBOL_UNTYPED) return storage_refuse(r, "its class is no storage");
    if (p[2]->kind != RL_ITEM_STR || p[3]->kind != RL_ITEM_STR || p[4]->kind != RL_ITEM_INT) {
        return storage_refuse(r, "key and location must be str, the number of elements an int");
    }
    int dtype = typed ? code - RL_SYMBOL_STORAGE : -1;
    rl_stored *s = rl_stored_find(r, rl_item_str(p[2]));
    if (!s) s = rl_stored_new(r, rl_item_str(p[2]), rl_item_str(p[3]), dtype, p[4]->u.i);
    if (!s) return NULL;
    if (s->dtype != dtype || s->numel != p[4]->u.i)
        return storage_refuse(r, "it contradicts an earlier one of the same key");
    if (pid->n == 6 && p[5]->kind != RL_ITEM_NONE) s = storage_view(r, s, p[5]);
    return s ? s->item : NULL;
}

rl_stored *rl_stored_named(rl_reader *r, const char *name, rl_text key, rl_text location, int64_t numel) {
    const char *module = strcmp(name, "UntypedStorage") ? "torch" : "torch.storage";
    rl_item *items[5] = {
        rl_item_text(r, RL_ITEM_STR, "storage", 7),
        rl_symbol_find(r, (rl_text){module, (int64_t)strlen(module)}, (rl_text){name, (int64_t)strlen(name)}),
        rl_item_text(r, RL_ITEM_STR, key.at, key.n), rl_item_text(r, RL_ITEM_STR, location.at, location.n),
        rl_item_new(r, RL_ITEM_INT)};
    for (int i = 0; i < 5; i++) {
        if (!items[i]) return NULL;
    }
    items[4]->u.i = numel;
    rl_item *pid = rl_item_list(r, RL_ITEM_TUPLE, items, 5);
    rl_item *storage = pid ? rl_stored_persistent(r, pid) : NULL;
    return storage ? storage->u.storage : NULL;
}

/* The numbers that a storage consists of: two in a complex one, and bytes where no tensor says what they are.
 * Newer dtypes have no class of storages; what their tensors are is known from what was made of it. */
static int64_t storage_number(const rl_stored *s) {
    const int dtype = s->dtype >= 0 ? s->dtype : s->used;
    if (dtype < 0) return 1;
    return rl_itemsize(dtype) / (RL_SET_COMPLEX >> dtype & 1 ? 2 : 1);
}

static void storage_swap(uint8_t *p, int64_t n, int64_t item) {
    for (int64_t i = 0; i + item <= n; i += item) {
        for (int64_t k = 0; k < item / 2; k++) {
            uint8_t t = p[i + k];
            p[i + k] = p[i + item - 1 - k];
            p[i + item - 1 - k] = t;
        }
    }
}

rl_status rl_stored_normalise(rl_reader *r, const rl_stored *s, uint8_t *bytes) {
    if (r->big_endian && storage_number(s) > 1) storage_swap(bytes, s->nbytes, storage_number(s));
    if (s->used == RL_BOOL || s->dtype == RL_BOOL) { /* kernels rely on 0 and 1 */
        for (int64_t i = 0; i < s->nbytes; i++) {
            if (bytes[i] > 1) bytes[i] = 1;
        }
    }
    return RL_OK;
}

rl_status rl_stored_fill(rl_reader *r, const rl_stored *s, void *to) {
    if (s->bytes.at < 0 || s->root)
        return rl_reader_fail(r, RL_READER_RUNTIME, "storage has no bytes in the file");
    const char *key = s->bytes.crc ? rl_reader_quote(r, s->key) : "";
    char name[192];
    snprintf(name, sizeof name, "data/%s", key);
    return rl_record_read(r, &s->bytes, name, to) ? RL_FAIL : rl_stored_normalise(r, s, to);
}
