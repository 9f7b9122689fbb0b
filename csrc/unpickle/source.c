/* The bytes of a checkpoint, the arena that holds its tree, and the first error met. */
#include "internal.h"
#include "core/crc32.h"
#include "core/error.h"
#include "core/memory.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Chunks: header, then bytes; small requests share one, large ones get their own. */
struct rl_reader_chunk {
    rl_reader_chunk *next;
    int64_t used, room;
    char bytes[];
};
enum { CHUNK_ROOM = 60 << 10, WINDOW_ROOM = 64 << 10 };

rl_reader *rl_reader_new(const uint8_t *data, int fd, int64_t start, int64_t size) {
    rl_reader *r = rl_alloc_zero(RL_COUNT(1), sizeof *r);
    if (!r) return NULL;
    r->data = data, r->fd = fd, r->start = start, r->size = size;
    r->none.kind = RL_ITEM_NONE;
    r->truth[0].kind = RL_ITEM_FALSE, r->truth[1].kind = RL_ITEM_TRUE;
    r->none.key_weight = r->truth[0].key_weight = r->truth[1].key_weight = 1;
    r->nothing.kind = RL_ITEM_TUPLE, r->nothing.key_weight = 1;
    /* the key table must not be predictable from the file alone */
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    r->seed = (uint64_t)(uintptr_t)r * 0x9e3779b97f4a7c15u ^ (uint64_t)now.tv_nsec << 20;
    r->record = "the file";
    return r;
}

void rl_reader_free(rl_reader *r) {
    if (!r) return;
    while (r->chunks) {
        rl_reader_chunk *next = r->chunks->next;
        rl_free(r->chunks);
        r->chunks = next;
    }
    rl_free(r->steps);
    rl_free(r->asked);
    rl_free(r->storages);
    rl_free(r);
}

rl_status rl_reader_fail(rl_reader *r, rl_reader_error kind, const char *format, ...) {
    if (r->error) return RL_FAIL; /* the first one tells most */
    r->error = kind;
    va_list args;
    va_start(args, format);
    vsnprintf(r->text, sizeof r->text, format, args);
    va_end(args);
    return RL_FAIL;
}

static rl_status reader_no_memory(rl_reader *r) {
    rl_error_clear();
    return rl_reader_fail(r, RL_READER_MEMORY, "out of memory while reading %s", r->record);
}

void *rl_reader_alloc(rl_reader *r, int64_t n) {
    if (n < 0 || n > INT64_MAX - 4096) {
        reader_no_memory(r);
        return NULL;
    }
    n = (n + 15) & ~(int64_t)15;
    rl_reader_chunk *c = r->chunks;
    if (!c || c->room - c->used < n) {
        int64_t room = n > CHUNK_ROOM / 4 ? n : CHUNK_ROOM;
        c = rl_alloc(rl_count_plus(RL_COUNT(room), sizeof *c), 1);
        if (!c) {
            reader_no_memory(r);
            return NULL;
        }
        c->used = 0, c->room = room;
        /* a chunk made for one large request goes behind the one that still has room */
        if (room == n && r->chunks) {
            c->next = r->chunks->next;
            r->chunks->next = c;
        } else {
            c->next = r->chunks;
            r->chunks = c;
        }
    }
    void *p = c->bytes + c->used;
    c->used += n;
    return p;
}

char *rl_reader_copy(rl_reader *r, const void *from, int64_t n) {
    char *to = rl_reader_alloc(r, n + 1);
    if (!to) return NULL;
    if (n) memcpy(to, from, (size_t)n);
    to[n] = 0;
    return to;
}

rl_status rl_reader_grow(rl_reader *r, void **array, int64_t *room, int64_t used, int64_t need, size_t size) {
    if (need <= *room) return RL_OK;
    int64_t wanted = *room < 32 ? 64 : *room * 2;
    if (wanted < need) wanted = need;
    void *bigger = rl_alloc(RL_COUNT(wanted), size);
    if (!bigger) return reader_no_memory(r);
    if (used) memcpy(bigger, *array, (size_t)used * size);
    rl_free(*array);
    *array = bigger;
    *room = wanted;
    return RL_OK;
}

const char *rl_reader_quote(rl_reader *r, rl_text t) {
    int64_t n = t.n < 160 ? t.n : 160;
    char *text = rl_reader_alloc(r, n + 4);
    if (!text) return "?";
    for (int64_t i = 0; i < n; i++) text[i] = t.at[i] >= 32 && t.at[i] < 127 ? t.at[i] : '?';
    strcpy(text + n, n < t.n ? "..." : "");
    return text;
}

bool rl_text_is(rl_text t, const char *s) {
    return (size_t)t.n == strlen(s) && !memcmp(t.at, s, (size_t)t.n);
}

bool rl_text_utf8(rl_text t, bool surrogates) {
    const uint8_t *p = (const uint8_t *)t.at, *end = p + t.n;
    while (p < end) {
        uint32_t c = *p++;
        if (c < 0x80) continue;
        int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
        if (c < 0xc2 || c > 0xf4 || end - p < more) return false;
        uint32_t code = c & (0x3f >> more);
        for (int i = 0; i < more; i++, p++) {
            if ((*p & 0xc0) != 0x80) return false;
            code = code << 6 | (*p & 0x3f);
        }
        if (more == 2 && (code < 0x800 || (!surrogates && code >= 0xd800 && code < 0xe000))) return false;
        if (more == 3 && (code < 0x10000 || code > 0x10ffff)) return false;
    }
    return true;
}

rl_status rl_source_read(rl_reader *r, int64_t at, void *to, int64_t n) {
    if (at < 0 || n < 0 || at > r->size || n > r->size - at) {
        return rl_reader_fail(r, RL_READER_EOF, "unexpected end of the file while reading %s", r->record);
    }
    if (r->data) {
        if (n) memcpy(to, r->data + at, (size_t)n);
        return RL_OK;
    }
    for (int64_t done = 0; done < n;) {
        ssize_t got = pread(r->fd, (char *)to + done, (size_t)(n - done), r->start + at + done);
        if (got > 0) {
            done += got;
        } else if (got == 0) {
            return rl_reader_fail(r, RL_READER_EOF, "the file became shorter while %s was read", r->record);
        } else if (errno != EINTR) {
            return rl_reader_fail(r, RL_READER_RUNTIME, "cannot read %s: %s", r->record, strerror(errno));
        }
    }
    return RL_OK;
}

rl_status rl_record_read(rl_reader *r, const rl_record *from, const char *name, void *to) {
    enum { STEP = 1 << 18 }; /* the checksum finds the bytes still in cache */
    uint32_t crc = 0;
    if (from->deflated && r->inflate(r, from, to)) return RL_FAIL;
    for (int64_t done = 0; done < from->size; done += STEP) {
        int64_t n = from->size - done < STEP ? from->size - done : STEP;
        uint8_t *part = (uint8_t *)to + done;
        if (!from->deflated && rl_source_read(r, from->at + done, part, n)) return RL_FAIL;
        if (from->crc) crc = rl_crc32(crc, part, n);
    }
    if (crc == from->crc) return RL_OK;
    return rl_reader_fail(
        r, RL_READER_RUNTIME,
        "record %s does not match its checksum: its bytes have changed since the checkpoint "
        "was saved. Copy or download the file again.",
        name);
}

const uint8_t *rl_input_take(rl_input *in, int64_t n) {
    if (n < 0 || n > in->end - in->at) {
        rl_reader_fail(in->reader, RL_READER_EOF, "unexpected end of the pickle in %s", in->reader->record);
        return NULL;
    }
    int64_t at = in->at;
    if (in->data) {
        in->at += n;
        return in->data + at;
    }
    if (at < in->window_at || at + n > in->window_at + in->window_n) {
        int64_t left = in->end - at, want = n > WINDOW_ROOM ? n : left < WINDOW_ROOM ? left : WINDOW_ROOM;
        in->window_n = 0;
        if (rl_reader_grow(in->reader, (void **)&in->window, &in->window_room, 0, want, 1)) return NULL;
        if (rl_source_read(in->reader, at, in->window, want)) return NULL;
        in->window_at = at, in->window_n = want;
    }
    in->at += n;
    return in->window + (at - in->window_at);
}

void rl_input_close(rl_input *in) {
    rl_free(in->window);
    in->window = NULL;
    in->window_room = in->window_n = 0;
}

rl_status rl_reader_begin(rl_reader *r) {
    enum { SMALL = 1 << 20 }; /* one system call instead of one for each header and record */
    if (r->data || r->size > SMALL) return RL_OK;
    uint8_t *all = rl_reader_alloc(r, r->size + 1);
    if (!all || rl_source_read(r, 0, all, r->size)) return RL_FAIL;
    r->data = all;
    return RL_OK;
}
