/* The descriptors of the two curves and the look-ups among them (curve.h). Upstream: every program;
 * downstream: the per-processor entries of curve/, msm/, ntt/ and verify/. */

#include "groth16/curve/curve.h"

#include <assert.h>
#include <string.h>

#include "groth16/curve/arch.h"
#include "groth16/curve/bls12_381.h"
#include "groth16/curve/bn254.h"
#include "groth16/curve/entries.h"

#define CURVE             bn254
#define CURVE_ID          CURVE_BN254
#define CURVE_NAME        "bn254"
#define CURVE_JSON_NAME   "bn128"
#define CURVE_LIMBS       4
#define CURVE_TWO_ADICITY BN254_FR_TWO_ADICITY
#include "groth16/curve/curve.inc.h"

#define CURVE             bls12_381
#define CURVE_ID          CURVE_BLS12_381
#define CURVE_NAME        "bls12-381"
#define CURVE_JSON_NAME   "bls12381"
#define CURVE_LIMBS       6
#define CURVE_TWO_ADICITY BLS12_381_FR_TWO_ADICITY
#include "groth16/curve/curve.inc.h"

static const struct curve *const curves[] = {&curve_bn254, &curve_bls12_381};
static const size_t curve_count = sizeof curves / sizeof curves[0];

const struct curve *curve_by_id(uint32_t id)
{
    for (size_t i = 0; i < curve_count; i++) {
        if (curves[i]->id == id)
            return curves[i];
    }
    return NULL;
}

const struct curve *curve_by_json_name(const char *name)
{
    for (size_t i = 0; i < curve_count; i++) {
        if (strcmp(curves[i]->json_name, name) == 0)
            return curves[i];
    }
    return NULL;
}

const struct curve *curve_by_fr_modulus(const uint64_t *modulus)
{
    for (size_t i = 0; i < curve_count; i++) {
        if (memcmp(curves[i]->fr_modulus, modulus, CURVE_FR_BYTES) == 0)
            return curves[i];
    }
    return NULL;
}

bool curve_point_is_infinity(const void *point, size_t bytes)
{
    const uint64_t *limbs = point;
    uint64_t any = 0;

    for (size_t i = 0; i < bytes / sizeof limbs[0]; i++)
        any |= limbs[i];
    return any == 0;
}

const char *curve_point_fault_to_string(enum curve_point_fault fault)
{
    switch (fault) {
    case CURVE_POINT_OK:
        return "the point is acceptable";
    case CURVE_POINT_NOT_REDUCED:
        return "a coordinate is not below the field's modulus";
    case CURVE_POINT_NOT_ON_CURVE:
        return "the point is not on the curve";
    case CURVE_POINT_NOT_IN_SUBGROUP:
        return "the point is not in the subgroup of order r";
    }
    return "unknown point fault";
}
