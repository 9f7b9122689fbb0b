/* Borrowing from NumPy and lending to it: tensor_numpy.c for the other files of this room. */
#ifndef RL_TENSOR_NUMPY_H
#define RL_TENSOR_NUMPY_H
#include "tensor.h"
/* Is o a numpy.ndarray? Never imports NumPy. */
bool rl_numpy_is_array(PyObject *o);
/* A tensor on the array's memory, which it keeps alive; `warn` about arrays that must not be written. */
PyObject *rl_numpy_borrow(PyObject *array, bool warn);
PyObject *rl_numpy_lend(PyObject *tensor); /* an ndarray on the tensor's memory */
#endif
