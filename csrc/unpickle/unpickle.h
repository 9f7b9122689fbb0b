/* Checkpoint files: bytes become a neutral tree here. No Python object is made, nothing is executed.
 *
 *            ┌► load_zip ────► records ─┐
 *   source ──┤                          ├─► load_pickle ──► items + steps ──► files/load.c ──► objects
 *            └► load_legacy ───────────-┘      (load_names, load_rules, load_storage judge)
 *
 * A pickle is a program. The machine runs it over rl_items and writes down, in the same order, the few
 * steps that matter (make, append, set, build). Replaying the steps needs no recursion: what an item
 * needs was made before it, and cycles only run through containers that are filled later.
 * Everything lives in one arena that rl_reader_free gives back. */
#ifndef RL_UNPICKLE_H
#define RL_UNPICKLE_H
#include "contract/kernel.h"

typedef enum {
    RL_READER_FINE,
    RL_READER_RUNTIME, /* containers, sizes */
    RL_READER_PICKLE,  /* pickle.UnpicklingError */
    RL_READER_EOF,
    RL_READER_VALUE,
    RL_READER_MEMORY,
} rl_reader_error;

typedef struct {
    const char *at;
    int64_t n;
} rl_text;

/* ---- the tree ---- */
typedef enum {
    RL_ITEM_NONE,
    RL_ITEM_FALSE,
    RL_ITEM_TRUE,
    RL_ITEM_INT,
    RL_ITEM_LONG, /* text: two's complement, little endian */
    RL_ITEM_FLOAT,
    RL_ITEM_COMPLEX, /* text: two doubles */
    RL_ITEM_STR,     /* text: UTF-8, surrogates allowed */
    RL_ITEM_BYTES,
    RL_ITEM_BYTEARRAY,
    RL_ITEM_TUPLE,
    RL_ITEM_SIZE, /* items: ints */
    RL_ITEM_FROZENSET,
    RL_ITEM_LIST,
    RL_ITEM_SET,
    RL_ITEM_DICT, /* items: key, value, key, value; so the next two */
    RL_ITEM_ORDERED,
    RL_ITEM_COUNTER,
    RL_ITEM_DTYPE,  /* code: rl_dtype */
    RL_ITEM_LAYOUT, /* code: index into RL_LAYOUTS */
    RL_ITEM_SCHEME, /* code: rl_scheme */
    RL_ITEM_DEVICE, /* code: rl_device_type, i: index or -1 */
    RL_ITEM_SYMBOL, /* code: rl_symbol */
    RL_ITEM_USER,   /* code: index into the names that the caller allows */
    RL_ITEM_CALL,   /* items: USER, TUPLE */
    RL_ITEM_NEW,    /* items: USER, TUPLE */
    RL_ITEM_STORAGE,
    RL_ITEM_TENSOR,    /* state: attributes or NULL */
    RL_ITEM_PARAMETER, /* items: TENSOR; code: requires_grad; state as above */
    RL_ITEM_SUBCLASS,  /* items: TENSOR or PARAMETER, USER; state as above */
    RL_ITEM_SPARSE,    /* items: LAYOUT, TUPLE of TENSORs and sizes */
    RL_ITEM_QUANTIZED, /* items: TENSOR, SCHEME, scale, zero point, axis, place; layout_quantized */
} rl_item_kind;

typedef struct rl_item {
    uint8_t kind, marked;
    uint8_t key_weight; /* atoms in it; 0: must not be hashed (mutable, too deep, too wide) */
    uint8_t key_depth;
    int32_t code;
    int64_t n, room; /* of text in bytes, of items in items */
    union {
        int64_t i;
        double d;
        const char *text;
        struct rl_item **items;
        struct rl_stored *storage;
        struct rl_stored_tensor *tensor;
    } u;
    struct rl_item *state; /* what BUILD brought */
    void *made;            /* the consumer's */
} rl_item;

/* Where the bytes of something lie in the file. */
typedef struct rl_record {
    int64_t at, size, packed; /* packed: bytes in the file */
    uint32_t crc;             /* 0: written without checksums */
    bool deflated;
} rl_record;

typedef struct rl_stored {
    rl_text key, location;
    rl_item *item;
    struct rl_stored *root; /* a slice of another one (legacy files only) */
    int64_t root_offset;    /* in bytes */
    int64_t numel, nbytes;
    rl_record bytes; /* at: -1 until known */
    int16_t dtype;   /* of the storage class; -1: UntypedStorage */
    int16_t used;    /* dtype of the tensors on it; -1: none yet */
    void *made;
} rl_stored;

typedef struct rl_stored_tensor {
    rl_stored *storage; /* NULL: an empty tensor without one, or a meta tensor */
    int64_t offset;
    int64_t *shape, *strides;
    int16_t dtype, ndim;
    int64_t nbytes; /* of the storage that a meta tensor only pretends to have */
    bool requires_grad, meta;
    bool conj, neg; /* the values are to be read so */
} rl_stored_tensor;

#define RL_LAYOUTS {"strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"}
enum { RL_NLAYOUTS = 6 };
/* how quantized numbers are meant */
typedef enum {
    RL_SCHEME_TENSOR,
    RL_SCHEME_CHANNEL,
    RL_SCHEME_CHANNEL_FLOAT,
    RL_SCHEME_TENSOR_SYMMETRIC,
    RL_SCHEME_CHANNEL_SYMMETRIC,
    RL_NSCHEMES
} rl_scheme;

typedef enum { RL_STEP_MAKE, RL_STEP_ADD, RL_STEP_BUILD } rl_step_kind;
typedef struct {
    rl_item *item;
    int64_t from, to; /* ADD: which of its items */
    uint8_t kind;
} rl_step;

/* ---- what the (module, name) table answers ---- */
typedef enum {
    RL_SYMBOL_NONE,
    RL_SYMBOL_ORDERED,
    RL_SYMBOL_COUNTER,
    RL_SYMBOL_SET,
    RL_SYMBOL_FROZENSET,
    RL_SYMBOL_BYTES,
    RL_SYMBOL_BYTEARRAY,
    RL_SYMBOL_COMPLEX,
    RL_SYMBOL_ENCODE,
    RL_SYMBOL_SIZE,
    RL_SYMBOL_DEVICE,
    RL_SYMBOL_TENSOR,
    RL_SYMBOL_PARAMETER,
    RL_SYMBOL_REBUILD,
    RL_SYMBOL_REBUILD_V2,
    RL_SYMBOL_REBUILD_V3,
    RL_SYMBOL_REBUILD_META,
    RL_SYMBOL_REBUILD_PARAMETER,
    RL_SYMBOL_REBUILD_STATE,
    RL_SYMBOL_REBUILD_TYPE,
    RL_SYMBOL_REBUILD_SPARSE,
    RL_SYMBOL_REBUILD_QUANTIZED,
    RL_SYMBOL_GET_LAYOUT,
    RL_SYMBOL_UNTYPED,                                /* torch.storage.UntypedStorage */
    RL_SYMBOL_SCHEME,                                 /* + rl_scheme */
    RL_SYMBOL_DTYPE = RL_SYMBOL_SCHEME + RL_NSCHEMES, /* + dtype */
    RL_SYMBOL_STORAGE = RL_SYMBOL_DTYPE + RL_NDTYPES,
    RL_SYMBOL_OLD_TENSOR = RL_SYMBOL_STORAGE + RL_NDTYPES, /* torch.FloatTensor ... */
    RL_SYMBOL_END = RL_SYMBOL_OLD_TENSOR + RL_NDTYPES,
} rl_symbol;

/* ---- one file being read ---- */
typedef struct rl_reader_chunk rl_reader_chunk;
typedef struct rl_zip rl_zip;
typedef struct rl_tar rl_tar;
typedef struct rl_reader {
    const uint8_t *data; /* the bytes, or NULL: read from fd, beginning at `start` */
    int fd;
    int64_t start, size;
    const char *const *allowed; /* "module.name", sorted by strcmp */
    int64_t n_allowed;
    bool survey;        /* names that are not allowed are noted, not refused; nothing may be replayed then */
    const char **asked; /* "module.name", each once, in the file's order */
    int64_t n_asked, asked_room;

    rl_item *root;
    int64_t end; /* first byte behind a legacy stream */
    bool legacy, big_endian;

    rl_step *steps;
    int64_t n_steps, steps_room, n_items;
    rl_stored **storages; /* open addressing over the key; see unpickle/storage.c */
    int64_t n_storages, storages_room;
    uint64_t seed;
    rl_zip *zip;
    rl_tar *tar;        /* once its tensors are read */
    const char *record; /* for messages */
    rl_reader_chunk *chunks;
    rl_item none, truth[2], nothing; /* shared: None, False, True, () */
    int64_t inflated;                /* bytes that compressed records in use promise to become */
    /* Unpacks from->packed bytes of deflate into exactly from->size at `to`; NULL: compressed records are
     * refused.
     */
    rl_status (*inflate)(struct rl_reader *r, const struct rl_record *from, void *to);
    rl_reader_error error;
    char text[1024];
} rl_reader;

/* ---- unpickle/source.c: bytes, arena, errors ---- */
rl_reader *rl_reader_new(const uint8_t *data, int fd, int64_t start, int64_t size); /* NULL: no memory */
void rl_reader_free(rl_reader *r);
rl_status rl_reader_begin(rl_reader *r); /* takes small files into memory */
rl_status rl_reader_fail(rl_reader *r, rl_reader_error kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void *rl_reader_alloc(rl_reader *r, int64_t n); /* from the arena; NULL and an error recorded */
char *rl_reader_copy(rl_reader *r, const void *from, int64_t n); /* a NUL follows the copy */
/* Room for `need` elements in an array made by this function; keeps the `used` first ones. */
rl_status rl_reader_grow(rl_reader *r, void **array, int64_t *room, int64_t used, int64_t need, size_t size);
const char *rl_reader_quote(rl_reader *r, rl_text t); /* printable, short */
rl_status rl_source_read(rl_reader *r, int64_t at, void *to, int64_t n);
bool rl_text_is(rl_text t, const char *s);
bool rl_text_utf8(rl_text t, bool surrogates);

/* A moving window over [at, end) of the source, or over bytes in memory. */
typedef struct {
    rl_reader *reader;
    const uint8_t *data;
    uint8_t *window;
    int64_t at, end, window_at, window_n, window_room;
} rl_input;
const uint8_t *rl_input_take(rl_input *in, int64_t n); /* good until the next take; NULL: EOF recorded */
void rl_input_close(rl_input *in);

/* ---- unpickle/zip.c ---- */
rl_status rl_zip_open(rl_reader *r);
/* Where the bytes of `prefix/name` lie. Answers 1, 0 (absent) or -1. */
int rl_zip_find(rl_reader *r, rl_text name, rl_record *to);
/* All bytes of a record, its checksum compared. */
rl_status rl_record_read(rl_reader *r, const rl_record *from, const char *name, void *to);
rl_status rl_zip_begin(rl_reader *r); /* opens; the container's version and byte order */
/* A record whole, with a NUL behind it; NULL with *size -1 when it is absent. */
char *rl_zip_whole(rl_reader *r, const char *name, int64_t most, int64_t *size);
rl_status rl_zip_read(rl_reader *r); /* begins, reads data.pkl, fills root */

/* ---- unpickle/legacy.c ---- */
rl_status rl_legacy_read(rl_reader *r);

/* ---- unpickle/tar.c ---- */
rl_status rl_tar_read(rl_reader *r);
rl_status rl_tar_begin(rl_reader *r, rl_input *pickle);
rl_item *rl_tar_next(rl_reader *r, int64_t i, int64_t *key); /* a tensor, until NULL */
rl_item *rl_tar_tensor(rl_reader *r, const rl_item *pid);

/* ---- unpickle/pickle.c: the machine ---- */
rl_status rl_pickle_read(rl_reader *r, rl_input *in, rl_item **root);

/* ---- unpickle/items.c ---- */
rl_item *rl_item_new(rl_reader *r, rl_item_kind kind);  /* and its MAKE step */
rl_item *rl_item_bare(rl_reader *r, rl_item_kind kind); /* no step: the caller writes it down later */
rl_item *rl_item_text(rl_reader *r, rl_item_kind kind, const void *from, int64_t n);
rl_item *rl_item_list(rl_reader *r, rl_item_kind kind, rl_item *const *items, int64_t n);
rl_status rl_item_add(rl_reader *r, rl_item *to, rl_item *const *items, int64_t n);
rl_status rl_step_add(rl_reader *r, rl_step_kind kind, rl_item *item, int64_t from, int64_t to);
rl_status rl_reader_mark(rl_reader *r); /* marks what the root reaches */
static inline rl_text rl_item_str(const rl_item *i) {
    return (rl_text){i->u.text, i->n};
}

/* ---- unpickle/symbols.c, unpickle/rules.c, unpickle/tensor.c, unpickle/layout.c, unpickle/storage.c: what
 * is allowed ---- */
rl_item *rl_symbol_find(rl_reader *r, rl_text module, rl_text name);
const char *rl_symbol_name(int code);
const char *rl_item_title(const rl_item *i); /* "<class 'list'>" ... */
rl_item *rl_rules_reduce(rl_reader *r, rl_item *callee, rl_item *args);
rl_item *rl_rules_new(rl_reader *r, rl_item *cls, rl_item *args);
rl_status rl_rules_build(rl_reader *r, rl_item *item, rl_item *state);
rl_item *rl_rules_tensor(rl_reader *r, rl_item *callee, rl_item *args);
rl_stored_tensor *rl_stored_tensor_new(rl_reader *r, rl_item *const *args,
                                       int dtype); /* storage, offset, size, stride */
rl_stored_tensor *rl_stored_tensor_packed(rl_reader *r,
                                          rl_item *const *args); /* several elements in a byte */
rl_item *rl_rules_layout(rl_reader *r, rl_item *callee, rl_item *args);
rl_status rl_rules_old_tensor(rl_reader *r, rl_item *tensor, rl_item *state);
rl_status rl_rules_old_parameter(rl_reader *r, rl_item *parameter, rl_item *state);
rl_status rl_rules_state(rl_reader *r, rl_item **state);
rl_item *rl_stored_persistent(rl_reader *r, rl_item *pid);
rl_stored *rl_stored_find(rl_reader *r, rl_text key);
rl_stored *rl_stored_new(rl_reader *r, rl_text key, rl_text location, int dtype, int64_t numel);
/* `numel` elements of a whole storage from `offset` on, under a name of their own */
rl_stored *rl_stored_slice(rl_reader *r, rl_stored *root, rl_text key, int64_t offset, int64_t numel);
/* The bytes of a storage that is no slice: read, checked, in this machine's order. */
rl_status rl_stored_fill(rl_reader *r, const rl_stored *s, void *to);
rl_status rl_stored_normalise(rl_reader *r, const rl_stored *s, uint8_t *bytes);

/* Reads the whole structure of a file of either format; storage bytes come later, by rl_stored_fill. */
rl_status rl_reader_read(rl_reader *r);
#endif
