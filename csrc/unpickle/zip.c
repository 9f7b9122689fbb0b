/* The zip container, as far as checkpoints use it: records under one prefix, stored or deflated. */
#include "internal.h"
#include <stdlib.h>
#include <string.h>

/* Note [Zip layout]
 *   local header │ name │ extra │ data │ descriptor ...   per record
 *   central directory entries ...                         the only place that is believed
 *   [zip64 end record │ zip64 locator]  end record │ comment
 * Every number is compared with the file's size before it is used. The directory must end where the end
 * records begin, names may not repeat, and a record must end before the next one's header: so no byte of
 * the file can serve two records, and other tools cannot see another directory. */
typedef struct {
    rl_text name;
    int64_t header, csize, usize, limit; /* limit: the next record's header, or the directory */
    uint32_t crc;
    uint16_t flags, method;
} zip_entry;
struct rl_zip {
    zip_entry *entries; /* sorted by name */
    int64_t n;
    rl_text prefix;
};

static uint16_t get16(const uint8_t *p) {
    return (uint16_t)(p[0] | p[1] << 8);
}
static uint32_t get32(const uint8_t *p) {
    return get16(p) | (uint32_t)get16(p + 2) << 16;
}
static uint64_t get64(const uint8_t *p) {
    return get32(p) | (uint64_t)get32(p + 4) << 32;
}

#define CORRUPT      "PytorchStreamReader failed reading zip archive: "
#define CORRUPT_HINT ". The checkpoint is likely corrupted or was cut short; copy or download it again."

static rl_status zip_fail(rl_reader *r, const char *what) {
    return rl_reader_fail(r, RL_READER_RUNTIME, CORRUPT "%s" CORRUPT_HINT, what);
}

/* Continues from the end record at `at`, when a zip64 locator stands before it. */
static rl_status zip_end64(rl_reader *r, int64_t at, uint64_t *count, uint64_t *size, uint64_t *offset,
                           int64_t *stop) {
    uint8_t locator[20], end[56];
    if (at < 20 + 56) return RL_OK;
    if (rl_source_read(r, at - 20, locator, 20)) return RL_FAIL;
    if (get32(locator) != 0x07064b50) return RL_OK;
    uint64_t where = get64(locator + 8);
    if (get32(locator + 16) > 1 || where != (uint64_t)(at - 20 - 56)) {
        return zip_fail(r, "the zip64 locator does not point at the record before it");
    }
    if (rl_source_read(r, (int64_t)where, end, 56)) return RL_FAIL;
    if (get32(end) != 0x06064b50 || get64(end + 4) != 44 || get32(end + 16) || get32(end + 20) ||
        get64(end + 24) != get64(end + 32)) {
        return zip_fail(r, "the zip64 end record is damaged");
    }
    uint64_t count64 = get64(end + 32), size64 = get64(end + 40), offset64 = get64(end + 48);
    if ((*count != 0xffff && *count != count64) || (*size != 0xffffffff && *size != size64) ||
        (*offset != 0xffffffff && *offset != offset64)) {
        return zip_fail(r, "the two end records contradict each other");
    }
    *count = count64, *size = size64, *offset = offset64;
    *stop = (int64_t)where;
    return RL_OK;
}

static rl_status zip_find_end(rl_reader *r, uint64_t *count, uint64_t *size, uint64_t *offset,
                              int64_t *stop) {
    int64_t span = r->size < 22 + 0xffff ? r->size : 22 + 0xffff;
    uint8_t *tail = rl_reader_alloc(r, span);
    if (!tail || rl_source_read(r, r->size - span, tail, span)) return RL_FAIL;
    for (int64_t i = span - 22; i >= 0; i--) {
        const uint8_t *p = tail + i;
        if (get32(p) != 0x06054b50 || get16(p + 20) != span - i - 22) continue;
        if (get16(p + 4) || get16(p + 6) || get16(p + 8) != get16(p + 10)) {
            return zip_fail(r, "archives in several parts are not supported");
        }
        *count = get16(p + 10), *size = get32(p + 12), *offset = get32(p + 16);
        *stop = r->size - span + i;
        return zip_end64(r, *stop, count, size, offset, stop);
    }
    return zip_fail(r, "failed finding central directory");
}

/* Sizes that did not fit 32 bits stand in the extra field with tag 1, in this order. */
static bool zip_sizes64(const uint8_t *extra, int64_t n, uint64_t *usize, uint64_t *csize, uint64_t *header) {
    uint64_t *wide[3] = {usize, csize, header};
    while (n >= 4) {
        int64_t length = get16(extra + 2);
        if (length > n - 4) return false;
        if (get16(extra) == 1) {
            const uint8_t *p = extra + 4;
            for (int i = 0; i < 3; i++) {
                if (*wide[i] != 0xffffffff) continue;
                if (length < 8) return false;
                *wide[i] = get64(p);
                p += 8, length -= 8;
            }
            return true;
        }
        extra += 4 + length, n -= 4 + length;
    }
    return *usize != 0xffffffff && *csize != 0xffffffff && *header != 0xffffffff;
}

static bool zip_name_good(rl_text t) {
    for (int64_t i = 0; i < t.n; i++) {
        if ((uint8_t)t.at[i] < 32 || t.at[i] == 127) return false;
    }
    return t.n > 0 && rl_text_utf8(t, false);
}

static int zip_compare(rl_text a, rl_text b) {
    int order = memcmp(a.at, b.at, (size_t)(a.n < b.n ? a.n : b.n));
    return order ? order : (a.n > b.n) - (a.n < b.n);
}
static int zip_by_name(const void *a, const void *b) {
    return zip_compare(((const zip_entry *)a)->name, ((const zip_entry *)b)->name);
}
static int zip_by_header(const void *a, const void *b) {
    int64_t x = ((const zip_entry *)a)->header, y = ((const zip_entry *)b)->header;
    return (x > y) - (x < y);
}

static rl_status zip_read_entry(rl_reader *r, const uint8_t **at, const uint8_t *stop, int64_t directory,
                                zip_entry *e) {
    const uint8_t *p = *at;
    if (stop - p < 46 || get32(p) != 0x02014b50) return zip_fail(r, "the central directory is damaged");
    int64_t name = get16(p + 28), extra = get16(p + 30), comment = get16(p + 32);
    if (stop - p - 46 < name + extra + comment) return zip_fail(r, "the central directory is damaged");
    uint64_t csize = get32(p + 20), usize = get32(p + 24), header = get32(p + 42);
    *e = (zip_entry){.flags = get16(p + 8), .method = get16(p + 10), .crc = get32(p + 16)};
    e->name = (rl_text){(const char *)p + 46, name};
    if (!zip_name_good(e->name)) return zip_fail(r, "a record's name is not printable UTF-8");
    if (!zip_sizes64(p + 46 + name, extra, &usize, &csize, &header) || get16(p + 34) ||
        header > (uint64_t)directory || csize > (uint64_t)directory - header || usize > (uint64_t)INT64_MAX) {
        return rl_reader_fail(r, RL_READER_RUNTIME, CORRUPT "record %s lies outside the file" CORRUPT_HINT,
                              rl_reader_quote(r, e->name));
    }
    if (csize && get32(p + 38) & 0x10) return zip_fail(r, "a record with data is marked as a folder");
    e->csize = (int64_t)csize, e->usize = (int64_t)usize, e->header = (int64_t)header;
    *at = p + 46 + name + extra + comment;
    return RL_OK;
}

/* Note [Bombs]
 * A stored record cannot be larger than the file. Deflate makes at most 1032 bytes of one; and all compressed
 * records of a file, read or not, may become 64 MB together, or 16 times the file if that is more: weights
 * compress by far less, and nobody who repacks a checkpoint meets the limit. */
static rl_status zip_count_inflated(rl_reader *r, const zip_entry *e) {
    int64_t most = 64 << 20;
    if (e->method == 0) return RL_OK;
    if (e->usize / 1032 > e->csize) {
        return rl_reader_fail(r, RL_READER_RUNTIME,
                              "record %s would become %lld bytes, which no %lld compressed bytes can",
                              rl_reader_quote(r, e->name), (long long)e->usize, (long long)e->csize);
    }
    if (r->size > most / 16) most = r->size > INT64_MAX / 16 ? INT64_MAX : r->size * 16;
    if (e->usize > most - r->inflated) {
        return rl_reader_fail(
            r, RL_READER_RUNTIME,
            "record %s would become %lld bytes; the compressed records of this file may become "
            "at most %lld together. If you trust the file, repack it without compression "
            "(zip -0)",
            rl_reader_quote(r, e->name), (long long)e->usize, (long long)most);
    }
    r->inflated += e->usize;
    return RL_OK;
}

/* Records that describe the archive are some bytes long, whoever reads them. */
static rl_status zip_check_sizes(rl_reader *r, const rl_zip *z) {
    static const struct {
        const char *name;
        int64_t most;
    } small[] = {{"version", 32},
                 {"byteorder", 16},
                 {".format_version", 32},
                 {".storage_alignment", 32},
                 {".data/serialization_id", 256}};
    for (int64_t i = 0; i < z->n; i++) {
        const zip_entry *e = &z->entries[i];
        const rl_text name = {e->name.at + z->prefix.n, e->name.n - z->prefix.n};
        for (size_t k = 0; k < sizeof small / sizeof *small; k++) {
            if (e->usize <= small[k].most || !rl_text_is(name, small[k].name)) continue;
            return rl_reader_fail(r, RL_READER_RUNTIME,
                                  "record %s is %lld bytes long; at most %lld are allowed", small[k].name,
                                  (long long)e->usize, (long long)small[k].most);
        }
        if (zip_count_inflated(r, e)) return RL_FAIL;
    }
    return RL_OK;
}

static rl_status zip_open(rl_reader *r) {
    uint64_t count = 0, size = 0, offset = 0;
    int64_t stop = 0;
    if (zip_find_end(r, &count, &size, &offset, &stop)) return RL_FAIL;
    if (offset > (uint64_t)stop || size != (uint64_t)stop - offset || count > size / 46) {
        return zip_fail(r, "the central directory is not where the end record says");
    }
    rl_zip *z = rl_reader_alloc(r, sizeof *z);
    uint8_t *directory = rl_reader_alloc(r, (int64_t)size);
    if (!z || !directory || rl_source_read(r, (int64_t)offset, directory, (int64_t)size)) return RL_FAIL;
    z->n = (int64_t)count;
    z->entries = rl_reader_alloc(r, z->n * (int64_t)sizeof *z->entries);
    if (!z->entries) return RL_FAIL;
    const uint8_t *at = directory;
    for (int64_t i = 0; i < z->n; i++) {
        if (zip_read_entry(r, &at, directory + size, (int64_t)offset, &z->entries[i])) return RL_FAIL;
    }
    if (!z->n || at != directory + size) return zip_fail(r, "the central directory is damaged");
    rl_text first = z->entries[0].name;
    const char *slash = memchr(first.at, '/', (size_t)first.n);
    if (!slash) {
        return rl_reader_fail(r, RL_READER_RUNTIME, "file in archive is not in a subdirectory: %s",
                              rl_reader_quote(r, first));
    }
    z->prefix = (rl_text){first.at, slash - first.at + 1};
    qsort(z->entries, (size_t)z->n, sizeof *z->entries, zip_by_header);
    for (int64_t i = 0; i < z->n; i++) {
        zip_entry *e = &z->entries[i];
        e->limit = i + 1 < z->n ? e[1].header : (int64_t)offset;
        if (e->name.n < z->prefix.n || memcmp(e->name.at, z->prefix.at, (size_t)z->prefix.n)) {
            return rl_reader_fail(r, RL_READER_RUNTIME, "record %s is not under the archive's folder %s",
                                  rl_reader_quote(r, e->name), rl_reader_quote(r, z->prefix));
        }
    }
    qsort(z->entries, (size_t)z->n, sizeof *z->entries, zip_by_name);
    for (int64_t i = 0; i + 1 < z->n; i++) {
        if (!zip_compare(z->entries[i].name, z->entries[i + 1].name)) {
            return rl_reader_fail(r, RL_READER_RUNTIME, "record %s is in the archive twice",
                                  rl_reader_quote(r, z->entries[i].name));
        }
    }
    if (zip_check_sizes(r, z)) return RL_FAIL;
    r->zip = z;
    return RL_OK;
}

/* Compares the local header with the directory and answers where the data begins. */
static rl_status zip_locate(rl_reader *r, const zip_entry *e, int64_t *at) {
    const char *name = rl_reader_quote(r, e->name);
    uint8_t h[30];
    if (e->flags & ~0x080e) {
        return rl_reader_fail(r, RL_READER_RUNTIME,
                              "PytorchStreamReader failed retrieving file meta-data for %s: unsupported "
                              "encryption or unknown flags",
                              name);
    }
    if (e->method != 0 && (e->method != 8 || !r->inflate)) {
        return rl_reader_fail(
            r, RL_READER_RUNTIME,
            "PytorchStreamReader failed retrieving file meta-data for %s: unsupported method %d", name,
            e->method);
    }
    if ((e->method == 0 && e->csize != e->usize) || e->limit - e->header < 30) {
        return rl_reader_fail(r, RL_READER_RUNTIME,
                              CORRUPT "record %s overlaps another one or contradicts itself" CORRUPT_HINT,
                              name);
    }
    if (rl_source_read(r, e->header, h, 30)) return RL_FAIL;
    int64_t length = get16(h + 26), extra = get16(h + 28);
    if (get32(h) != 0x04034b50 || get16(h + 6) != e->flags || get16(h + 8) != e->method ||
        length != e->name.n) {
        return rl_reader_fail(r, RL_READER_RUNTIME, CORRUPT "the local header of %s is damaged" CORRUPT_HINT,
                              name);
    }
    char *local = rl_reader_alloc(r, length);
    if (!local || rl_source_read(r, e->header + 30, local, length)) return RL_FAIL;
    if (memcmp(local, e->name.at, (size_t)length)) {
        return rl_reader_fail(r, RL_READER_RUNTIME,
                              CORRUPT "the local header of %s names another record" CORRUPT_HINT, name);
    }
    uint32_t crc = get32(h + 14), csize = get32(h + 18), usize = get32(h + 22);
    bool later = e->flags & 8 && !crc && !csize && !usize; /* the truth follows the data */
    if (!later && (crc != e->crc || (csize != 0xffffffff && csize != e->csize) ||
                   (usize != 0xffffffff && usize != e->usize))) {
        return rl_reader_fail(r, RL_READER_RUNTIME, CORRUPT "the two headers of %s disagree" CORRUPT_HINT,
                              name);
    }
    *at = e->header + 30 + length + extra;
    if (*at > e->limit || e->csize > e->limit - *at) {
        return rl_reader_fail(r, RL_READER_RUNTIME, CORRUPT "record %s overlaps the next one" CORRUPT_HINT,
                              name);
    }
    return RL_OK;
}

int rl_zip_find(rl_reader *r, rl_text name, rl_record *to) {
    rl_zip *z = r->zip;
    char *full = rl_reader_alloc(r, z->prefix.n + name.n + 1);
    if (!full) return -1;
    memcpy(full, z->prefix.at, (size_t)z->prefix.n);
    memcpy(full + z->prefix.n, name.at, (size_t)name.n);
    zip_entry key = {.name = {full, z->prefix.n + name.n}};
    zip_entry *e = bsearch(&key, z->entries, (size_t)z->n, sizeof key, zip_by_name);
    if (!e) return 0;
    *to = (rl_record){.size = e->usize, .packed = e->csize, .crc = e->crc, .deflated = e->method == 8};
    return zip_locate(r, e, &to->at) ? -1 : 1;
}

char *rl_zip_whole(rl_reader *r, const char *name, int64_t most, int64_t *size) {
    rl_record record;
    int found = rl_zip_find(r, (rl_text){name, (int64_t)strlen(name)}, &record);
    *size = found ? 0 : -1;
    if (found <= 0) return NULL;
    if (record.size > most) {
        rl_reader_fail(r, RL_READER_RUNTIME, "record %s is %lld bytes long; at most %lld are allowed", name,
                       (long long)record.size, (long long)most);
        return NULL;
    }
    char *bytes = rl_reader_alloc(r, record.size + 1);
    if (!bytes || rl_record_read(r, &record, name, bytes)) return NULL;
    bytes[ *size = record.size] = 0;
    return bytes;
}

static rl_status zip_check_version(rl_reader *r) {
    int64_t n;
    char *text = rl_zip_whole(r, "version", 32, &n);
    if (!text && n < 0) {
        return rl_reader_fail(r, RL_READER_RUNTIME,
                              "PytorchStreamReader failed locating file version: file not found");
    }
    if (!text) return RL_FAIL;
    char *end;
    long version = strtol(text, &end, 10);
    while (*end == '\n' || *end == '\r' || *end == ' ') end++;
    if (end == text || *end) {
        return rl_reader_fail(r, RL_READER_RUNTIME, "record version holds no number: '%s'",
                              rl_reader_quote(r, (rl_text){text, n}));
    }
    if (version < 1) {
        return rl_reader_fail(r, RL_READER_RUNTIME,
                              "Attempted to read a PyTorch file with version %ld, but the minimum supported "
                              "version for reading is 1. Your PyTorch script module file is too old. Please "
                              "regenerate it with latest version of PyTorch to mitigate this issue.",
                              version);
    }
    if (version > 10) {
        return rl_reader_fail(
            r, RL_READER_RUNTIME,
            "Attempted to read a PyTorch file with version %ld, but the maximum supported "
            "version for reading is 10. The version of your PyTorch installation may be too "
            "old, please upgrade PyTorch to latest version to mitigate this issue.",
            version);
    }
    text = rl_zip_whole(r, "byteorder", 16, &n);
    if (!text && n >= 0) return RL_FAIL;
    if (text && strcmp(text, "little") && strcmp(text, "big")) {
        return rl_reader_fail(r, RL_READER_VALUE, "Unknown endianness type: %s",
                              rl_reader_quote(r, (rl_text){text, n}));
    }
    r->big_endian = text && *text == 'b';
    return RL_OK;
}

rl_status rl_zip_begin(rl_reader *r) {
    r->record = "the zip directory";
    return zip_open(r) || zip_check_version(r) ? RL_FAIL : RL_OK;
}
