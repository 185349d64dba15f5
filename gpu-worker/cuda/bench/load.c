/* Points and scalars for the device bench and tests (load.h). */

#include "gpu-worker/cuda/bench/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/fixed_base.h"
#include "groth16/field/limbs.h"

const char *load_mix_to_string(enum load_mix mix)
{
    static const char *const names[LOAD_MIX_COUNT] = {"uniform", "D1", "D2", "D3", "edges"};

    return names[mix];
}

/* Uniform below r, by rejection. */
static void uniform(const struct curve *curve, uint64_t *state, uint64_t *ret)
{
    unsigned shift = (unsigned)__builtin_clzll(curve->fr_modulus[3]);

    do {
        for (int i = 0; i < 4; i++)
            ret[i] = load_random(state);
        ret[3] >>= shift;
    } while (!curve->scalar_is_reduced(ret));
}

static void edge(const struct curve *curve, uint64_t *state, uint64_t *ret)
{
    uint64_t bit = load_random(state) % 254;

    switch (load_random(state) % 6) {
    case 0:
        break;
    case 1:
        ret[0] = 1;
        break;
    case 2:
        memcpy(ret, curve->fr_modulus, 32);
        ret[0]--;
        break;
    case 3:
        for (int i = 0; i < 4; i++)
            ret[i] = curve->fr_modulus[i] >> 1 | (i < 3 ? curve->fr_modulus[i + 1] << 63 : 0);
        ret[0] += load_random(state) & 1;
        break;
    case 4:
        ret[bit / 64] = UINT64_C(1) << (bit % 64);
        if (!curve->scalar_is_reduced(ret))
            memset(ret, 0, 32);
        break;
    default:
        uniform(curve, state, ret);
    }
}

void load_scalars(const struct curve *curve, enum load_mix mix, uint64_t seed, size_t count,
                  uint64_t *ret_scalars)
{
    memset(ret_scalars, 0, 32 * count);
    for (size_t i = 0; i < count; i++) {
        uint64_t *s = ret_scalars + 4 * i;
        unsigned percent = (unsigned)(load_random(&seed) % 100);

        if (mix == LOAD_EDGES)
            edge(curve, &seed, s);
        else if (mix == LOAD_UNIFORM || (mix == LOAD_D1 && percent >= 90) ||
                 (mix == LOAD_D2 && percent >= 95) || (mix == LOAD_D3 && percent >= 50))
            uniform(curve, &seed, s);
        else if (mix == LOAD_D3)
            s[0] = load_random(&seed);
        else if (mix == LOAD_D1 && percent >= 75)
            s[0] = load_random(&seed) >> 32;
        else
            s[0] = percent >= (mix == LOAD_D1 ? 40 : 60);
    }
}

int load_points(const struct curve *curve, bool is_g2, uint64_t seed, struct pool *pool,
                void *ret_points)
{
    struct fixed_base *base;
    uint64_t *scalars = malloc(32 * LOAD_DISTINCT_POINTS);
    int error = scalars ? 0 : -ENOMEM;

    if (!error)
        error = fixed_base_create(curve, is_g2, LOAD_DISTINCT_POINTS, pool, &base);
    if (!error) {
        load_scalars(curve, LOAD_UNIFORM, seed, LOAD_DISTINCT_POINTS, scalars);
        fixed_base_mul(base, pool, scalars, LOAD_DISTINCT_POINTS, ret_points);
        fixed_base_free(base);
    }
    free(scalars);
    return error;
}

void load_fold_scalars(const struct curve *curve, const uint64_t *scalars, size_t count,
                       uint64_t *ret_sums)
{
    memset(ret_sums, 0, 32 * LOAD_DISTINCT_POINTS);
    for (size_t i = 0; i < count; i++) {
        uint64_t *sum = ret_sums + 4 * (i % LOAD_DISTINCT_POINTS);

        limbs_mod_add(sum, sum, scalars + 4 * i, curve->fr_modulus, 4);
    }
}
