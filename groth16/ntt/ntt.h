/* Number-theoretic transforms over 2^log2 scalars and the quotient of a Groth16 proof. Called by
 * the entries ntt and quotient of `struct curve` on the pool's owner thread; curve.h says what
 * those do. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pool;
struct ntt_kernel;

void ntt_run(const struct ntt_kernel *kernel, struct pool *pool, uint64_t *values, unsigned log2,
             bool inverse);
void ntt_quotient(const struct ntt_kernel *kernel, struct pool *pool, const uint64_t *a,
                  const uint64_t *b, unsigned log2, uint64_t *ret_scalars, uint64_t *scratch);

/* The halves of both: natural to bit-reversed order and back, unscaled, with w or 1/w. */
void ntt_down(const struct ntt_kernel *kernel, struct pool *pool, uint64_t *values, unsigned log2,
              bool inverse);
void ntt_up(const struct ntt_kernel *kernel, struct pool *pool, uint64_t *values, unsigned log2,
            bool inverse);
/* values[i] *= shift^{rev(i)}; with shift NULL the root of order 2^(log2 + 1). */
void ntt_shift(const struct ntt_kernel *kernel, struct pool *pool, uint64_t *values, unsigned log2,
               const uint64_t *shift);
