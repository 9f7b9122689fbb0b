/* What the lines of arithmetic call. */
#include "vector_double_body.h"

#include "vector_pow_body.h"
