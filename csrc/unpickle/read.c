/* Which reader takes the bytes: zip, tar, safetensors, or the stream from before them. */
#include "internal.h"
#include <string.h>

static rl_status read_zip(rl_reader *r) {
    if (rl_zip_begin(r)) return RL_FAIL;
    int64_t n;
    rl_record script;
    if (rl_zip_find(r, (rl_text){"constants.pkl", 13}, &script)) {
        return rl_reader_fail(r, RL_READER_RUNTIME,
                              "Cannot use ``weights_only=True`` with TorchScript archives "
                              "passed to ``torch.load``. Save the state_dict of the "
                              "original module instead; rushlight reads no TorchScript.");
    }
    r->record = "record data.pkl";
    char *bytes = rl_zip_whole(r, "data.pkl", INT64_MAX, &n);
    if (!bytes && n < 0) {
        return rl_reader_fail(r, RL_READER_RUNTIME,
                              "PytorchStreamReader failed locating file data.pkl: file not found");
    }
    if (!bytes) return RL_FAIL;
    r->persistent = rl_stored_persistent;
    rl_input in = {.reader = r, .data = (const uint8_t *)bytes, .end = n};
    rl_status status = rl_pickle_read(r, &in, &r->root);
    if (!status && in.at != n) {
        status = rl_reader_fail(r, RL_READER_PICKLE, "record data.pkl goes on behind its STOP");
    }
    r->end = r->size;
    return status;
}

static rl_status read_other(rl_reader *r) {
    uint8_t head[262];
    r->legacy = true;
    if (r->size == 0) return rl_reader_fail(r, RL_READER_EOF, "Ran out of input: the file is empty");
    if (r->size >= 512) {
        if (rl_source_read(r, 0, head, sizeof head)) return RL_FAIL;
        if (!memcmp(head + 257, "ustar", 5)) return rl_tar_read(r);
    }
    return rl_legacy_read(r);
}

rl_status rl_reader_read(rl_reader *r) {
    uint8_t head[9] = {0};
    if (rl_reader_begin(r)) return RL_FAIL;
    int64_t n = r->size < (int64_t)sizeof head ? r->size : (int64_t)sizeof head;
    if (rl_source_read(r, 0, head, n)) return RL_FAIL;
    if (!memcmp(head, "PK\3\4", 4)) return read_zip(r);
    if (rl_safetensors_head(head, n)) return rl_safetensors_read(r);
    return read_other(r);
}
