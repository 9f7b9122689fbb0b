/* Writing checkpoints: objects become a pickle with PyTorch's names in it, storages follow in a container.
 *
 *   object ──► files/save.c ──► opcodes ──┐
 *   tensors ─► files/save_tensor.c ───────┴► bytes + storages ──► files/save_zip.c (or a stream) ──► file
 *
 * Only opcodes of protocol 2 are written, whatever the number in front: PyTorch's safe reader knows no
 * others. What this component does not know by itself is described by a Python function
 * (pysrc/rushlight/_files/objects.py).
 */
#ifndef RL_FILES_WRITER_H
#define RL_FILES_WRITER_H
#include "object/tensor.h"

/* What was written before: objects by identity, fixed texts by address, storages' keys by storage. */
typedef struct {
    const void *key; /* NULL: free */
    PyObject *kept;  /* keeps the identity unique while the pickle grows */
    int64_t index;
} memo_slot;

typedef struct {
    memo_slot *slots;
    int64_t room, used; /* open addressing, at most half full */
} memo_table;

typedef struct {
    char *at;
    int64_t n, room;
    int64_t memo_next;
    memo_table memo, storages;
    PyObject *describe;     /* object -> what to write */
    PyObject *newobj;       /* copyreg.__newobj__ */
    PyObject *ordered_type; /* collections.OrderedDict */
    PyObject *list;         /* of (key, bytes, dtype or None, number of elements) */
    int protocol;
    bool legacy;
} saver;

/* ---- writer.c; 0, or -1 with an exception ---- */
int rl_save_bytes(saver *s, const void *from, int64_t n);
int rl_save_op(saver *s, char op);
int rl_save_number(saver *s, char op, uint64_t value, int size); /* little endian, behind its opcode */
int rl_save_int(saver *s, int64_t value);
int rl_save_utf8(saver *s, const char *text, int64_t n);
int rl_save_text(saver *s, const char *text); /* a fixed one: the same address is written once */
int rl_save_name(saver *s, const void *key, const char *module, const char *name); /* key: as in the memo */
/* Remembers what was just written; key NULL: nothing. */
int rl_save_put(saver *s, const void *key, PyObject *kept);
int rl_save_memo(saver *s, const void *key); /* writes a reference; 1, or 0 when it is new */
int64_t rl_written_find(const memo_table *t, const void *key); /* -1: absent */
int rl_written_add(memo_table *t, const void *key, PyObject *kept, int64_t index);
void rl_written_free(memo_table *t);

/* ---- save.c: an object holds tensors, and a tensor's attributes and class are objects ---- */
int rl_save_object(saver *s, PyObject *o);
extern PyMethodDef rl_save_methods[];

/* ---- save_tensor.c ---- */
int rl_save_tensor(saver *s, PyObject *t);                     /* 1: written; 0: not of a plain kind; -1 */
int rl_save_storage(saver *s, rl_storage *storage, int dtype); /* dtype -1: untyped */

/* ---- save_zip.c ---- */
extern PyMethodDef rl_save_zip_methods[];
#endif
