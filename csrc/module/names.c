/* The interned names of names.h. */
#include "names.h"

rl_module_names rl_name;

int rl_module_names_init(void) {
#define X(name)                                                                                              \
    if ((rl_name.name = PyUnicode_InternFromString(#name)) == NULL) return -1;
    RL_MODULE_NAMES(X)
    RL_MODULE_METHODS(X)
#undef X
    rl_name.empty = PyUnicode_InternFromString("");
    return rl_name.empty ? 0 : -1;
}
