/* From constraints to scalars. Upstream: make_key; below: lagrange. */
#include "bench/setup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "bench/lagrange.h"
#include "groth16/pool.h"

/* A secret that is not 0, from the seed and a label. */
static struct scalar secret(const struct curve *curve, uint64_t seed, const char *label)
{
    struct scalar r;

    for (unsigned attempt = 0;; attempt++) {
        char text[128];
        int length = snprintf(text, sizeof text, "cuzk-bench make-key %s %" PRIu64 " %s %u",
                              curve->name, seed, label, attempt);

        if (!EVP_Digest(text, (size_t)length, (unsigned char *)r.l, NULL, EVP_sha256(), NULL))
            abort();
        r.l[3] &= UINT64_MAX >> 1;
        if (curve->scalar_is_reduced(r.l) && (r.l[0] | r.l[1] | r.l[2] | r.l[3]) != 0)
            return r;
    }
}

struct summing {
    const struct curve *curve;
    const struct matrix_rows *rows;
    uint32_t row_count, wire_count;
    size_t task_count;
    const struct scalar *lagrange, *values;
    struct scalar *ret;
};

static struct scalar term(const struct summing *summing, uint64_t entry, uint32_t row)
{
    uint32_t coefficient = summing->rows->coefficient[entry];
    const struct scalar zero = {{0}}, at = summing->lagrange[row];

    if (coefficient == 0) /* 1 */
        return at;
    if (coefficient == 1) /* -1 */
        return scalar_sub(summing->curve, zero, at);
    return scalar_mul(summing->curve, summing->values[coefficient], at);
}

/* Every task goes through all entries and takes those of its own wires: one pass over the columns
 * costs far less than the sums, and no two tasks write to one place. */
static void sum_wires(void *context, size_t task)
{
    const struct summing *summing = context;
    const struct matrix_rows *rows = summing->rows;
    uint32_t begin = (uint32_t)(summing->wire_count * (uint64_t)task / summing->task_count);
    uint32_t end = (uint32_t)(summing->wire_count * (uint64_t)(task + 1) / summing->task_count);

    memset(summing->ret + begin, 0, (end - begin) * sizeof summing->ret[0]);
    for (uint32_t row = 0; row < summing->row_count; row++)
        for (uint64_t i = rows->row_begin[row]; i < rows->row_begin[row + 1]; i++)
            if (rows->column[i] - begin < end - begin)
                summing->ret[rows->column[i]] = scalar_add(
                    summing->curve, summing->ret[rows->column[i]], term(summing, i, row));
}

/* ret[s] = the sum of value * L_row(tau) over the terms of wire s. */
static void sum_matrix(struct summing summing, const struct matrix_rows *rows, uint32_t row_count,
                       struct pool *pool, struct scalar *ret)
{
    summing.rows = rows;
    summing.row_count = row_count;
    summing.ret = ret;
    pool_run(pool, summing.task_count, sum_wires, &summing);
}

struct combining {
    struct setup *setup;
    struct scalar gamma_inverse, delta_inverse;
};

/* c_s becomes (beta a_s + alpha b_s + c_s) / gamma for public wires, / delta for the others. */
static void combine_range(void *context, size_t begin, size_t end)
{
    const struct combining *combining = context;
    struct setup *setup = combining->setup;
    const struct curve *curve = setup->curve;

    for (size_t s = begin; s < end; s++) {
        struct scalar sum = scalar_add(curve, scalar_mul(curve, setup->beta, setup->a[s]),
                                       scalar_mul(curve, setup->alpha, setup->b[s]));

        setup->c[s] =
            scalar_mul(curve, scalar_add(curve, sum, setup->c[s]),
                       s <= setup->publics ? combining->gamma_inverse : combining->delta_inverse);
    }
}

/* h_i becomes tau^i (tau^domain - 1) / delta. */
static void monomial_range(void *context, size_t begin, size_t end)
{
    const struct combining *combining = context;
    const struct setup *setup = combining->setup;
    const struct scalar one = {{1}};
    struct scalar value =
        scalar_sub(setup->curve, scalar_power_u64(setup->curve, setup->tau, setup->domain), one);

    value = scalar_mul(setup->curve, value, combining->delta_inverse);
    value = scalar_mul(setup->curve, value, scalar_power_u64(setup->curve, setup->tau, begin));
    for (size_t i = begin; i < end; i++) {
        setup->h[i] = value;
        value = scalar_mul(setup->curve, value, setup->tau);
    }
}

static void fill(const struct constraints *constraints, const struct scalar *values,
                 enum setup_form form, struct pool *pool, struct setup *setup)
{
    const struct curve *curve = setup->curve;
    const unsigned log2 = constraints->domain_log2;
    const uint64_t base = form == SETUP_BELLMAN ? 7 : 5;
    const struct scalar one = {{1}}, root = scalar_root_of_unity(curve, log2, base);
    struct combining combining = {setup, scalar_inverse(curve, setup->gamma),
                                  scalar_inverse(curve, setup->delta)};
    /* The domain itself, and the odd half of the one of twice the size, by delta. */
    const struct lagrange_points even = {setup->domain, setup->domain, one, root, one},
                                 odd = {2 * setup->domain, setup->domain,
                                        scalar_root_of_unity(curve, log2 + 1, base), root,
                                        combining.delta_inverse};
    const struct summing summing = {
        .curve = curve,
        .wire_count = constraints->variable_count,
        .task_count = pool_threads(pool),
        .lagrange = setup->h,
        .values = values,
    };

    lagrange_evaluate(curve, pool, setup->tau, even, setup->h);
    sum_matrix(summing, &constraints->a, constraints_row_count(constraints), pool, setup->a);
    sum_matrix(summing, &constraints->b, constraints_row_count(constraints), pool, setup->b);
    sum_matrix(summing, &constraints->c, constraints->constraint_count, pool, setup->c);
    pool_run_range(pool, setup->variables, 1024, combine_range, &combining);
    if (form == SETUP_BELLMAN)
        pool_run_range(pool, setup->domain - 1, 1 << 12, monomial_range, &combining);
    else
        lagrange_evaluate(curve, pool, setup->tau, odd, setup->h);
}

struct setup_secrets setup_secrets_from_seed(const struct curve *curve, uint64_t seed)
{
    return (struct setup_secrets){
        .tau = secret(curve, seed, "tau"),
        .alpha = secret(curve, seed, "alpha"),
        .beta = secret(curve, seed, "beta"),
        .gamma = secret(curve, seed, "gamma"),
        .delta = secret(curve, seed, "delta"),
    };
}

int setup_make(const struct constraints *constraints, const struct setup_secrets *secrets,
               enum setup_form form, struct pool *pool, struct setup *ret, struct reason *reason)
{
    const struct curve *curve = constraints->curve;
    struct scalar *values = constraints_plain_values(constraints);

    *ret = (struct setup){
        .curve = curve,
        .form = form,
        .domain = (size_t)1 << constraints->domain_log2,
        .variables = constraints->variable_count,
        .publics = constraints->public_count,
        .tau = secrets->tau,
        .alpha = secrets->alpha,
        .beta = secrets->beta,
        .gamma = secrets->gamma,
        .delta = secrets->delta,
        .a = malloc(constraints->variable_count * sizeof ret->a[0]),
        .b = malloc(constraints->variable_count * sizeof ret->b[0]),
        .c = malloc(constraints->variable_count * sizeof ret->c[0]),
        .h = malloc(sizeof ret->h[0] << constraints->domain_log2),
    };
    bool has_memory = values && ret->a && ret->b && ret->c && ret->h;
    if (has_memory)
        fill(constraints, values, form, pool, ret);
    free(values);
    return has_memory
               ? 0
               : reason_set(reason, -ENOMEM, "no memory for the scalars of %" PRIu32 " wires",
                            constraints->variable_count);
}

void setup_destroy(struct setup *setup)
{
    free(setup->a);
    free(setup->b);
    free(setup->c);
    free(setup->h);
    memset(setup, 0, sizeof *setup);
}

void setup_points_make(const struct setup *setup, struct setup_points *ret)
{
    const struct curve *curve = setup->curve;

    curve->g1_mul(curve->g1_generator, setup->alpha.l, ret->alpha_g1);
    curve->g1_mul(curve->g1_generator, setup->beta.l, ret->beta_g1);
    curve->g1_mul(curve->g1_generator, setup->delta.l, ret->delta_g1);
    curve->g2_mul(curve->g2_generator, setup->beta.l, ret->beta_g2);
    curve->g2_mul(curve->g2_generator, setup->gamma.l, ret->gamma_g2);
    curve->g2_mul(curve->g2_generator, setup->delta.l, ret->delta_g2);
}
