/* The stream format from before zip files.
 *
 *   pickle(magic) pickle(1001) pickle(sys info) pickle(object) pickle(storage keys)
 *   then per key, in that order: int64 count, count * element size bytes; no mark at the end
 *
 * Tensors are rebuilt before their bytes are seen, so the object only notes which storages it wants. */
#include "unpickle.h"
#include <string.h>

static const uint8_t legacy_magic[] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};

static rl_status legacy_head(rl_load *l, rl_input *in) {
    rl_item *item;
    l->record = "the first pickle (magic number)";
    if (rl_pickle_read(l, in, &item)) return RL_FAIL;
    if (item->kind != RL_ITEM_LONG || item->n != sizeof legacy_magic ||
        memcmp(item->u.text, legacy_magic, sizeof legacy_magic)) {
        return rl_load_fail(l, RL_LOAD_RUNTIME,
                            "Invalid magic number; corrupt file? This is no file of torch.save");
    }
    l->record = "the second pickle (protocol version)";
    if (rl_pickle_read(l, in, &item)) return RL_FAIL;
    if (item->kind != RL_ITEM_INT || item->u.i != 1001) {
        return rl_load_fail(l, RL_LOAD_RUNTIME, "Invalid protocol version: %s%lld",
                            item->kind == RL_ITEM_INT ? "" : rl_item_title(item),
                            item->kind == RL_ITEM_INT ? (long long)item->u.i : -1LL);
    }
    l->record = "the third pickle (system information)";
    return rl_pickle_read(l, in, &item);
}

static rl_status legacy_storage(rl_load *l, rl_input *in, const rl_item *key) {
    if (key->kind != RL_ITEM_STR)
        return rl_load_fail(l, RL_LOAD_RUNTIME, "a storage key in %s is no str", l->record);
    const char *name = rl_load_quote(l, rl_item_str(key));
    rl_load_storage *s = rl_storage_find(l, rl_item_str(key));
    if (!s || s->root) {
        return rl_load_fail(l, RL_LOAD_RUNTIME, "storage key '%s' not found in deserialized_objects", name);
    }
    if (s->bytes.at >= 0) return rl_load_fail(l, RL_LOAD_RUNTIME, "storage %s comes twice", name);
    const uint8_t *p = rl_input_take(in, 8);
    if (!p) return RL_FAIL;
    uint64_t count = 0;
    for (int i = 7; i >= 0; i--) count = count << 8 | p[i];
    if (count != (uint64_t)s->numel) {
        return rl_load_fail(l, RL_LOAD_RUNTIME,
                            "storage has wrong byte size: expected %lld got %lld (storage %s)",
                            (long long)s->numel, (long long)count, name);
    }
    if (s->nbytes > in->end - in->at) {
        return rl_load_fail(
            l, RL_LOAD_EOF,
            "unexpected EOF, expected %lld more bytes. The file might be corrupted. (storage %s)",
            (long long)(s->nbytes - (in->end - in->at)), name);
    }
    s->bytes.at = in->at, s->bytes.size = s->nbytes;
    in->at += s->nbytes;
    return RL_OK;
}

static rl_status legacy_body(rl_load *l, rl_input *in) {
    rl_item *keys;
    if (legacy_head(l, in)) return RL_FAIL;
    l->record = "the fourth pickle (the object)";
    if (rl_pickle_read(l, in, &l->root)) return RL_FAIL;
    int64_t wanted = l->n_storages;
    l->record = "the fifth pickle (storage keys)";
    if (rl_pickle_read(l, in, &keys)) return RL_FAIL;
    if (keys->kind != RL_ITEM_LIST || l->n_storages != wanted) {
        return rl_load_fail(l, RL_LOAD_RUNTIME, "the list of storage keys is damaged");
    }
    l->record = "the storages";
    for (int64_t i = 0; i < keys->n; i++) {
        if (legacy_storage(l, in, keys->u.items[i])) return RL_FAIL;
    }
    for (int64_t i = 0; i < l->storages_room; i++) {
        rl_load_storage *s = l->storages[i];
        if (s && !s->root && s->bytes.at < 0) {
            return rl_load_fail(l, RL_LOAD_RUNTIME, "storage %s has no bytes in the file; it is damaged",
                                rl_load_quote(l, s->key));
        }
    }
    l->end = in->at;
    return RL_OK;
}

rl_status rl_legacy_read(rl_load *l) {
    uint8_t head[262];
    l->legacy = true;
    if (l->size == 0) return rl_load_fail(l, RL_LOAD_EOF, "Ran out of input: the file is empty");
    if (l->size >= 512) {
        if (rl_source_read(l, 0, head, sizeof head)) return RL_FAIL;
        if (!memcmp(head + 257, "ustar", 5)) return rl_tar_read(l);
    }
    rl_input in = {.load = l, .data = l->data, .end = l->size};
    rl_status status = legacy_body(l, &in);
    rl_input_close(&in);
    return status;
}
