/* Upstream: the backend's sums, passed on unread by the supervisor; downstream: the client. */
#include "finalizer/finalize.h"

#include <errno.h>
#include <string.h>

#include "finalizer/blinding.h"
#include "groth16/verify/assemble.h"
#include "groth16/verify/sums.h"

static int finalize_check_sums(const struct curve *curve, const struct assemble_input *input,
                               struct reason *reason)
{
    const struct {
        const char *name;
        const void *point;
        bool is_g2;
    } sums[] = {
        {"A", input->sum_a, false}, {"B1", input->sum_b1, false}, {"B2", input->sum_b2, true},
        {"L", input->sum_l, false}, {"H", input->sum_h, false},
    };
    for (unsigned i = 0; i < sizeof sums / sizeof sums[0]; i++) {
        const enum curve_point_fault fault = sums[i].is_g2 ? curve->g2_check(sums[i].point, false)
                                                           : curve->g1_check(sums[i].point, false);
        if (fault != CURVE_POINT_OK)
            return reason_set(reason, -EBADMSG,
                              "the sum %s that the prover computed is no point of %s (%s): its "
                              "device or memory is faulty",
                              sums[i].name, curve->name, curve_point_fault_to_string(fault));
    }
    return 0;
}

int finalize_assemble(const struct prepared *key, const uint8_t *sums, uint64_t *ret_proof,
                      struct reason *reason)
{
    const struct curve *curve = key->curve;
    uint64_t r[4], s[4];
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
        .r = r,
        .s = s,
    };
    int error = finalize_check_sums(curve, &input, reason);
    if (error < 0)
        return error;
    error = blinding_draw(curve, r, s);
    if (error == 0)
        curve->assemble(&input, ret_proof);
    else
        reason_set(reason, error, "no blinding can be drawn: %s", strerror(-error));
    explicit_bzero(r, sizeof r);
    explicit_bzero(s, sizeof s);
    return error;
}

int finalize_verify(const struct prepared *key, const uint64_t *public_scalars,
                    const uint64_t *proof, struct reason *reason)
{
    const int result =
        key->curve->verify(&key->verify_key, public_scalars, key->shape.public_count, proof);
    if (result == VERIFY_OK)
        return 0;
    if (result != VERIFY_FAILED)
        return reason_set(reason, -EBADMSG, "the finished proof was refused: %s",
                          verify_result_to_string((enum verify_result)result));
    return reason_set(reason, -EBADMSG, "%s",
                      key->has_c
                          ? "the pairing check fails although the witness satisfies "
                            "every constraint: the prover's device or memory computed wrongly, or "
                            "the proving key was damaged before it was registered"
                          : "the pairing check fails: most likely the witness does not "
                            "satisfy the circuit (other inputs or another version of it); register "
                            "the circuit with its .r1cs to learn which constraint is broken");
}
