/* See proof_rig.h. */
#include "tests/shm/proof_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu-worker/cpu/prove.h"
#include "groth16/key/wtns.h"
#include "groth16/verify/assemble.h"

static void proof_must(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "the test rig cannot go on: %s\n", what);
    exit(99);
}

void proof_rig_fill(const struct prepared *key, int witness_fd, uint8_t *slab)
{
    const struct slab_layout layout = prepared_slab_layout(key);
    const size_t domain = (size_t)1 << key->shape.domain_log2;
    struct wtns wtns;
    struct reason reason;
    memset(slab, 0, layout.bytes);
    proof_must(wtns_open(witness_fd, &wtns, &reason) == 0, reason.text);
    proof_must(pread(witness_fd, slab, wtns.data_bytes, (off_t)wtns.data_off) ==
                   (ssize_t)wtns.data_bytes,
               "reading the witness");
    const uint64_t *witness = (const uint64_t *)slab;
    key->curve->evaluate(&key->matrix_a, witness, (uint64_t *)(slab + layout.a_off), 0, domain);
    key->curve->evaluate(&key->matrix_b, witness, (uint64_t *)(slab + layout.b_off), 0, domain);
}

void proof_rig_sums(const struct prepared *key, const uint8_t *slab,
                    uint8_t ret_sums[SUMS_BYTES_MAX])
{
    struct prove prove = {.key = key, .slab = slab};
    struct pool *pool;
    proof_must(pool_create(2, &pool) == 0, "pool");
    prove.scratch = malloc(prove_scratch_bytes(key));
    for (enum backend_phase phase = BACKEND_PHASE_NTT; phase < BACKEND_PHASE_COUNT; phase++)
        proof_must(prove_run(&prove, phase, pool) == 0, "proving");
    memcpy(ret_sums, prove.sums, SUMS_BYTES_MAX);
    free(prove.scratch);
    pool_free(pool);
}

int proof_rig_verify_sums(const struct prepared *key, const uint8_t *slab, const uint8_t *sums)
{
    static const uint64_t zero[4];
    const struct curve *curve = key->curve;
    uint64_t proof[CURVE_PROOF_BYTES_MAX / 8];
    const struct assemble_input input = {
        .sum_a = sums + sums_off(curve, SUMS_A),
        .sum_b1 = sums + sums_off(curve, SUMS_B1),
        .sum_b2 = sums + sums_off(curve, SUMS_B2),
        .sum_l = sums + sums_off(curve, SUMS_L),
        .sum_h = sums + sums_off(curve, SUMS_H),
        .alpha_g1 = key->alpha_g1,
        .beta_g1 = key->beta_g1,
        .beta_g2 = key->beta_g2,
        .delta_g1 = key->delta_g1,
        .delta_g2 = key->delta_g2,
        .r = zero,
        .s = zero,
    };
    curve->assemble(&input, proof);
    return curve->verify(&key->verify_key, (const uint64_t *)slab + 4, key->shape.public_count,
                         proof);
}
