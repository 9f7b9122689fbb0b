/* Zip's checksum. */
#ifndef RL_CORE_CRC32_H
#define RL_CORE_CRC32_H
#include <stdint.h>

uint32_t rl_crc32(uint32_t crc, const void *from, int64_t n); /* crc: of what came before, else 0 */
#endif
