/* Tables of fixed bases (msm.h): each from the one before it. */
#pragma once

#include "gpu-worker/cuda/msm_walk.cuh"

enum : uint32_t {
    FILL_THREADS = 128,
    FILL_SHARE = 16, /* points that share one inversion */
};

/* Points begin, begin + 1, ... of one table from those of the table before it. spare: a point and
 * a field element for each of the share of each worker. */
template <class F>
__global__ void __launch_bounds__(FILL_THREADS)
    fill_table(const uint32_t *from, uint32_t *to, uint32_t begin, uint32_t count,
               unsigned doublings, uint32_t *spare)
{
    constexpr uint32_t SPARE_WORDS = xyzz<F>::POINT_WORDS + F::ELEMENT_WORDS;
    uint32_t workers = gridDim.x * blockDim.x / F::LANES, worker = worker_index<F>();
    F product = F::one();
    uint32_t taken = 0;

    for (; taken < FILL_SHARE; taken++) {
        uint64_t index = begin + worker + (uint64_t)taken * workers;
        uint32_t *kept = spare + (size_t)(worker + taken * workers) * SPARE_WORDS;

        if (index >= count)
            break;
        affine<F> p = affine<F>::load(from + index * affine<F>::POINT_WORDS);
        xyzz<F> multiple = xyzz<F>::infinity();
        if (!p.is_infinity())
            multiple = xyzz<F>::from(p);
        for (unsigned i = 0; i < doublings; i++)
            multiple.twice();
        multiple.store(kept);
        product.store(kept + xyzz<F>::POINT_WORDS);
        if (!multiple.is_infinity())
            product = product * (multiple.zz * multiple.zzz);
    }
    F inverse = product.inverse();
    while (taken-- > 0) {
        uint64_t index = begin + worker + (uint64_t)taken * workers;
        uint32_t *kept = spare + (size_t)(worker + taken * workers) * SPARE_WORDS;
        xyzz<F> multiple = xyzz<F>::load(kept);
        affine<F> p;

        p.x = p.y = F::zero();
        if (!multiple.is_infinity()) {
            F own_inverse = inverse * F::load(kept + xyzz<F>::POINT_WORDS);

            inverse = inverse * (multiple.zz * multiple.zzz);
            p.x = multiple.x * (own_inverse * multiple.zzz);
            p.y = multiple.y * (own_inverse * multiple.zz);
        }
        p.store(to + index * affine<F>::POINT_WORDS);
    }
}
