/* The bytes of a whole storage, for reading and for writing. */
#ifndef RL_FILES_BYTES_H
#define RL_FILES_BYTES_H
#include "object/tensor.h"
#include "core/device.h"

/* Between devices; false: the driver has left an error. */
bool rl_bytes_copy(rl_storage *to, rl_storage *from, const rl_device_driver *driver);
PyObject *rl_bytes_readable(rl_storage *s); /* UntypedStorage with its bytes in the CPU's memory */
extern PyMethodDef rl_bytes_methods[];
#endif
