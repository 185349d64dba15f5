/* Checks what is asked of the transforms (transform.h) and passes it on to the field. */

#include <errno.h>

#include "gpu-worker/cuda/transform_internal.cuh"

static const struct transform_field *field_of(enum curve_id curve)
{
    return curve == CURVE_BN254 ? &transform_bn254 : &transform_bls12_381;
}

/* extra: how much larger the domain is whose roots are needed. */
static bool is_possible(enum curve_id curve, unsigned log2, int extra)
{
    return log2 <= TRANSFORM_LOG2_MAX && (int)log2 + extra <= field_of(curve)->two_adicity;
}

static int to_errno(cudaError_t error)
{
    return error == cudaSuccess ? 0 : error == cudaErrorMemoryAllocation ? -ENOMEM : -EIO;
}

int transform_fill_table(enum curve_id curve, unsigned log2_max, void *ret_table, void *stream)
{
    if (!is_possible(curve, log2_max, 1))
        return -EINVAL;
    return to_errno(
        field_of(curve)->fill_table(log2_max, (uint32_t *)ret_table, (cudaStream_t)stream));
}

int transform_down(enum curve_id curve, const void *table, unsigned log2, bool inverse,
                   void *const *values, unsigned count, void *stream)
{
    if (!is_possible(curve, log2, 0) || count == 0 || count > TRANSFORM_BATCH_MAX)
        return -EINVAL;
    return to_errno(field_of(curve)->transform(false, inverse, (const uint32_t *)table, log2,
                                               values, count, (cudaStream_t)stream));
}

int transform_up(enum curve_id curve, const void *table, unsigned log2, bool inverse,
                 void *const *values, unsigned count, void *stream)
{
    if (!is_possible(curve, log2, 0) || count == 0 || count > TRANSFORM_BATCH_MAX)
        return -EINVAL;
    return to_errno(field_of(curve)->transform(true, inverse, (const uint32_t *)table, log2, values,
                                               count, (cudaStream_t)stream));
}

int transform_quotient(enum curve_id curve, const void *table, unsigned log2, void *a, void *b,
                       void *ret_scalars, void *stream)
{
    if (!is_possible(curve, log2, 1))
        return -EINVAL;
    return to_errno(field_of(curve)->quotient((const uint32_t *)table, log2, a, b, ret_scalars,
                                              (cudaStream_t)stream));
}
