/* Loading and saving files: the functions behind rushlight.load and rushlight.save. */
#ifndef RL_FILES_FILES_H
#define RL_FILES_FILES_H
#include "object/tensor.h"

int rl_files_init(PyObject *m);
#endif
