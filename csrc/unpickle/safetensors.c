/* Files of the safetensors package: a header that says what lies where, and the bytes of the tensors.
 *
 *   uint64 n │ n bytes of JSON, spaces at their end │ bytes of the tensors, one behind the other
 *
 *   {"__metadata__": {"a key": "a text", ...},                                   if there is any
 *    "a name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
 *
 * Refused is what that package refuses: a long header, gaps, overlaps, sizes that do not follow from dtype
 * and shape. So are white space in front of the header and names that come twice, where that package takes
 * the last; readers that took another would see other tensors. */
#include "internal.h"
#include "core/memory.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER = 100000000, MAX_LEVELS = 127 };

/* As the format spells them; dtype -1: nothing here keeps them. */
static const struct {
    const char *name;
    int16_t dtype;
} dtypes[] = {
    {"BOOL", RL_BOOL},
    {"F4", RL_F4X2},
    {"F6_E2M3", -1},
    {"F6_E3M2", -1},
    {"U8", RL_U8},
    {"I8", RL_I8},
    {"F8_E5M2", RL_F8E5M2},
    {"F8_E4M3", RL_F8E4M3},
    {"F8_E8M0", RL_F8E8M0},
    {"F8_E4M3FNUZ", RL_F8E4M3Z},
    {"F8_E5M2FNUZ", RL_F8E5M2Z},
    {"I16", RL_I16},
    {"U16", RL_U16},
    {"F16", RL_F16},
    {"BF16", RL_BF16},
    {"I32", RL_I32},
    {"U32", RL_U32},
    {"F32", RL_F32},
    {"C64", RL_C64},
    {"F64", RL_F64},
    {"I64", RL_I64},
    {"U64", RL_U64},
};
enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };

typedef struct {
    rl_text name;
    int64_t *shape;
    int64_t numel, nbytes;
    uint64_t begin, end; /* in the bytes behind the header */
    int64_t nth;
    int16_t dtype, ndim;
} entry;

typedef struct {
    rl_json json;
    rl_item *tensors, *metadata;
    entry *entries;
    int64_t n, room;
} header;

static rl_status header_refuse(header *h, const char *why, const entry *e) {
    rl_reader *r = h->json.reader;
    return rl_reader_fail(r, RL_READER_RUNTIME, "%s: tensor `%s`", why, rl_reader_quote(r, e->name));
}

/* ---- one tensor ---- */
static rl_status entry_dtype(header *h, entry *e) {
    rl_text name;
    if (rl_json_text(&h->json, &name)) return RL_FAIL;
    int i = 0;
    while (i < N_DTYPES && !rl_text_is(name, dtypes[i].name)) i++;
    e->dtype = i < N_DTYPES ? dtypes[i].dtype : -1;
    if (e->dtype >= 0) return RL_OK;
    rl_reader *r = h->json.reader;
    return rl_reader_fail(r, RL_READER_RUNTIME, "%s %s of tensor `%s`",
                          i < N_DTYPES ? "rushlight does not have the dtype" : "unknown dtype",
                          rl_reader_quote(r, name), rl_reader_quote(r, e->name));
}

static rl_status entry_shape(header *h, entry *e) {
    int64_t dims[RL_MAX_DIMS];
    uint64_t dim;
    int more, n = 0;
    if (rl_json_take(&h->json, '[')) return RL_FAIL;
    while ((more = rl_json_more(&h->json, ']', n == 0)) > 0) {
        if (rl_json_count(&h->json, &dim)) return RL_FAIL;
        if (dim > INT64_MAX) return header_refuse(h, "a dimension of more than 63 bits", e);
        if (n == RL_MAX_DIMS) return header_refuse(h, "more than 64 dimensions", e);
        dims[n++] = (int64_t)dim;
    }
    if (more < 0) return RL_FAIL;
    e->ndim = (int16_t)n;
    e->shape = rl_reader_alloc(h->json.reader, (n + 1) * (int64_t)sizeof *dims);
    if (!e->shape) return RL_FAIL;
    memcpy(e->shape, dims, (size_t)n * sizeof *dims);
    return RL_OK;
}

static rl_status entry_offsets(header *h, entry *e) {
    rl_json *j = &h->json;
    return rl_json_take(j, '[') || rl_json_count(j, &e->begin) || rl_json_take(j, ',') ||
                   rl_json_count(j, &e->end) || rl_json_take(j, ']')
               ? RL_FAIL
               : RL_OK;
}

static rl_status entry_field(header *h, entry *e, unsigned *seen) {
    static rl_status (*const read[])(header *, entry *) = {entry_dtype, entry_shape, entry_offsets};
    static const char *const names[] = {"dtype", "shape", "data_offsets"};
    rl_text key;
    if (rl_json_key(&h->json, &key)) return RL_FAIL;
    for (int i = 0; i < 3; i++) {
        if (!rl_text_is(key, names[i])) continue;
        if (*seen >> i & 1) return header_refuse(h, "a field comes twice", e);
        *seen |= 1u << i;
        return read[i](h, e);
    }
    return rl_json_skip(&h->json, MAX_LEVELS - 2);
}

/* Two elements of F4 lie in one item: PyTorch counts these. */
static rl_status entry_pack(header *h, entry *e) {
    if (e->dtype != RL_F4X2) return RL_OK;
    if (!e->ndim || e->shape[e->ndim - 1] % 2) return header_refuse(h, "an odd number of F4 elements", e);
    e->shape[e->ndim - 1] /= 2;
    return RL_OK;
}

static rl_status entry_measure(header *h, entry *e) {
    if (entry_pack(h, e)) return RL_FAIL;
    bool fits = true;
    e->numel = 1;
    for (int i = 0; i < e->ndim; i++)
        fits = fits && !__builtin_mul_overflow(e->numel, e->shape[i], &e->numel);
    if (fits && !__builtin_mul_overflow(e->numel, (int64_t)rl_itemsize(e->dtype), &e->nbytes)) return RL_OK;
    return header_refuse(h, "overflow computing buffer size from shape and/or element type", e);
}

static rl_status header_tensor(header *h, rl_text name) {
    void *entries = h->entries;
    rl_reader *r = h->json.reader;
    if (rl_reader_grow(r, &entries, &h->room, h->n, h->n + 1, sizeof *h->entries)) return RL_FAIL;
    h->entries = entries;
    entry *e = &h->entries[h->n];
    *e = (entry){.name = name, .nth = h->n++};
    unsigned seen = 0;
    int more = 0;
    if (rl_json_take(&h->json, '{')) return RL_FAIL;
    for (bool first = true; (more = rl_json_more(&h->json, '}', first)) > 0; first = false) {
        if (entry_field(h, e, &seen)) return RL_FAIL;
    }
    if (more < 0) return RL_FAIL;
    if (seen != 7) return header_refuse(h, "one of dtype, shape and data_offsets is missing", e);
    return entry_measure(h, e);
}

/* ---- the header ---- */
static int text_order(const void *a, const void *b) {
    const rl_text *x = a, *y = b;
    int order = memcmp(x->at, y->at, (size_t)(x->n < y->n ? x->n : y->n));
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

static rl_status names_differ(rl_reader *r, rl_text *names, int64_t n) {
    qsort(names, (size_t)n, sizeof *names, text_order);
    for (int64_t i = 1; i < n; i++) {
        if (!text_order(&names[i - 1], &names[i]))
            return rl_reader_fail(r, RL_READER_RUNTIME, "the name `%s` comes twice",
                                  rl_reader_quote(r, names[i]));
    }
    return RL_OK;
}

static rl_item *header_text(header *h, rl_text text) {
    rl_item *i = rl_item_new(h->json.reader, RL_ITEM_STR);
    if (i) i->u.text = text.at, i->n = text.n;
    return i;
}

static rl_status header_metadata(header *h) {
    rl_json *j = &h->json;
    if (h->metadata) return rl_json_fail(j, "`__metadata__` comes twice");
    h->metadata = &j->reader->none;
    if (rl_json_null(j)) return RL_OK;
    h->metadata = rl_item_new(j->reader, RL_ITEM_DICT);
    if (!h->metadata || rl_json_take(j, '{')) return RL_FAIL;
    int more;
    for (bool first = true; (more = rl_json_more(j, '}', first)) > 0; first = false) {
        rl_text key, value;
        if (rl_json_key(j, &key) || rl_json_text(j, &value)) return RL_FAIL;
        rl_item *pair[] = {header_text(h, key), header_text(h, value)};
        if (!pair[0] || !pair[1] || rl_item_add(j->reader, h->metadata, pair, 2)) return RL_FAIL;
    }
    return more < 0 ? RL_FAIL : RL_OK;
}

static rl_status header_parse(header *h) {
    rl_json *j = &h->json;
    rl_text key;
    int more;
    if (j->at < j->end && *j->at != '{') return rl_json_fail(j, "it does not begin with `{`");
    if (rl_json_take(j, '{')) return RL_FAIL;
    for (bool first = true; (more = rl_json_more(j, '}', first)) > 0; first = false) {
        if (rl_json_key(j, &key)) return RL_FAIL;
        if (rl_text_is(key, "__metadata__") ? header_metadata(h) : header_tensor(h, key)) return RL_FAIL;
    }
    return more < 0 ? RL_FAIL : rl_json_close(j);
}

static rl_status header_unique(header *h) {
    rl_reader *r = h->json.reader;
    bool described = h->metadata && h->metadata->kind == RL_ITEM_DICT;
    int64_t pairs = described ? h->metadata->n / 2 : 0, n = h->n > pairs ? h->n : pairs;
    rl_text *names = rl_reader_alloc(r, (n + 1) * (int64_t)sizeof *names);
    if (!names) return RL_FAIL;
    for (int64_t i = 0; i < h->n; i++) names[i] = h->entries[i].name;
    if (names_differ(r, names, h->n)) return RL_FAIL;
    for (int64_t i = 0; i < pairs; i++) names[i] = rl_item_str(h->metadata->u.items[2 * i]);
    return names_differ(r, names, pairs);
}

static int entry_order(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return x->nth < y->nth ? -1 : 1;
}

/* Sorted, each must begin where the one before ends, and the last must end where the file does. */
static rl_status header_cover(header *h, int64_t bytes) {
    uint64_t at = 0;
    if (h->n) qsort(h->entries, (size_t)h->n, sizeof *h->entries, entry_order);
    for (int64_t i = 0; i < h->n; i++) {
        const entry *e = &h->entries[i];
        if (e->begin != at || e->end < e->begin) return header_refuse(h, "invalid offset", e);
        if (e->end - e->begin != (uint64_t)e->nbytes)
            return header_refuse(h, "invalid shape, data type, or offset", e);
        at = e->end;
    }
    if (at == (uint64_t)bytes) return RL_OK;
    return rl_reader_fail(
        h->json.reader, RL_READER_RUNTIME,
        "incomplete metadata, file not fully covered: the tensors take %llu bytes, but %lld "
        "follow the header",
        (unsigned long long)at, (long long)bytes);
}

static rl_status header_make(header *h, int64_t start) {
    rl_reader *r = h->json.reader;
    for (int64_t i = 0; i < h->n; i++) {
        const entry *e = &h->entries[i];
        rl_stored *s = rl_stored_at(r, e->name, e->dtype, e->numel, start + (int64_t)e->begin);
        rl_item *pair[] = {header_text(h, e->name), s ? rl_item_new(r, RL_ITEM_TENSOR) : NULL};
        if (!pair[0] || !pair[1]) return RL_FAIL;
        pair[1]->u.tensor = rl_stored_tensor_whole(r, s, e->shape, e->ndim);
        if (!pair[1]->u.tensor || rl_item_add(r, h->tensors, pair, 2)) return RL_FAIL;
    }
    r->root = h->tensors, r->metadata = h->metadata;
    r->end = r->size;
    return RL_OK;
}

/* ---- the file ---- */
static uint64_t head_number(const uint8_t *head) {
    uint64_t n = 0;
    for (int i = 7; i >= 0; i--) n = n << 8 | head[i];
    return n;
}

bool rl_safetensors_head(const uint8_t *head, int64_t n) {
    return n > 8 && head_number(head) <= MAX_HEADER && head[8] == '{';
}

static rl_status header_size(rl_reader *r, int64_t *n) {
    uint8_t head[8];
    if (r->size < 8) {
        return rl_reader_fail(r, RL_READER_RUNTIME, "header too small: the file has %lld bytes",
                              (long long)r->size);
    }
    if (rl_source_read(r, 0, head, 8)) return RL_FAIL;
    uint64_t size = head_number(head);
    if (size > MAX_HEADER) {
        return rl_reader_fail(r, RL_READER_RUNTIME, "header too large: %llu bytes, of at most %d",
                              (unsigned long long)size, MAX_HEADER);
    }
    *n = (int64_t)size;
    if (*n <= r->size - 8) return RL_OK;
    return rl_reader_fail(r, RL_READER_RUNTIME,
                          "invalid header length: %lld bytes in a file of %lld; is the file complete?",
                          (long long)*n, (long long)r->size);
}

static rl_status header_open(header *h, int64_t n) {
    rl_reader *r = h->json.reader;
    const char *at = r->data ? (const char *)r->data + 8 : NULL;
    if (!at) {
        char *copy = rl_reader_alloc(r, n + 1);
        if (!copy || rl_source_read(r, 8, copy, n)) return RL_FAIL;
        at = copy;
    }
    if (!rl_text_utf8((rl_text){at, n}, false))
        return rl_reader_fail(r, RL_READER_RUNTIME, "invalid UTF-8 in header");
    h->json.start = h->json.at = at, h->json.end = at + n;
    h->tensors = rl_item_new(r, RL_ITEM_DICT);
    return h->tensors ? RL_OK : RL_FAIL;
}

rl_status rl_safetensors_read(rl_reader *r) {
    int64_t n = 0;
    header h = {.json.reader = r};
    r->record = "the header";
    rl_status status = header_size(r, &n) || header_open(&h, n) || header_parse(&h) || header_unique(&h) ||
                               header_cover(&h, r->size - 8 - n) || header_make(&h, 8 + n)
                           ? RL_FAIL
                           : RL_OK;
    rl_free(h.entries);
    return status;
}
