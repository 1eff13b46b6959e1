/*
 * base/byte_order: numbers in memory, on machines of either byte order.
 *
 * Each function turns a word of this machine into one of that order, and back.
 */
#ifndef NOD_BASE_BYTE_ORDER_H
#define NOD_BASE_BYTE_ORDER_H

#include <stdint.h>

/* The lowest byte first. */
static inline uint64_t order_le64(uint64_t word)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? word : __builtin_bswap64(word);
}

/* The highest byte first. */
static inline uint64_t order_be64(uint64_t word)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? word : __builtin_bswap64(word);
}

#endif
