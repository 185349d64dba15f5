/* What transforms over one scalar field need beside passes: domains that are too small for these,
 * and the table. */
#pragma once

#include "gpu-worker/cuda/transform_pass.cuh"

enum : unsigned {
    TINY_LOG2_MAX = 2, /* of less than eight values: one thread each */
    TABLE_THREADS = 256,
};

template <class F, bool IS_UP, bool INVERSE>
static __device__ void tiny_stages(uint32_t *values, const uint32_t *table, unsigned log2)
{
    for (unsigned round = 0; round < log2; round++) {
        unsigned s = IS_UP ? log2 - 1 - round : round, half = 1u << (log2 - 1 - s);

        for (unsigned i = 0; i < 1u << (log2 - 1); i++) {
            unsigned block = i / half, at = 2 * half * block + i % half;
            F a = F::load(values + at * F::WORDS), b = F::load(values + (at + half) * F::WORDS);
            F t = twiddle<F, INVERSE>(table, block);

            if (IS_UP)
                merge<F, INVERSE>(a, b, t);
            else
                split<F, INVERSE>(a, b, t);
            a.store(values + at * F::WORDS);
            b.store(values + (at + half) * F::WORDS);
        }
    }
}

template <class F, bool IS_UP, bool INVERSE> __global__ void run_tiny(struct pass<F> pass)
{
    uint32_t *values = pass.values[blockIdx.x];

    tiny_stages<F, IS_UP, INVERSE>(values, pass.table, pass.log2);
    for (unsigned i = 0; i < 1u << pass.log2 && pass.has_scale; i++)
        (F::load(values + i * F::WORDS) * pass.scale).store(values + i * F::WORDS);
}

/* The whole quotient. */
template <class F> __global__ void run_tiny_quotient(struct pass<F> pass)
{
    unsigned count = 1u << pass.log2;
    uint32_t *a = pass.values[0], *b = pass.values[1], *c = pass.values[2];

    for (unsigned i = 0; i < count; i++)
        (F::load(a + i * F::WORDS) * F::load(b + i * F::WORDS)).store(c + i * F::WORDS);
    for (unsigned array = 0; array < TRANSFORM_BATCH_MAX; array++) {
        uint32_t *values = pass.values[array];

        tiny_stages<F, false, true>(values, pass.table, pass.log2);
        for (unsigned i = 0; i < count; i++)
            coset_shift(pass, i, F::load(values + i * F::WORDS), coset_power(pass, i))
                .store(values + i * F::WORDS);
        tiny_stages<F, true, false>(values, pass.table, pass.log2);
    }
    for (unsigned i = 0; i < count; i++) {
        F product = F::load(a + i * F::WORDS) * F::load(b + i * F::WORDS);

        (product * pass.scale - F::load(c + i * F::WORDS) * pass.scale_c).store(c + i * F::WORDS);
    }
}

struct table_roots {
    uint32_t word[TRANSFORM_LOG2_MAX][8]; /* of order 2^(j + 2) */
};

template <class F>
__global__ void __launch_bounds__(TABLE_THREADS)
    fill_twiddles(uint32_t *table, uint32_t count, struct table_roots roots)
{
    uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
    F product = F::one();

    if (k >= count)
        return;
    for (unsigned j = 0; j < TRANSFORM_LOG2_MAX; j++)
        if (k >> j & 1) {
            F root;
#pragma unroll
            for (int i = 0; i < F::WORDS; i++)
                root.word[i] = roots.word[j][i];
            product = product * root;
        }
    product.store(table + (size_t)k * F::WORDS);
}
