/* Number-theoretic transforms over 2^log2 scalars and the quotient of a Groth16 proof. Called by
 * the entries ntt, quotient and quotient_monomial of `struct curve` on the pool's owner thread;
 * curve.h says what those do. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pool;
struct ntt_kernel;

void ntt_run(const struct ntt_kernel *kernel, struct pool *pool, uint64_t *values, unsigned log2,
             bool inverse);
void ntt_quotient(const struct ntt_kernel *kernel, struct pool *pool, const uint64_t *a,
                  const uint64_t *b, unsigned log2, uint64_t *ret_scalars, uint64_t *scratch);
void ntt_quotient_monomial(const struct ntt_kernel *kernel, struct pool *pool, const uint64_t *a,
                           const uint64_t *b, unsigned log2, uint64_t *ret_scalars,
                           uint64_t *scratch);

/* The halves of both: natural to bit-reversed order and back, unscaled, with w or 1/w. */
void ntt_down(const struct ntt_kernel *kernel, struct pool *pool, uint64_t *values, unsigned log2,
              bool inverse);
void ntt_up(const struct ntt_kernel *kernel, struct pool *pool, uint64_t *values, unsigned log2,
            bool inverse);
/* values[i] *= factor shift^{rev(i)}; with shift NULL the root of order 2^(log2 + 1), with factor
 * NULL 1. */
void ntt_shift(const struct ntt_kernel *kernel, struct pool *pool, uint64_t *values, unsigned log2,
               const uint64_t *shift, const uint64_t *factor);
/* From bit-reversed to natural order, canonical, and 2^divisor_log2 times smaller. */
void ntt_divide(const struct ntt_kernel *kernel, struct pool *pool, uint64_t *values, unsigned log2,
                unsigned divisor_log2);
