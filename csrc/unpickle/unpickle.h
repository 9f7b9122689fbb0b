/* Checkpoint files: bytes become a neutral tree here. No Python object is made, nothing is executed.
 *
 *            ┌► zip.c ────► data.pkl ─┐
 *   read.c ──┼► legacy.c ────► members ──┼─► pickle.c ──┬► items + steps ──► files/load.c ──► objects
 *            ├► legacy.c ─► stream ───┘              │  (symbols.c, pickle.c, tensor.c, storage.c judge)
 *            └► safetensors.c ─► json.c ─────────────┘
 *
 * A pickle is a program. The machine runs it over rl_items and writes down, in the same order, the few
 * steps that matter (make, append, set, build). Replaying the steps needs no recursion: what an item
 * needs was made before it, and cycles only run through containers that are filled later.
 * Everything lives in one arena that rl_reader_free gives back.
 *
 * This header is what other components need. Inside, each file stands on those before it:
 *   source, items, symbols and zip and json, storage, place, layout, tensor, rules, pickle, tar and legacy
 * and safetensors, read */
#ifndef RL_UNPICKLE_UNPICKLE_H
#define RL_UNPICKLE_UNPICKLE_H
#include "kernel_abi/kernel.h"

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

    rl_item *root, *metadata; /* metadata: of a safetensors file, or NULL */
    int64_t end;              /* first byte behind a legacy stream */
    bool legacy, big_endian;

    rl_step *steps;
    int64_t n_steps, steps_room, n_items;
    rl_stored **storages; /* open addressing over the key; see unpickle/storage.c */
    int64_t n_storages, storages_room;
    uint64_t seed;
    rl_zip *zip;
    rl_tar *tar; /* once its tensors are read */
    /* What a persistent id stands for in this format: set before the pickle that may use one. */
    rl_item *(*persistent)(struct rl_reader *r, rl_item *pid);
    const char *record; /* for messages */
    rl_reader_chunk *chunks;
    rl_item none, truth[2], nothing; /* shared: None, False, True, () */
    int64_t inflated;                /* bytes that compressed records promise to become */
    /* Unpacks from->packed bytes into exactly from->size at `to`; NULL: compressed records are refused. */
    rl_status (*inflate)(struct rl_reader *r, const struct rl_record *from, void *to);
    rl_reader_error error;
    char text[1024];
} rl_reader;

/* ---- read.c ---- */
/* Reads the whole structure of a file of any format; storage bytes come later, by rl_stored_fill. */
rl_status rl_reader_read(rl_reader *r);

/* ---- safetensors.c ---- */
bool rl_safetensors_head(const uint8_t *head, int64_t n); /* may a file that begins so be one? */
/* The root becomes a dict of the tensors by name, in the order of their bytes. */
rl_status rl_safetensors_read(rl_reader *r);

/* ---- source.c ---- */
rl_reader *rl_reader_new(const uint8_t *data, int fd, int64_t start, int64_t size); /* NULL: no memory */
void rl_reader_free(rl_reader *r);
rl_status rl_reader_begin(rl_reader *r); /* takes small files into memory */
rl_status rl_reader_fail(rl_reader *r, rl_reader_error kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
rl_status rl_source_read(rl_reader *r, int64_t at, void *to, int64_t n);

/* A moving window over [at, end) of the source, or over bytes in memory. */
typedef struct {
    rl_reader *reader;
    const uint8_t *data;
    uint8_t *window;
    int64_t at, end, window_at, window_n, window_room;
} rl_input;
const uint8_t *rl_input_take(rl_input *in, int64_t n); /* good until the next take; NULL: EOF recorded */
void rl_input_close(rl_input *in);

/* ---- items.c ---- */
rl_status rl_reader_mark(rl_reader *r); /* marks what the root reaches */

/* ---- symbols.c ---- */
const char *rl_scheme_name(int scheme);

/* ---- zip.c ---- */
rl_status rl_zip_begin(rl_reader *r); /* opens; the container's version and byte order */
/* Where the bytes of `prefix/name` lie. Answers 1, 0 (absent) or -1. */
int rl_zip_find(rl_reader *r, rl_text name, rl_record *to);
/* A record whole, with a NUL behind it; NULL with *size -1 when it is absent. */
char *rl_zip_whole(rl_reader *r, const char *name, int64_t most, int64_t *size);

/* ---- legacy.c ---- */
rl_status rl_tar_begin(rl_reader *r, rl_input *pickle);      /* all tensors; where the pickle lies */
rl_item *rl_tar_next(rl_reader *r, int64_t i, int64_t *key); /* a tensor, until NULL */

/* ---- storage.c ---- */
/* By the parts of a persistent id of a zip file, which pass the checks of one in its pickle. */
rl_stored *rl_stored_named(rl_reader *r, const char *name, rl_text key, rl_text location, int64_t numel);
/* The bytes of a storage that is no slice: read, checked, in this machine's order. */
rl_status rl_stored_fill(rl_reader *r, const rl_stored *s, void *to);
rl_status rl_stored_normalise(rl_reader *r, const rl_stored *s, uint8_t *bytes);
#endif
