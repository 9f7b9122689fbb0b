/* CRC-32 as zip uses it: eight bytes at a time by tables, 64 at a time by carry-less products where
 * there are such. */
#include "crc32.h"
#include "isa_clmul.h"
#include <pthread.h>
#include <string.h>

static uint32_t crc_table[8][256];

static void crc_fill(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
        crc_table[0][i] = c;
    }
    for (int t = 1; t < 8; t++) {
        for (int i = 0; i < 256; i++) {
            uint32_t c = crc_table[t - 1][i];
            crc_table[t][i] = c >> 8 ^ crc_table[0][c & 255];
        }
    }
}

static inline uint32_t crc_word(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t crc_by_table(uint32_t crc, const uint8_t *p, int64_t n) {
    const uint32_t (*t)[256] = crc_table;
    for (; n >= 8; n -= 8, p += 8) {
        uint32_t a = crc ^ crc_word(p), b = crc_word(p + 4);
        crc = t[7][a & 255] ^ t[6][a >> 8 & 255] ^ t[5][a >> 16 & 255] ^ t[4][a >> 24] ^ t[3][b & 255] ^
              t[2][b >> 8 & 255] ^ t[1][b >> 16 & 255] ^ t[0][b >> 24];
    }
    for (; n > 0; n--) crc = crc >> 8 ^ t[0][(crc ^ *p++) & 255];
    return crc;
}

#ifdef RL_CLMUL
/* Note [Folding a CRC]
 * A register of 16 bytes stands for a polynomial. Moving it d bits further down the message multiplies it by
 * x^d mod P, for each of its halves one carry-less product with a constant; the bytes that lie there are
 * then added. Four registers move by 512 bits each round, at the end they move into one another. The
 * constants are x^(d+32) and x^(d-32) mod P, bits reflected, shifted by one. */
static inline RL_CLMUL rl_clmul crc_fold(rl_clmul x, rl_clmul by, rl_clmul below) {
    return rl_clmul_xor(rl_clmul_both(x, by), below);
}

/* n: a multiple of 16, at least 64 */
static RL_CLMUL uint32_t crc_by_folding(uint32_t crc, const uint8_t *p, int64_t n) {
    const rl_clmul by512 = rl_clmul_set(0x1c6e41596, 0x154442bd4);
    const rl_clmul by128 = rl_clmul_set(0x0ccaa009e, 0x1751997d0);
    rl_clmul x[4];
    for (int i = 0; i < 4; i++) x[i] = rl_clmul_load(p + 16 * i);
    x[0] = rl_clmul_xor(x[0], rl_clmul_set(0, crc));
    for (p += 64, n -= 64; n >= 64; p += 64, n -= 64) {
        for (int i = 0; i < 4; i++) x[i] = crc_fold(x[i], by512, rl_clmul_load(p + 16 * i));
    }
    for (int i = 1; i < 4; i++) x[0] = crc_fold(x[0], by128, x[i]);
    for (; n >= 16; p += 16, n -= 16) x[0] = crc_fold(x[0], by128, rl_clmul_load(p));
    uint8_t rest[16]; /* 128 bits that remain are a message of their own */
    rl_clmul_store(rest, x[0]);
    return crc_by_table(0, rest, 16);
}
#endif

uint32_t rl_crc32(uint32_t crc, const void *from, int64_t n) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, crc_fill);
    const uint8_t *p = from;
    crc = ~crc;
#ifdef RL_CLMUL
    if (n >= 64 && rl_clmul_here()) {
        int64_t many = n & ~(int64_t)15;
        crc = crc_by_folding(crc, p, many);
        p += many, n -= many;
    }
#endif
    return ~crc_by_table(crc, p, n);
}
