/* The pending error of this thread. Below Python.h nothing raises: it leaves kind and text here. */
#include "error.h"
#include <stdarg.h>
#include <stdio.h>

static _Thread_local struct {
    rl_error kind;
    char text[2048];
} pending;

rl_status rl_error_set(rl_error kind, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(pending.text, sizeof pending.text, format, args);
    va_end(args);
    pending.kind = kind;
    return RL_FAIL;
}

rl_error rl_error_kind(void) {
    return pending.kind;
}
const char *rl_error_text(void) {
    return pending.text;
}
void rl_error_clear(void) {
    pending.kind = 0;
}

const char *rl_dims_text(char text[RL_DIMS_TEXT], const int64_t *dims, int n) {
    size_t used = 0;
    text[used++] = '[';
    for (int i = 0; i < n; i++) {
        if (used > RL_DIMS_TEXT - 32) {
            used += (size_t)snprintf(text + used, RL_DIMS_TEXT - used, ", ...");
            break;
        }
        used += (size_t)snprintf(text + used, RL_DIMS_TEXT - used, i ? ", %lld" : "%lld", (long long)dims[i]);
    }
    snprintf(text + used, RL_DIMS_TEXT - used, "]");
    return text;
}
