/* What the lines of functions of one operand call. */
#include "vector_math_body.h"

#include "vector_double_body.h"

#include "vector_trig_body.h"

#include "vector_erf_body.h"
