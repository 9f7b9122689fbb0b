/* The kernel ABI: everything a kernel may know. C11, C++17 and nvcc compile this header; it includes no
 * Python.h.
 *
 *   dispatcher ──► rl_call { out[], arg[], attr[], svc } ──► kernel ──► RL_OK
 *                                                              └──► RL_UNSUPPORTED, nothing written:
 *                                                                   the next kernel of the operator is tried
 *
 * A kernel owns nothing: memory comes from svc->scratch, threads from svc->parallel, errors go to
 * svc->fail. It has no globals and never calls malloc, so it cannot leak and cannot raise. */
#ifndef RL_KERNEL_ABI_KERNEL_H
#define RL_KERNEL_ABI_KERNEL_H
#include "call.h"
#include "count.h"
#include "dtype.h"
#include "half.h"
#include "layout.h"
#include "random.h"
#include "view.h"
#endif
