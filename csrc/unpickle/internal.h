/* What the files of unpickle share. */
#ifndef RL_UNPICKLE_INTERNAL_H
#define RL_UNPICKLE_INTERNAL_H
#include "unpickle.h"

void *rl_reader_alloc(rl_reader *r, int64_t n); /* from the arena; NULL and an error recorded */
char *rl_reader_copy(rl_reader *r, const void *from, int64_t n); /* a NUL follows the copy */
/* Room for `need` elements in an array made by this function; keeps the `used` first ones. */
rl_status rl_reader_grow(rl_reader *r, void **array, int64_t *room, int64_t used, int64_t need, size_t size);
const char *rl_reader_quote(rl_reader *r, rl_text t); /* printable, short */
bool rl_text_is(rl_text t, const char *s);
bool rl_text_utf8(rl_text t, bool surrogates);
/* All bytes of a record, its checksum compared. */
rl_status rl_record_read(rl_reader *r, const rl_record *from, const char *name, void *to);

/* ---- the nodes of the tree and the steps that make them ---- */
rl_item *rl_item_new(rl_reader *r, rl_item_kind kind);  /* and its MAKE step */
rl_item *rl_item_bare(rl_reader *r, rl_item_kind kind); /* no step: the caller writes it down later */
rl_item *rl_item_text(rl_reader *r, rl_item_kind kind, const void *from, int64_t n);
rl_item *rl_item_list(rl_reader *r, rl_item_kind kind, rl_item *const *items, int64_t n);
rl_status rl_item_add(rl_reader *r, rl_item *to, rl_item *const *items, int64_t n);
rl_status rl_step_add(rl_reader *r, rl_step_kind kind, rl_item *item, int64_t from, int64_t to);
const char *rl_item_title(const rl_item *i); /* of its class, for messages */
static inline rl_text rl_item_str(const rl_item *i) {
    return (rl_text){i->u.text, i->n};
}

/* ---- what the (module, name) table of symbols.c answers ---- */
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

rl_item *rl_symbol_find(rl_reader *r, rl_text module, rl_text name);
const char *rl_symbol_name(int code);

/* ---- JSON, token by token ----
 * what the header of a safetensors file is written in.
 * Counts and texts are read; any other value is checked and passed over. Nothing recurses. */
typedef struct {
    rl_reader *reader;
    const char *start, *at, *end; /* valid UTF-8 that lives as long as the reader */
} rl_json;

rl_status rl_json_fail(rl_json *j, const char *why); /* tells the place, too */
rl_status rl_json_take(rl_json *j, char c);          /* this character, white space before it or not */
int rl_json_more(rl_json *j, char close,
                 bool first);                      /* another element before `close`? 1, 0 (closed) or -1 */
rl_status rl_json_text(rl_json *j, rl_text *to);   /* in place, or a copy if something in it is escaped */
rl_status rl_json_key(rl_json *j, rl_text *to);    /* of an object, and the colon */
rl_status rl_json_count(rl_json *j, uint64_t *to); /* an integer of at least 0; 1.0 and true are none */
bool rl_json_null(rl_json *j);                     /* takes a null if one comes */
rl_status rl_json_skip(rl_json *j, int most);      /* any value of at most so many levels */
rl_status rl_json_close(rl_json *j);               /* only white space may be left */

/* ---- the storages that a file speaks of, by their keys ---- */
rl_item *rl_stored_persistent(rl_reader *r, rl_item *pid); /* rl_reader.persistent of zip and legacy files */
rl_stored *rl_stored_find(rl_reader *r, rl_text key);
rl_stored *rl_stored_new(rl_reader *r, rl_text key, rl_text location, int dtype, int64_t numel);
/* on the CPU, in bytes of the file that the caller has checked; no item stands for it */
rl_stored *rl_stored_at(rl_reader *r, rl_text key, int dtype, int64_t numel, int64_t at);
/* `numel` elements of a whole storage from `offset` on, under a name of their own */
rl_stored *rl_stored_slice(rl_reader *r, rl_stored *root, rl_text key, int64_t offset, int64_t numel);

/* ---- tensors: the one constructor that checks them, and the rules that lead to it ---- */
/* args are storage, offset, size, stride; */
/* dtype -1: that of the storage */
rl_stored_tensor *rl_stored_tensor_new(rl_reader *r, rl_item *const *args, int dtype);
/* all of a typed storage, in this shape */
rl_stored_tensor *rl_stored_tensor_whole(rl_reader *r, rl_stored *s, const int64_t *shape, int ndim);

rl_item *rl_rules_tensor(rl_reader *r, rl_item *callee, rl_item *args);
rl_status rl_rules_old_tensor(rl_reader *r, rl_item *tensor, rl_item *state);
rl_status rl_rules_old_parameter(rl_reader *r, rl_item *parameter, rl_item *state);

/* ---- what REDUCE, NEWOBJ and BUILD become ---- */

/* ---- the pickle machine ---- */
rl_status rl_pickle_read(rl_reader *r, rl_input *in, rl_item **root); /* up to its STOP */

/* ---- the formats without a directory of records; read.c chooses ---- */
rl_status rl_legacy_read(rl_reader *r);
rl_status rl_tar_read(rl_reader *r);
#endif
