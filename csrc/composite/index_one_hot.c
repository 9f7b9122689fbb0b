/* Classes as rows of zeros and a one. */
#include "compose.h"

/* How many there are, -1: raised; `most` asks the largest one. */
static int64_t classes_of(rl_values *g, V x, int64_t classes) {
    if (rl_value_tensor(x)->device == RL_META && classes == -1) {
        RAISE(PyExc_RuntimeError, "Tensor.item() cannot be called on meta tensors");
        return -1;
    }
    if (NUMEL(x) == 0) {
        if (classes > 0) return classes;
        RAISE(PyExc_RuntimeError, "Can not infer total number of classes from empty tensor.");
        return -1;
    }
    if (rl_value_tensor(x)->device == RL_META) return classes;
    const V least = ITEM(OP(min, x)), most = ITEM(OP(max, x));
    if (FAILED) return -1;
    if (least.u.i < 0)
        RAISE(PyExc_RuntimeError, "Class values must be non-negative.");
    else if (classes != -1 && most.u.i >= classes)
        RAISE(PyExc_RuntimeError, "Class values must be smaller than num_classes.");
    return FAILED ? -1 : classes == -1 ? most.u.i + 1 : classes;
}

COMPOSED(one_hot) {
    const V x = X(0);
    int64_t shape[RL_MAX_DIMS];
    if (rl_value_tensor(x)->dtype != RL_I64)
        return RAISE(PyExc_RuntimeError, "one_hot is only applicable to index tensor of type LongTensor.");
    if (NDIM(x) == RL_MAX_DIMS)
        return RAISE(PyExc_RuntimeError, "one_hot: the input has %d dimensions", RL_MAX_DIMS);
    const int64_t classes = classes_of(g, x, X(1).u.i);
    if (FAILED) return NONE;
    SHAPE(x, shape);
    shape[NDIM(x)] = classes;
    V zeros = OP(zeros, INTS(shape, NDIM(x) + 1), DTYPE(RL_I64), NONE, DEVICE_OF(x));
    return IN_PLACE(scatter_number, zeros, INT(-1), OP(unsqueeze, x, INT(-1)), INT(1));
}
