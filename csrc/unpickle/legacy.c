/* The stream format from before zip files.
 *
 *   pickle(magic) pickle(1001) pickle(sys info) pickle(object) pickle(storage keys)
 *   then per key, in that order: int64 count, count * element size bytes; no mark at the end
 *
 * Tensors are rebuilt before their bytes are seen, so the object only notes which storages it wants. */
#include "formats.h"
#include "items.h"
#include "pickle.h"
#include "source.h"
#include "storage.h"
#include <string.h>

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
