/* From .params and a recorded circuit to a prepared key. Upstream: params, the recorder;
 * downstream: prepared_write_source. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "filecoin/params.h"
#include "groth16/curve/curve.h"
#include "groth16/pool.h"

/* Which wires have points; owns the arrays of both densities. */
struct densities {
    uint64_t *a_words, *b_words;
    uint32_t *a_ranks, *b_ranks;
    struct density a, b;
};

static void densities_destroy(struct densities *densities)
{
    free(densities->a_words);
    free(densities->b_words);
    free(densities->a_ranks);
    free(densities->b_ranks);
}

/* Every input has a point of A: the input-consistency rows see to that. They are set here even
 * where a recorder left those rows out. */
static int densities_make(const struct prepared_circuit *circuit, struct densities *ret,
                          struct reason *reason)
{
    const size_t words = density_word_count(circuit->variable_count);
    struct densities *d = ret;

    memset(d, 0, sizeof *d);
    d->a_words = calloc(words, sizeof d->a_words[0]);
    d->b_words = calloc(words, sizeof d->b_words[0]);
    d->a_ranks = calloc(words, sizeof d->a_ranks[0]);
    d->b_ranks = calloc(words, sizeof d->b_ranks[0]);
    if (!d->a_words || !d->b_words || !d->a_ranks || !d->b_ranks)
        return reason_set(reason, -ENOMEM, "no memory for the densities of %" PRIu32 " variables",
                          circuit->variable_count);
    density_mark_first(d->a_words, (size_t)circuit->public_count + 1);
    density_mark(d->a_words, &circuit->a);
    density_mark(d->b_words, &circuit->b);
    d->a = (struct density){circuit->variable_count, density_rank(d->a_words, words, d->a_ranks),
                            d->a_words, d->a_ranks};
    d->b = (struct density){circuit->variable_count, density_rank(d->b_words, words, d->b_ranks),
                            d->b_words, d->b_ranks};
    return 0;
}

static struct params_counts counts_of(const struct prepared_circuit *circuit,
                                      const struct densities *densities)
{
    struct params_counts counts = {
        .ic = circuit->public_count + 1,
        .points = {[PARAMS_H] = (uint32_t)((UINT64_C(1) << circuit->domain_log2) - 1),
                   [PARAMS_L] = circuit->variable_count - circuit->public_count - 1,
                   [PARAMS_A] = (uint32_t)densities->a.one_count,
                   [PARAMS_B_G1] = (uint32_t)densities->b.one_count,
                   [PARAMS_B_G2] = (uint32_t)densities->b.one_count},
    };

    counts.bytes = params_counts_bytes(&counts);
    return counts;
}

int params_expect(const struct prepared_circuit *circuit, struct params_counts *ret,
                  struct reason *reason)
{
    struct densities densities;
    int error = densities_make(circuit, &densities, reason);

    if (error == 0)
        *ret = counts_of(circuit, &densities);
    densities_destroy(&densities);
    return error;
}

struct preparing {
    const struct params *params;
    bool subgroup;
};

static int read_points(void *context, enum prepared_section section, struct pool *pool,
                       prepared_sink *sink, void *sink_context, struct reason *reason)
{
    static const enum params_section from[] = {
        [PREPARED_A] = PARAMS_A, [PREPARED_B1] = PARAMS_B_G1, [PREPARED_B2] = PARAMS_B_G2,
        [PREPARED_L] = PARAMS_L, [PREPARED_H] = PARAMS_H,
    };
    const struct preparing *preparing = context;

    return params_read_points(preparing->params, from[section], preparing->subgroup, pool, sink,
                              sink_context, reason);
}

/* The recorder is ours, so that this is about programming errors and stays cheap. */
static int check_circuit(const struct prepared_circuit *circuit, struct reason *reason)
{
    const size_t rows = (size_t)circuit->constraint_count + circuit->public_count + 1;

    if (circuit->curve->id == CURVE_BLS12_381 && circuit->a.row_count == rows &&
        circuit->b.row_count == rows && rows <= (size_t)1 << circuit->domain_log2 &&
        circuit->public_count < circuit->variable_count &&
        (!circuit->has_c || circuit->c.row_count == circuit->constraint_count))
        return 0;
    return reason_set(reason, -EINVAL, "the circuit of the params contradicts itself");
}

int params_prepare(const struct params *params, const struct prepared_circuit *circuit,
                   const struct params_prepare_options *options, int out_fd, struct pool *pool,
                   const struct prepared_progress *progress,
                   uint8_t ret_digest[PREPARED_DIGEST_BYTES], struct reason *reason)
{
    const struct vk *vk = &params->vk;
    struct preparing preparing = {params, !options || !options->skips_subgroup};
    struct densities densities = {0};
    struct prepared_source source = {
        .layout = PREPARED_LAYOUT_BELLMAN,
        .circuit = circuit,
        .alpha_g1 = vk->alpha_g1,
        .beta_g1 = vk->beta_g1,
        .delta_g1 = vk->delta_g1,
        .beta_g2 = vk->beta_g2,
        .gamma_g2 = vk->gamma_g2,
        .delta_g2 = vk->delta_g2,
        .ic = vk->ic,
        .read_points = read_points,
        .context = &preparing,
        .total_bytes = params->file.file_bytes - vk_bytes(vk->ic_count),
    };
    struct params_counts expected;
    int error = check_circuit(circuit, reason);

    if (error == 0)
        error = densities_make(circuit, &densities, reason);
    if (error == 0) {
        expected = counts_of(circuit, &densities);
        error = params_compare_counts(params, &expected, reason);
    }
    source.a_density = densities.a;
    source.b_density = densities.b;
    if (error == 0)
        error = prepared_write_source(&source, out_fd, pool, progress, ret_digest, reason);
    densities_destroy(&densities);
    return error;
}
