/* rl_factors for T by LAPACK's functions; compiled once for each T. */
#define X(name, library, ...) typedef void (*NAME(name##_function))(__VA_ARGS__);
RL_LAPACK_FUNCTIONS(X)
#undef X
#define CALL(name)   ((NAME(name##_function))rl_lapack_function[WIDE][RL_LAPACK_##name])
#define WORK(length) rl_job_work(j, RL_COUNT(length), sizeof(T))

static int64_t NAME(lu)(rl_job *j, int64_t rows, int64_t cols, void *a, int *pivots) {
    int m = (int)rows, n = (int)cols, ld = at_least_1(m), info = 0;
    (void)j;
    CALL(getrf)(&m, &n, a, &ld, pivots, &info);
    return info;
}

static void NAME(lu_solve)(rl_job *j, bool turned, int64_t size, int64_t many, const void *lu,
                           const int *pivots, void *b) {
    int n = (int)size, nrhs = (int)many, ld = at_least_1(n), info = 0;
    char trans = turned ? 'T' : 'N';
    (void)j;
    CALL(getrs)(&trans, &n, &nrhs, (T *)lu, &ld, (int *)pivots, b, &ld, &info);
}

static void NAME(triangle)(rl_job *j, bool left, bool upper, bool turned, bool unit, int64_t rows,
                           int64_t cols, const void *a, int64_t ld, void *b) {
    int m = (int)rows, n = (int)cols, lda = at_least_1(ld), ldb = at_least_1(m);
    char side = left ? 'L' : 'R', uplo = upper ? 'U' : 'L', trans = turned ? 'T' : 'N',
         diag = unit ? 'U' : 'N';
    T one = 1;
    (void)j;
    CALL(trsm)(&side, &uplo, &trans, &diag, &m, &n, &one, (T *)a, &lda, b, &ldb);
}

static int64_t NAME(cholesky)(rl_job *j, bool upper, int64_t size, void *a) {
    int n = (int)size, ld = at_least_1(n), info = 0;
    char uplo = upper ? 'U' : 'L';
    (void)j;
    CALL(potrf)(&uplo, &n, a, &ld, &info);
    return info;
}

static int64_t NAME(ldl)(rl_job *j, int64_t size, void *a, int *pivots) {
    int n = (int)size, ld = at_least_1(n), info = 0, length = -1;
    char uplo = 'L';
    T want = 1;
    CALL(sytrf)(&uplo, &n, a, &ld, pivots, &want, &length, &info);
    length = work_length(want);
    T *work = WORK(length);
    if (!work) return 0;
    CALL(sytrf)(&uplo, &n, a, &ld, pivots, work, &length, &info);
    return info;
}

static void NAME(ldl_solve)(rl_job *j, int64_t size, int64_t many, const void *a, const int *pivots,
                            void *b) {
    int n = (int)size, nrhs = (int)many, ld = at_least_1(n), info = 0;
    char uplo = 'L';
    (void)j;
    CALL(sytrs)(&uplo, &n, &nrhs, (T *)a, &ld, (int *)pivots, b, &ld, &info);
}

static void NAME(qr)(rl_job *j, int64_t rows, int64_t cols, void *a, void *tau) {
    int m = (int)rows, n = (int)cols, ld = at_least_1(m), info = 0, length = -1;
    T want = 1;
    CALL(geqrf)(&m, &n, a, &ld, tau, &want, &length, &info);
    length = work_length(want);
    T *work = WORK(length);
    if (!work) return;
    CALL(geqrf)(&m, &n, a, &ld, tau, work, &length, &info);
}

static void NAME(q_form)(rl_job *j, int64_t rows, int64_t cols, int64_t count, void *a, const void *tau) {
    int m = (int)rows, n = (int)cols, k = (int)count, ld = at_least_1(m), info = 0, length = -1;
    T want = 1;
    CALL(orgqr)(&m, &n, &k, a, &ld, (T *)tau, &want, &length, &info);
    length = work_length(want);
    T *work = WORK(length);
    if (!work) return;
    CALL(orgqr)(&m, &n, &k, a, &ld, (T *)tau, work, &length, &info);
}

static void NAME(q_apply)(rl_job *j, bool left, bool turned, int64_t rows, int64_t cols, int64_t count,
                          const void *a, int64_t ld, const void *tau, void *c) {
    int m = (int)rows, n = (int)cols, k = (int)count, lda = at_least_1(ld), ldc = at_least_1(m), info = 0,
        length = -1;
    char side = left ? 'L' : 'R', trans = turned ? 'T' : 'N';
    T want = 1;
    CALL(ormqr)(&side, &trans, &m, &n, &k, (T *)a, &lda, (T *)tau, c, &ldc, &want, &length, &info);
    length = work_length(want);
    T *work = WORK(length);
    if (!work) return;
    CALL(ormqr)(&side, &trans, &m, &n, &k, (T *)a, &lda, (T *)tau, c, &ldc, work, &length, &info);
}

static int64_t NAME(eigh)(rl_job *j, bool vectors, bool upper, int64_t size, void *a, void *w) {
    int n = (int)size, ld = at_least_1(n), info = 0, length = -1, integers = -1, want_integers = 1;
    char wanted = vectors ? 'V' : 'N', uplo = upper ? 'U' : 'L';
    T want = 1;
    CALL(syevd)(&wanted, &uplo, &n, a, &ld, w, &want, &length, &want_integers, &integers, &info);
    length = work_length(want);
    integers = at_least_1(want_integers);
    rl_layout l = rl_layout_begin(j->k);
    const int64_t work = rl_layout_add(&l, RL_COUNT(length), sizeof(T));
    const int64_t whole = rl_layout_add(&l, RL_COUNT(integers), sizeof(int));
    char *room = rl_job_rooms(j, &l);
    if (!room) return 0;
    CALL(syevd)(&wanted, &uplo, &n, a, &ld, w, (T *)(room + work), &length, (int *)(room + whole), &integers,
                &info);
    return info;
}

static int64_t NAME(svd)(rl_job *j, bool full, int64_t rows, int64_t cols, void *a, void *s, void *u,
                         void *vt) {
    int m = (int)rows, n = (int)cols, ld = at_least_1(m), info = 0, length = -1, least = m < n ? m : n;
    int ldu = u ? ld : 1, ldvt = u ? at_least_1(full ? n : least) : 1;
    char wanted = u ? full ? 'A' : 'S' : 'N';
    T want = 1;
    CALL(gesdd)(&wanted, &m, &n, a, &ld, s, u, &ldu, vt, &ldvt, &want, &length, NULL, &info);
    length = work_length(want);
    rl_layout l = rl_layout_begin(j->k);
    const int64_t work = rl_layout_add(&l, RL_COUNT(length), sizeof(T));
    const int64_t whole = rl_layout_add(&l, RL_COUNT(8, least), sizeof(int));
    char *room = rl_job_rooms(j, &l);
    if (!room) return 0;
    CALL(gesdd)(&wanted, &m, &n, a, &ld, s, u, &ldu, vt, &ldvt, (T *)(room + work), &length,
                (int *)(room + whole), &info);
    return info;
}

static int64_t NAME(eig)(rl_job *j, int64_t size, void *a, void *real, void *imaginary, void *v) {
    int n = (int)size, ld = at_least_1(n), one = 1, info = 0, length = -1;
    char no = 'N', wanted = v ? 'V' : 'N';
    T want = 1;
    CALL(geev)(&no, &wanted, &n, a, &ld, real, imaginary, NULL, &one, v, v ? &ld : &one, &want, &length,
               &info);
    length = work_length(want);
    T *work = WORK(length);
    if (!work) return 0;
    CALL(geev)(&no, &wanted, &n, a, &ld, real, imaginary, NULL, &one, v, v ? &ld : &one, work, &length,
               &info);
    return info;
}

static void NAME(product)(rl_job *j, bool turn_a, bool turn_b, int64_t rows, int64_t cols, int64_t count,
                          const void *a, const void *b, void *c) {
    int m = (int)rows, n = (int)cols, k = (int)count, ldc = at_least_1(m);
    int lda = at_least_1(turn_a ? k : m), ldb = at_least_1(turn_b ? n : k);
    char ta = turn_a ? 'T' : 'N', tb = turn_b ? 'T' : 'N';
    T one = 1, zero = 0;
    (void)j;
    CALL(gemm)(&ta, &tb, &m, &n, &k, &one, (T *)a, &lda, (T *)b, &ldb, &zero, c, &ldc);
}

const rl_factors FACTORS = {
    .wide = false,
    .lu = NAME(lu),
    .lu_solve = NAME(lu_solve),
    .triangle = NAME(triangle),
    .cholesky = NAME(cholesky),
    .ldl = NAME(ldl),
    .ldl_solve = NAME(ldl_solve),
    .qr = NAME(qr),
    .q_form = NAME(q_form),
    .q_apply = NAME(q_apply),
    .eigh = NAME(eigh),
    .svd = NAME(svd),
    .eig = NAME(eig),
    .product = NAME(product),
};
#undef T
#undef NAME
#undef WIDE
#undef FACTORS
#undef CALL
#undef WORK
