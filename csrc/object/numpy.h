/* Borrowing from NumPy and lending to it: object/numpy.c. */
#ifndef RL_OBJECT_NUMPY_H
#define RL_OBJECT_NUMPY_H
#include "tensor.h"
/* Is o a numpy.ndarray? Never imports NumPy. */
bool rl_numpy_is_array(PyObject *o);
/* Which kind of NumPy's scalars is o? 'i' an integer, 'f' another number or a truth value, which are read as
 * real numbers, 'c' a complex one; 0 for all others. Never imports NumPy. */
char rl_numpy_kind(PyObject *o);
/* The dtype of one of NumPy's scalars; -1 raised, -2 it is none. */
int rl_numpy_scalar_dtype(PyObject *o);
/* A tensor on the array's memory, which it keeps alive; `warn` about arrays that must not be written. */
PyObject *rl_numpy_borrow(PyObject *array, bool warn);
PyObject *rl_numpy_lend(PyObject *tensor); /* an ndarray on the tensor's memory */
#endif
