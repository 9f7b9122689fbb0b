/* Gradients of functions of one operand: a is that of the result, b what the forward operator saw (or
 * answered). */
#include "gradient.h"
#include <tgmath.h>

PLAIN_BACK(sigmoid_backward, (a * (1 - b) * b))
PLAIN_BACK(tanh_backward, (a * (1 - b * b)))
