/* What the (module, name) table of symbols.c answers. */
#ifndef RL_UNPICKLE_SYMBOLS_H
#define RL_UNPICKLE_SYMBOLS_H
#include "unpickle.h"

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
#endif
