/* Compiles the text of a kernel for each instruction set (Note [Instruction sets] in kernel_abi/isa_list.h).
 * A file says which text and includes this, as often as it has such texts:
 *
 *   #define ISA_IMPL "grid_impl.inc"        the text, in the words of isa.h
 *   #define ISA_DOUBLES                     compiles it for doubles, too, before it does so for floats
 *   #define ISA_NO_FLOATS                   and for doubles alone
 *   #include "kernels/simd/foreach_isa.h"
 *
 *   static const body bodies[] = ISA_TABLE(grid_samples);      ... bodies[k->svc->isa]
 */
#if RL_ISA_1(ISA_IS_THERE) + 0
#define ISA_LINE RL_ISA_1
#include "isa.h"
#undef ISA_LINE
#endif
#if RL_ISA_2(ISA_IS_THERE) + 0
#define ISA_LINE RL_ISA_2
#include "isa.h"
#undef ISA_LINE
#endif
#if RL_ISA_3(ISA_IS_THERE) + 0
#define ISA_LINE RL_ISA_3
#include "isa.h"
#undef ISA_LINE
#endif
#if RL_ISA_4(ISA_IS_THERE) + 0
#define ISA_LINE RL_ISA_4
#include "isa.h"
#undef ISA_LINE
#endif
#if RL_ISA_5(ISA_IS_THERE) + 0
#define ISA_LINE RL_ISA_5
#include "isa.h"
#undef ISA_LINE
#endif
#if RL_ISA_6(ISA_IS_THERE) + 0
#define ISA_LINE RL_ISA_6
#include "isa.h"
#undef ISA_LINE
#endif
#undef ISA_IMPL
#undef ISA_DOUBLES
#undef ISA_NO_FLOATS
