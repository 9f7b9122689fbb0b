/* Memory of the recording that is going on: so much and no more, and what is not there is no error. */
#include "session.h"
#include "core/error.h"
#include "core/memory.h"

/* A profiler that is never stopped must not eat the machine. */
enum { MOST_BYTES = 1 << 30, TEXT = 1 << 16 };

static int64_t bytes_left;
static rl_text *text;

void rl_room_begin(void) {
    bytes_left = MOST_BYTES;
}

void *rl_room_take(int64_t bytes) {
    if (bytes > bytes_left) return NULL;
    void *p = rl_alloc(RL_COUNT(bytes), 1);
    if (p)
        bytes_left -= bytes;
    else
        rl_error_clear(); /* an event that is lost is no error of the call that it stands for */
    return p;
}

void *rl_text_room(size_t bytes) {
    const size_t size = (bytes + 7) / 8 * 8;
    if (!text || text->size - text->used < size) {
        const size_t whole = size > TEXT ? size : TEXT;
        rl_text *fresh = rl_room_take((int64_t)(sizeof *fresh + whole));
        if (!fresh) return NULL;
        *fresh = (rl_text){.next = text, .size = whole};
        text = fresh;
    }
    void *room = (char *)text->words + text->used;
    text->used += size;
    return room;
}

rl_text *rl_text_steal(void) {
    rl_text *stolen = text;
    text = NULL;
    return stolen;
}

void rl_text_free(rl_text *t) {
    for (rl_text *next; t; t = next) {
        next = t->next;
        rl_free(t);
    }
}
