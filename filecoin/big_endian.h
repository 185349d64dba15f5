/* Counts in .vk and .params. */
#pragma once

#include <stdint.h>

static inline uint32_t big_endian_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}
