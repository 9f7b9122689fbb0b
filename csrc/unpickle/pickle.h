/* The pickle machine. */
#ifndef RL_UNPICKLE_PICKLE_H
#define RL_UNPICKLE_PICKLE_H
#include "unpickle.h"

rl_status rl_pickle_read(rl_reader *r, rl_input *in, rl_item **root); /* up to its STOP */
#endif
