/* Operators that are made of operators. */
#ifndef RL_COMPOSITE_COMPOSITE_H
#define RL_COMPOSITE_COMPOSITE_H
void rl_composite_init(void); /* tells the dispatcher how to call them */
#endif
