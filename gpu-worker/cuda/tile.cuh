/* Field elements of eight words in shared memory, for kernels that pass them between threads. */
#pragma once

#include <stdint.h>

/* The halves of a value lie apart, and a gap follows every eight values, so that neither
 * neighbours nor values that are a power of two apart meet a bank twice. */
static __device__ __forceinline__ unsigned tile_place(unsigned index)
{
    return index + (index >> 3);
}

template <class F> struct tile {
    uint4 *low, *high;

    __device__ __forceinline__ F get(unsigned index) const
    {
        uint4 l = low[tile_place(index)], h = high[tile_place(index)];

        return F{{l.x, l.y, l.z, l.w, h.x, h.y, h.z, h.w}};
    }

    __device__ __forceinline__ void put(unsigned index, const F &v) const
    {
        low[tile_place(index)] = make_uint4(v.word[0], v.word[1], v.word[2], v.word[3]);
        high[tile_place(index)] = make_uint4(v.word[4], v.word[5], v.word[6], v.word[7]);
    }
};
