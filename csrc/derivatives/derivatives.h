/* The formulas of all operators. */
#ifndef RL_DERIVATIVES_DERIVATIVES_H
#define RL_DERIVATIVES_DERIVATIVES_H
void rl_derivatives_init(void); /* tells history what the nodes of operators run */
#endif
