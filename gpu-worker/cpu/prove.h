/* The phases of one proof's five sums on the CPU, one call each, so that the driver (cpu.c) can
 * time them and stop between them. Plain memory in, points out. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "gpu-worker/backend.h"
#include "groth16/pool.h"
#include "groth16/verify/sums.h"

/* Working memory of the quotient: its 2^log2 scalars, then 2 * 2^log2 fr of scratch. */
static inline size_t prove_scratch_bytes(unsigned domain_log2)
{
    return 3 * ((size_t)CURVE_FR_BYTES << domain_log2);
}

struct prove {
    const struct prepared *key;
    const uint8_t *slab;
    uint64_t *scratch; /* prove_scratch_bytes() of the key's domain; kept from NTT to MSM_H */
    uint8_t sums[SUMS_BYTES_MAX];
};

/* Runs one phase (not UPLOAD) on the pool; blocking. NTT comes before MSM_H, the others in any
 * order. 0 or -ENOMEM. */
int prove_run(struct prove *prove, enum backend_phase phase, struct pool *pool);
