/* One proof's five sums. Upstream: witness and evaluations in the slab; downstream: the finalizer's
 * assembly. The H scalars come from the quotient of a and b on the odd coset; A, B1, B2 and L take
 * the witness itself, L without the constant 1 and the public inputs. */
#include "gpu-worker/cpu/prove.h"

#include <errno.h>

int prove_run(struct prove *prove, enum backend_phase phase, struct pool *pool)
{
    const struct prepared *key = prove->key;
    const struct curve *curve = key->curve;
    const struct slab_layout layout = prepared_slab_layout(key);
    const uint64_t *witness = (const uint64_t *)(prove->slab + layout.witness_off);
    const size_t variables = key->shape.variable_count;
    const size_t first_private = (size_t)key->shape.public_count + 1;
    const size_t domain = (size_t)1 << key->shape.domain_log2;
    uint8_t *sums = prove->sums;

    switch (phase) {
    case BACKEND_PHASE_NTT:
        curve->quotient(pool, (const uint64_t *)(prove->slab + layout.a_off),
                        (const uint64_t *)(prove->slab + layout.b_off), key->shape.domain_log2,
                        prove->scratch, prove->scratch + 4 * domain);
        return 0;
    case BACKEND_PHASE_MSM_A:
        return curve->msm_g1(pool, key->a, witness, variables, sums + sums_off(curve, SUMS_A));
    case BACKEND_PHASE_MSM_B1:
        return curve->msm_g1(pool, key->b1, witness, variables, sums + sums_off(curve, SUMS_B1));
    case BACKEND_PHASE_MSM_B2:
        return curve->msm_g2(pool, key->b2, witness, variables, sums + sums_off(curve, SUMS_B2));
    case BACKEND_PHASE_MSM_L:
        return curve->msm_g1(pool, key->l, witness + 4 * first_private, key->l_count,
                             sums + sums_off(curve, SUMS_L));
    case BACKEND_PHASE_MSM_H:
        return curve->msm_g1(pool, key->h, prove->scratch, key->h_count,
                             sums + sums_off(curve, SUMS_H));
    case BACKEND_PHASE_UPLOAD:
    case BACKEND_PHASE_COUNT:
        break;
    }
    return -EINVAL;
}
