/* From the five sums of a proof to the proof itself:
 *   A = sum_a + alpha + r delta,  B = sum_b2 + beta2 + s delta2 (and in G1 as B1),
 *   C = sum_l + sum_h + s A + r B1 - r s delta.
 * Called by the finalizer. The blinding scalars r, s come from the caller (getrandom), who wipes
 * them; their product is wiped here. */
#pragma once

#include <stdint.h>

/* All borrowed, encodings of groth16/curve/curve.h. */
struct assemble_input {
    const void *sum_a, *sum_b1, *sum_b2, *sum_l, *sum_h; /* b2 in G2, others G1 */
    const void *alpha_g1, *beta_g1, *beta_g2, *delta_g1, *delta_g2;
    const uint64_t *r, *s; /* plain scalars */
};
