/* The formats without a directory of records; read.c chooses. */
#ifndef RL_UNPICKLE_FORMATS_H
#define RL_UNPICKLE_FORMATS_H
#include "unpickle.h"

rl_status rl_legacy_read(rl_reader *r);
rl_status rl_tar_read(rl_reader *r);
#endif
