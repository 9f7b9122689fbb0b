/* Batches of matrices: where each lies, copies to columns and back. */
#include "linalg.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void rl_job_begin(rl_job *j, rl_call *k, const rl_factors *f, int dtype) {
    *j = (rl_job){.k = k, .f = f, .dtype = f->wide ? RL_F64 : dtype};
    j->item = rl_itemsize(j->dtype);
}

char *rl_job_rooms(rl_job *j, const rl_layout *l) {
    rl_rooms rooms;
    const bool fits = l->size.n >= 0 && l->size.n <= j->work_bytes && !l->fenced;
    if (fits && j->work) return j->work;
    j->work = j->k->svc->rooms(j->k, l, 1, &rooms) ? rooms.base : NULL;
    j->work_bytes = j->work ? l->size.n : 0;
    j->failed |= !j->work;
    return j->work;
}

void *rl_job_work(rl_job *j, rl_count n, int64_t itemsize) {
    rl_layout l = rl_layout_begin(j->k);
    const int64_t at = rl_layout_add(&l, n, itemsize);
    char *room = rl_job_rooms(j, &l);
    return room ? room + at : NULL;
}

void *rl_job_room(rl_job *j, rl_count n) {
    const size_t item = j->dtype == RL_F64 ? sizeof(double) : sizeof(float);
    void *room = j->k->svc->scratch(j->k, n, item);
    j->failed |= !room;
    return room;
}

void rl_batch_begin(rl_batch *b, const rl_view *v, int form) {
    b->ndim = v->ndim - form;
    b->count = 1;
    for (int d = 0; d < b->ndim; d++) b->count *= b->size[d] = v->shape[d];
}

rl_side rl_side_of(const rl_batch *b, const rl_view *v, int form, int64_t i, int mode) {
    const int64_t item = rl_itemsize(v->dtype);
    const int n = v->ndim, lead = n - form;
    rl_side s = {.at = rl_data(v, mode), .rows = 1, .cols = 1, .dtype = v->dtype};
    for (int d = b->ndim - 1; d >= 0; d--) {
        int64_t at = i % b->size[d];
        int own = d - b->ndim + lead;
        i /= b->size[d];
        if (own >= 0 && v->shape[own] > 1) s.at += at * v->strides[own] * item;
    }
    if (form != RL_SCALAR) {
        s.rows = v->shape[lead];
        s.down = v->strides[lead] * item;
    }
    if (form == RL_MATRIX) {
        s.cols = v->shape[n - 1];
        s.right = v->strides[n - 1] * item;
    }
    return s;
}

#define COPY(FROM, TO, from, to)                                                                             \
    for (int64_t r = 0; r < s->rows; r++) *(TO *)(to) = (TO) * (const FROM *)(from)
#define PLACE    (s->at + r * s->down + c * s->right)
#define ENTRY(T) ((T *)column + r)

/* halves pass through double */
static double half_at(int dtype, const char *p) {
    return dtype == RL_F16 ? rl_from_half(*(const rl_half *)p) : rl_from_bfloat(*(const rl_bfloat *)p);
}
static void half_put(int dtype, char *p, double x) {
    if (dtype == RL_F16)
        *(rl_half *)p = rl_to_half((float)x);
    else
        *(rl_bfloat *)p = rl_to_bfloat((float)x);
}
static bool is_half(int dtype) {
    return dtype == RL_F16 || dtype == RL_BF16;
}

void rl_side_load(const rl_job *j, const rl_side *s, void *to, int64_t ld) {
    for (int64_t c = 0; c < s->cols; c++) {
        char *column = (char *)to + c * ld * j->item;
        if (is_half(s->dtype))
            for (int64_t r = 0; r < s->rows; r++) rl_job_put(j, column, r, half_at(s->dtype, PLACE));
        else if (s->dtype == RL_F64)
            COPY(double, double, PLACE, ENTRY(double));
        else if (j->dtype == RL_F64)
            COPY(float, double, PLACE, ENTRY(double));
        else
            COPY(float, float, PLACE, ENTRY(float));
    }
}

void rl_side_store(const rl_job *j, const void *from, int64_t ld, const rl_side *s) {
    for (int64_t c = 0; c < s->cols; c++) {
        const char *column = (const char *)from + c * ld * j->item;
        if (is_half(s->dtype))
            for (int64_t r = 0; r < s->rows; r++) half_put(s->dtype, PLACE, rl_job_get(j, column, r));
        else if (s->dtype == RL_F64)
            COPY(double, double, ENTRY(const double), PLACE);
        else if (j->dtype == RL_F64)
            COPY(double, float, ENTRY(const double), PLACE);
        else
            COPY(float, float, ENTRY(const float), PLACE);
    }
}

rl_status rl_linalg_fail(rl_call *k, rl_error kind, const char *who, const rl_batch *b, int64_t i,
                         const char *format, ...) {
    char text[512], place[64] = "";
    size_t length = strlen(k->name);
    bool ex = length > 3 && strcmp(k->name + length - 3, "_ex") == 0;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (b->ndim) snprintf(place, sizeof place, " (Batch element %lld):", (long long)i);
    return rl_fail(k, kind, "%s%s:%s %s", who, ex ? "_ex" : "", place, text);
}

void rl_triangle_clear(const rl_job *j, bool upper, bool unit, int64_t m, int64_t n, void *a) {
    for (int64_t c = 0; c < n; c++) {
        int64_t from = upper ? c + 1 : 0, end = upper ? m : c < m ? c : m;
        for (int64_t i = from; i < end; i++) rl_job_put(j, a, i + c * m, 0);
        if (unit && c < m) rl_job_put(j, a, c + c * m, 1);
    }
}

void rl_identity(const rl_job *j, int64_t m, int64_t n, void *a) {
    for (int64_t c = 0; c < n; c++)
        for (int64_t i = 0; i < m; i++) rl_job_put(j, a, i + c * m, i == c);
}

bool rl_all_finite(const rl_job *j, int64_t n, const void *a) {
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(rl_job_get(j, a, i))) return false;
    return true;
}
