/* The phases of one proof's five sums on the CPU, one call each, so that the driver (cpu.c) can
 * time them and stop between them. Plain memory in, points out. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "gpu-worker/backend.h"
#include "groth16/pool.h"
#include "groth16/verify/sums.h"

/* Working memory: the 2^domain_log2 scalars of the quotient, then twice as many fr of scratch for
 * it, in which later, of a bellman key, the scalars of wires that have points are gathered. */
static inline size_t prove_scratch_bytes(const struct prepared *key)
{
    const size_t domain = (size_t)1 << key->shape.domain_log2;
    const size_t gathered = key->a_count > key->b_count ? key->a_count : key->b_count;

    return CURVE_FR_BYTES * (domain + (gathered > 2 * domain ? gathered : 2 * domain));
}

struct prove {
    const struct prepared *key;
    const uint8_t *slab;
    uint64_t *scratch; /* prove_scratch_bytes() of the key; kept from NTT to MSM_H */
    uint8_t sums[SUMS_BYTES_MAX];
};

/* Runs one phase (not UPLOAD) on the pool; blocking. NTT comes before MSM_H, the others in any
 * order. 0 or -ENOMEM. */
int prove_run(struct prove *prove, enum backend_phase phase, struct pool *pool);
