/* The blinding of every real build. */
#include "finalizer/blinding.h"

int blinding_draw(const struct curve *curve, uint64_t ret_r[4], uint64_t ret_s[4])
{
    const int error = blinding_uniform(curve, ret_r);
    return error < 0 ? error : blinding_uniform(curve, ret_s);
}
