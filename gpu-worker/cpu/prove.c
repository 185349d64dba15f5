/* One proof's five sums. Upstream: witness and evaluations in the slab; downstream: the finalizer's
 * assembly. The H scalars come from the quotient of a and b, as the key's layout wants them; A, B1,
 * B2 and L take the witness itself, L without the constant 1 and the public inputs, and in a
 * bellman key A, B1 and B2 without the wires that have no point. */
#include "gpu-worker/cpu/prove.h"

#include <errno.h>

static void run_quotient(struct prove *prove, struct pool *pool)
{
    const struct prepared *key = prove->key;
    const struct slab_layout layout = prepared_slab_layout(key);
    const uint64_t *a = (const uint64_t *)(prove->slab + layout.a_off);
    const uint64_t *b = (const uint64_t *)(prove->slab + layout.b_off);
    const unsigned log2 = key->shape.domain_log2;

    (key->layout == PREPARED_LAYOUT_BELLMAN ? key->curve->quotient_monomial : key->curve->quotient)(
        pool, a, b, log2, prove->scratch, prove->scratch + ((size_t)4 << log2));
}

/* The scalars that belong to the points of A, or of B1 and B2. */
static const uint64_t *wire_scalars(struct prove *prove, struct pool *pool,
                                    const struct density *density, const uint64_t *witness)
{
    uint64_t *gathered = prove->scratch + ((size_t)4 << prove->key->shape.domain_log2);

    if (prove->key->layout != PREPARED_LAYOUT_BELLMAN)
        return witness;
    density_gather(density, pool, witness, gathered);
    return gathered;
}

int prove_run(struct prove *prove, enum backend_phase phase, struct pool *pool)
{
    const struct prepared *key = prove->key;
    const struct curve *curve = key->curve;
    const struct slab_layout layout = prepared_slab_layout(key);
    const uint64_t *witness = (const uint64_t *)(prove->slab + layout.witness_off);
    const size_t first_private = (size_t)key->shape.public_count + 1;
    uint8_t *sums = prove->sums;

    switch (phase) {
    case BACKEND_PHASE_NTT:
        run_quotient(prove, pool);
        return 0;
    case BACKEND_PHASE_MSM_A:
        return curve->msm_g1(pool, key->a, wire_scalars(prove, pool, &key->a_density, witness),
                             key->a_count, sums + sums_off(curve, SUMS_A));
    case BACKEND_PHASE_MSM_B1:
        return curve->msm_g1(pool, key->b1, wire_scalars(prove, pool, &key->b_density, witness),
                             key->b_count, sums + sums_off(curve, SUMS_B1));
    case BACKEND_PHASE_MSM_B2:
        return curve->msm_g2(pool, key->b2, wire_scalars(prove, pool, &key->b_density, witness),
                             key->b_count, sums + sums_off(curve, SUMS_B2));
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
