/* See plan.h. A candidate is laid out in full and tried on a copy of the arena. */
#include "gpu-worker/cuda/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gpu-worker/cuda/evaluate.h"
#include "gpu-worker/cuda/transform.h"

enum {
    PLAN_LEVELS_MAX = 64, /* a 255-bit scalar in windows of MSM_WINDOW_BITS_MIN */
    PLAN_RESIDENT_WITNESSES = 2,
};

/* More memory for less than this much speed is not worth it: other keys want to be there too. */
#define PLAN_COST_SLACK 1.02

/* One choice of levels: NULL shape where it cannot be. */
struct plan_shapes {
    struct msm_shape shape[PLAN_LEVELS_MAX];
    unsigned count;
};

void workspace_layout(const struct workspace *workspace, struct workspace_layout *ret_layout)
{
    struct workspace_layout layout;
    uint64_t off = 0;
    layout.witness_off = off;
    off += arena_align(workspace->witness_bytes) * workspace->witness_count;
    layout.a_off = off;
    off += arena_align(workspace->evaluation_bytes);
    layout.b_off = off;
    off += arena_align(workspace->evaluation_bytes);
    layout.scalars_off = off;
    off += arena_align(workspace->scalars_bytes) * workspace->scalars_count;
    for (unsigned i = 0; i < 2; i++) {
        layout.plan_off[i] = off;
        off += arena_align(workspace->plan_bytes[i]);
        layout.scratch_off[i] = off;
        off += arena_align(workspace->scratch_bytes[i]);
        layout.chunk_off[i] = off;
        off += arena_align(workspace->chunk_bytes);
    }
    layout.evaluate_off = off;
    layout.bytes = off + arena_align(evaluate_scratch_bytes());
    *ret_layout = layout;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

struct workspace workspace_max(const struct workspace *a, const struct workspace *b)
{
    struct workspace most = {
        .witness_bytes = larger(a->witness_bytes, b->witness_bytes),
        .witness_count = (unsigned)larger(a->witness_count, b->witness_count),
        .evaluation_bytes = larger(a->evaluation_bytes, b->evaluation_bytes),
        .scalars_bytes = larger(a->scalars_bytes, b->scalars_bytes),
        .scalars_count = (unsigned)larger(a->scalars_count, b->scalars_count),
        .chunk_bytes = larger(a->chunk_bytes, b->chunk_bytes),
    };
    for (unsigned i = 0; i < 2; i++) {
        most.plan_bytes[i] = larger(a->plan_bytes[i], b->plan_bytes[i]);
        most.scratch_bytes[i] = larger(a->scratch_bytes[i], b->scratch_bytes[i]);
    }
    return most;
}

/* Costs. */

/* Nanoseconds of an addition in G1 on an H200, as measured; other cards scale both sides alike. */
static double addition_ns(enum curve_id curve)
{
    return curve == CURVE_BN254 ? 0.19 : 0.40;
}

/* In G1 additions: walking the digits, weighing the buckets (see msm_shape_init). */
static double additions(const struct msm_shape *shape)
{
    const double buckets = (double)shape->sets * shape->set_buckets;
    const double workers = 512.0 * shape->multiprocessors;
    return (double)shape->windows * shape->count + 4 * buckets +
           16 * (buckets < workers ? buckets : workers) + 2e4 * shape->windows;
}

static double cost_ms(const struct plan *plan)
{
    /* A, B1 and L in G1; B2 in G2, where an addition is three times the work. */
    const double g1_sums = 6;
    return 1e-6 * addition_ns(plan->curve) *
           (g1_sums * additions(&plan->witness) + additions(&plan->quotient));
}

/* Layouts. */

static bool point_is_g2(enum sums_point point)
{
    return point == SUMS_B2;
}

static const struct msm_shape *shape_of(const struct plan *plan, enum sums_point point)
{
    return point == SUMS_H ? &plan->quotient : &plan->witness;
}

static uint64_t take(uint64_t *off, uint64_t bytes)
{
    const uint64_t at = *off;
    *off += arena_align(bytes);
    return at;
}

static void lay_out_key(const struct prepared *prepared, struct plan *plan)
{
    const struct matrix *const matrices[] = {&prepared->matrix_a, &prepared->matrix_b};
    uint64_t off = 0;
    plan->load_bytes = 0;
    for (enum sums_point i = SUMS_A; i < SUMS_COUNT; i++) {
        const struct msm_shape *shape = shape_of(plan, i);
        plan->bases_off[i] = off;
        if (!plan->is_resident[i])
            continue;
        take(&off, msm_bases_bytes(shape, point_is_g2(i)));
        if (shape->levels > 1)
            plan->load_bytes =
                larger(plan->load_bytes, msm_sum_scratch_bytes(shape, point_is_g2(i)));
    }
    for (unsigned i = 0; i < PLAN_MATRIX_COUNT; i++) {
        plan->rows_off[i] = take(&off, (matrices[i]->row_count + 1) * sizeof(uint64_t));
        plan->columns_off[i] = take(&off, matrices[i]->entry_count * sizeof(uint32_t));
        plan->coefficients_off[i] = take(&off, matrices[i]->entry_count * sizeof(uint32_t));
    }
    plan->dictionary_off = take(&off, prepared->matrix_a.dictionary_count * CURVE_FR_BYTES);
    plan->twiddles_off = take(&off, transform_table_bytes(plan->domain_log2));
    plan->key_bytes = off;
}

/* What one stream needs to plan these scalars and to sum them. */
static void add_stream(struct workspace *workspace, unsigned stream, const struct msm_shape *shape,
                       bool has_g2)
{
    uint64_t scratch = larger(msm_plan_scratch_bytes(shape), msm_sum_scratch_bytes(shape, false));
    if (has_g2)
        scratch = larger(scratch, msm_sum_scratch_bytes(shape, true));
    workspace->plan_bytes[stream] = larger(workspace->plan_bytes[stream], msm_plan_bytes(shape));
    workspace->scratch_bytes[stream] = larger(workspace->scratch_bytes[stream], scratch);
}

static void lay_out_workspace(struct plan *plan)
{
    plan->workspace = (struct workspace){
        .witness_bytes = (uint64_t)plan->variable_count * CURVE_FR_BYTES,
        .witness_count = PLAN_RESIDENT_WITNESSES,
        .evaluation_bytes = (uint64_t)CURVE_FR_BYTES << plan->domain_log2,
        .scalars_bytes = (uint64_t)CURVE_FR_BYTES << plan->domain_log2,
        .scalars_count = 1,
    };
    add_stream(&plan->workspace, 0, &plan->witness, true);
    add_stream(&plan->workspace, 1, &plan->quotient, false);
}

/* The memory of a plan in an arena where it must find place. */
struct plan_room {
    const struct arena *arena;
    const struct workspace *workspace;
    void *workspace_memory;
};

static uint64_t workspace_bytes(const struct workspace *workspace)
{
    struct workspace_layout layout;
    workspace_layout(workspace, &layout);
    return layout.bytes;
}

static bool fits(const struct plan_room *room, const struct plan *plan)
{
    static _Thread_local struct arena trial; /* too large for a stack */
    const struct workspace most = workspace_max(room->workspace, &plan->workspace);
    void *memory;
    trial = *room->arena;
    arena_give(&trial, room->workspace_memory);
    return arena_take_high(&trial, workspace_bytes(&most), &memory) == 0 &&
           arena_take(&trial, plan->key_bytes, &memory) == 0 &&
           (plan->load_bytes == 0 || arena_take(&trial, plan->load_bytes, &memory) == 0);
}

/* The choice. */

static void list_shapes(enum curve_id curve, uint32_t count, struct plan_shapes *ret)
{
    ret->count = 0;
    for (unsigned levels = 1; levels <= PLAN_LEVELS_MAX; levels++) {
        struct msm_shape shape;
        if (msm_shape_init(&shape, curve, count, levels, 0) < 0)
            break;
        if (ret->count == 0 || shape.levels != ret->shape[ret->count - 1].levels)
            ret->shape[ret->count++] = shape;
    }
}

static void lay_out(const struct prepared *prepared, struct plan *plan)
{
    lay_out_key(prepared, plan);
    lay_out_workspace(plan);
    plan->cost_ms = cost_ms(plan);
}

/* Everything resident: fills `best` and returns whether there is a plan that fits. */
static bool choose_resident(const struct prepared *prepared, const struct plan_room *room,
                            const struct plan_shapes *witness, const struct plan_shapes *quotient,
                            struct plan *best)
{
    struct plan plan = *best;
    bool is_found = false;
    double least_ms = 0;
    for (unsigned i = 0; i < SUMS_COUNT; i++)
        plan.is_resident[i] = true;
    plan.pass_count = 1;
    /* First what the cheapest costs, then the smallest that costs about as much. */
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned w = 0; w < witness->count; w++)
            for (unsigned q = 0; q < quotient->count; q++) {
                plan.witness = witness->shape[w];
                plan.quotient = quotient->shape[q];
                plan.cost_ms = cost_ms(&plan);
                if (pass == 0 ? is_found && plan.cost_ms >= least_ms
                              : plan.cost_ms > least_ms * PLAN_COST_SLACK)
                    continue;
                lay_out(prepared, &plan);
                if (!fits(room, &plan) || (pass == 1 && plan.key_bytes >= best->key_bytes))
                    continue;
                *best = plan;
                if (pass == 0)
                    least_ms = plan.cost_ms;
                is_found = true;
            }
    return is_found;
}

/* "12.10 GiB" */
struct plan_size {
    char text[24];
};

static struct plan_size size_of(uint64_t bytes)
{
    struct plan_size size;
    const double mib = (double)bytes / (1 << 20);
    snprintf(size.text, sizeof size.text, mib < 1024 ? "%.1f MiB" : "%.2f GiB",
             mib < 1024 ? mib : mib / 1024);
    return size;
}

static void explain(struct plan *plan)
{
    char tables[64] = "without tables";
    if (plan->witness.levels > 1 || plan->quotient.levels > 1)
        snprintf(tables, sizeof tables, "with tables (%u of %u levels, H %u of %u)",
                 plan->witness.levels, plan->witness.windows, plan->quotient.levels,
                 plan->quotient.windows);
    snprintf(plan->text, sizeof plan->text, "resident %s %s, evaluates on the device, workspace %s",
             size_of(plan->key_bytes).text, tables,
             size_of(workspace_bytes(&plan->workspace)).text);
}

static void explain_refusal(const struct prepared *prepared, const struct plan_room *room,
                            const struct plan_shapes *witness, const struct plan_shapes *quotient,
                            struct plan *plan)
{
    plan->witness = witness->shape[0];
    plan->quotient = quotient->shape[0];
    for (unsigned i = 0; i < SUMS_COUNT; i++)
        plan->is_resident[i] = true;
    lay_out(prepared, plan);
    const struct workspace most = workspace_max(room->workspace, &plan->workspace);
    const uint64_t held = room->workspace_memory ? workspace_bytes(room->workspace) : 0;
    snprintf(plan->text, sizeof plan->text,
             "the key needs %s of device memory and %s to work in; %s are free of %s: raise [GPU] "
             "VramLimit=, evict other keys or use a larger card",
             size_of(plan->key_bytes).text, size_of(workspace_bytes(&most)).text,
             size_of(arena_free_bytes(room->arena) + held).text, size_of(room->arena->bytes).text);
}

int plan_make(const struct prepared *prepared, const struct arena *arena,
              const struct workspace *workspace, void *workspace_memory, struct plan *ret)
{
    static _Thread_local struct plan_shapes witness, quotient;
    const struct plan_room room = {arena, workspace, workspace_memory};
    const struct prepared_shape *shape = &prepared->shape;
    *ret = (struct plan){
        .curve = prepared->curve->id,
        .variable_count = shape->variable_count,
        .public_count = shape->public_count,
        .domain_log2 = shape->domain_log2,
    };
    if (shape->domain_log2 > TRANSFORM_LOG2_MAX ||
        shape->domain_log2 + 1 > prepared->curve->two_adicity) {
        snprintf(ret->text, sizeof ret->text,
                 "a domain of 2^%u: this backend transforms up to 2^%d and %s up to 2^%u",
                 shape->domain_log2, (int)TRANSFORM_LOG2_MAX, prepared->curve->name,
                 prepared->curve->two_adicity - 1);
        return -EINVAL;
    }
    list_shapes(ret->curve, shape->variable_count, &witness);
    list_shapes(ret->curve, (uint32_t)1 << shape->domain_log2, &quotient);
    if (witness.count == 0 || quotient.count == 0) {
        snprintf(ret->text, sizeof ret->text, "%u wires are more than this backend can sum",
                 shape->variable_count);
        return -EINVAL;
    }
    if (choose_resident(prepared, &room, &witness, &quotient, ret)) {
        explain(ret);
        return 0;
    }
    explain_refusal(prepared, &room, &witness, &quotient, ret);
    return -ENOMEM;
}

int plan_chunk_shape(const struct msm_shape *whole, uint32_t count, struct msm_shape *ret_shape)
{
    return msm_shape_init(ret_shape, whole->curve, count, 1, whole->window_bits);
}
