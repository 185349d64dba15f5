/* See plan.h. Every candidate is laid out in full and tried on a copy of the arena. */
#include "gpu-worker/cuda/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gpu-worker/cuda/transform.h"

enum {
    PLAN_LEVELS_MAX = 64, /* a 255-bit scalar in windows of MSM_WINDOW_BITS_MIN */
    PLAN_WITNESSES = 2,   /* one computes, one is uploaded */
    PLAN_CHUNK_MIN = 64,  /* scalars; no use in less */
};

/* More memory for less than this much speed is not worth it: other keys want to be there too. */
#define PLAN_COST_SLACK 1.02
/* What a link brings underneath a computation, bytes a ms: four fifths of a PCIe 5 x16. */
#define PLAN_LINK_BYTES_MS 44e6
/* A witness of small values costs a third of what the model says, and the link is no faster. */
#define PLAN_SMALL_VALUES 3
/* The short ends of the sums of one stream, with no other to fill them. */
#define PLAN_ONE_LANE 1.1

/* A shape with what it needs, asked for once. */
struct plan_sized {
    struct msm_shape shape;
    uint64_t plan_bytes, plan_scratch, sum_scratch[2]; /* G1, G2 */
};

struct plan_shapes {
    struct plan_sized sized[PLAN_LEVELS_MAX];
    unsigned count;
};

/* What the choice goes by. */
struct plan_input {
    const struct prepared *prepared;
    const struct arena *arena;
    const struct workspace *workspace;
    void *workspace_memory;
};

/* One candidate before it is laid out. */
struct plan_choice {
    const struct plan_sized *witness, *quotient;
    unsigned resident; /* bits by enum sums_point */
    unsigned pass_count, lanes;
};

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Layouts. */

static uint64_t take(uint64_t *off, uint64_t bytes)
{
    const uint64_t at = *off;
    *off += arena_align(bytes);
    return at;
}

static uint64_t point_bytes(const struct prepared *prepared, enum sums_point point)
{
    return sums_point_bytes(prepared->curve, point);
}

static void lay_out_key(const struct prepared *prepared, const struct plan_choice *choice,
                        struct plan *plan)
{
    const struct matrix *const matrices[] = {&prepared->matrix_a, &prepared->matrix_b};
    uint64_t off = 0;
    plan->load_bytes = 0;
    for (enum sums_point i = SUMS_A; i < SUMS_COUNT; i++) {
        const struct plan_sized *sized = i == SUMS_H ? choice->quotient : choice->witness;
        /* A resident array is whole, even where others pass by in chunks. */
        const uint64_t count =
            i == SUMS_H ? (uint64_t)1 << plan->domain_log2 : plan->variable_count;
        plan->is_resident[i] = choice->resident >> i & 1;
        plan->bases_off[i] = off;
        if (!plan->is_resident[i])
            continue;
        take(&off, count * sized->shape.levels * point_bytes(prepared, i));
        if (sized->shape.levels > 1)
            plan->load_bytes = larger(plan->load_bytes, sized->sum_scratch[i == SUMS_B2]);
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

/* What a stream needs to plan these scalars and to sum them. */
static void add_stream(struct workspace *workspace, unsigned stream, const struct plan_sized *sized,
                       bool has_g2)
{
    uint64_t scratch = larger(sized->plan_scratch, sized->sum_scratch[0]);
    if (has_g2)
        scratch = larger(scratch, sized->sum_scratch[1]);
    workspace->plan_bytes[stream] = larger(workspace->plan_bytes[stream], sized->plan_bytes);
    workspace->scratch_bytes[stream] = larger(workspace->scratch_bytes[stream], scratch);
}

static void lay_out_chunks(const struct prepared *prepared, struct plan *plan)
{
    uint64_t witness = 0, quotient = 0;
    for (enum sums_point i = SUMS_A; i < SUMS_COUNT; i++) {
        if (plan->is_resident[i])
            continue;
        if (i == SUMS_H)
            plan->chunk_off[i] =
                take(&quotient, (uint64_t)plan->quotient.count * point_bytes(prepared, i));
        else
            plan->chunk_off[i] =
                take(&witness, (uint64_t)plan->witness.count * point_bytes(prepared, i));
    }
    plan->workspace.chunk_bytes = larger(witness, quotient);
}

static void lay_out_workspace(const struct prepared *prepared, const struct plan_choice *choice,
                              struct plan *plan)
{
    const uint64_t domain = (uint64_t)1 << plan->domain_log2;
    plan->workspace = (struct workspace){
        .witness_bytes = (uint64_t)plan->variable_count * CURVE_FR_BYTES,
        .witness_count = larger(PLAN_WITNESSES, choice->pass_count),
        .evaluation_bytes = domain * CURVE_FR_BYTES,
        .scalars_bytes = domain * CURVE_FR_BYTES,
        .scalars_count = choice->pass_count,
        .sums_bytes =
            larger(plan->witness_chunks, plan->quotient_chunks) * sums_bytes(prepared->curve),
    };
    lay_out_chunks(prepared, plan);
    add_stream(&plan->workspace, 0, choice->witness, true);
    if (!plan_has_passes(plan)) {
        add_stream(&plan->workspace, 1, choice->quotient, false);
        return;
    }
    /* Units of work of a pass take its streams in turn. */
    add_stream(&plan->workspace, 0, choice->quotient, false);
    if (choice->lanes > 1) {
        add_stream(&plan->workspace, 1, choice->quotient, false);
        add_stream(&plan->workspace, 1, choice->witness, true);
    }
}

/* Costs. */

/* Nanoseconds of an addition in G1 on an H200, as measured; other cards scale all sides alike. */
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

/* Of one partition; the sums over the witness `share` times as long as with full-size values. */
static double compute_ms(const struct plan *plan, double share)
{
    /* A, B1 and L in G1; B2 in G2, where an addition is three times the work. */
    const double g1_sums = 6;
    return 1e-6 * addition_ns(plan->curve) *
           (share * g1_sums * plan->witness_chunks * additions(&plan->witness) +
            plan->quotient_chunks * additions(&plan->quotient));
}

static double link_ms(const struct prepared *prepared, const struct plan *plan)
{
    uint64_t bytes = plan->workspace.witness_bytes * plan->pass_count;
    for (enum sums_point i = SUMS_A; i < SUMS_COUNT; i++)
        if (!plan->is_resident[i])
            bytes += point_bytes(prepared, i) *
                     (i == SUMS_H ? (uint64_t)1 << plan->domain_log2 : plan->variable_count);
    return (double)bytes / plan->pass_count / PLAN_LINK_BYTES_MS;
}

/* The first chunk of a pass goes up under the last sums of the pass before: what these do not
 * cover is time that the card waits. */
static double stall_ms(const struct prepared *prepared, const struct plan *plan)
{
    uint64_t bytes = 0;
    for (enum sums_point i = SUMS_A; i < SUMS_H; i++)
        if (!plan->is_resident[i])
            bytes += point_bytes(prepared, i) * plan->witness.count;
    const double up = (double)bytes / PLAN_LINK_BYTES_MS;
    const double under =
        1e-6 * addition_ns(plan->curve) * additions(&plan->quotient) * plan->pass_count;
    return up > under ? (up - under) / plan->pass_count : 0;
}

static uint32_t chunks_of(uint64_t count, uint32_t chunk)
{
    return (uint32_t)((count + chunk - 1) / chunk);
}

static void lay_out(const struct prepared *prepared, const struct plan_choice *choice,
                    struct plan *plan)
{
    plan->witness = choice->witness->shape;
    plan->quotient = choice->quotient->shape;
    plan->witness_chunks = chunks_of(plan->variable_count, plan->witness.count);
    plan->quotient_chunks = chunks_of((uint64_t)1 << plan->domain_log2, plan->quotient.count);
    plan->pass_count = choice->pass_count;
    plan->lanes = choice->lanes;
    lay_out_key(prepared, choice, plan);
    lay_out_workspace(prepared, choice, plan);
    plan->small_ms = compute_ms(plan, 1.0 / PLAN_SMALL_VALUES);
    plan->cost_ms = compute_ms(plan, 1) * (choice->lanes > 1 ? 1 : PLAN_ONE_LANE);
    if (!plan_is_streamed(plan))
        return;
    const double link = link_ms(prepared, plan);
    const double hidden = plan->cost_ms / PLAN_SMALL_VALUES;
    if (link > hidden)
        plan->cost_ms += link - hidden;
    plan->cost_ms += stall_ms(prepared, plan);
}

static bool fits(const struct plan_input *input, const struct plan *plan)
{
    static _Thread_local struct arena trial; /* too large for a stack */
    const struct workspace most = workspace_max(input->workspace, &plan->workspace);
    void *memory;
    trial = *input->arena;
    arena_give(&trial, input->workspace_memory);
    return arena_take_high(&trial, workspace_bytes(&most), &memory) == 0 &&
           arena_take(&trial, plan->key_bytes, &memory) == 0 &&
           (plan->load_bytes == 0 || arena_take(&trial, plan->load_bytes, &memory) == 0);
}

/* The choice. */

static bool make_sized(enum curve_id curve, uint32_t count, unsigned levels, struct plan_sized *ret)
{
    if (msm_shape_init(&ret->shape, curve, count, levels, 0) < 0)
        return false;
    ret->plan_bytes = msm_plan_bytes(&ret->shape);
    ret->plan_scratch = msm_plan_scratch_bytes(&ret->shape);
    ret->sum_scratch[0] = msm_sum_scratch_bytes(&ret->shape, false);
    ret->sum_scratch[1] = msm_sum_scratch_bytes(&ret->shape, true);
    return true;
}

/* All scalars at once, with tables of 1, 2, ... levels. */
static void list_levels(enum curve_id curve, uint32_t count, struct plan_shapes *ret)
{
    ret->count = 0;
    for (unsigned levels = 1; levels <= PLAN_LEVELS_MAX; levels++) {
        struct plan_sized *next = &ret->sized[ret->count];
        if (!make_sized(curve, count, levels, next))
            break;
        if (ret->count == 0 || next->shape.levels != next[-1].shape.levels)
            ret->count++;
    }
}

/* Without tables, all scalars and ever smaller chunks of them. */
static void list_chunks(enum curve_id curve, uint32_t count, struct plan_shapes *ret)
{
    ret->count = 0;
    for (uint32_t chunks = 1; chunks <= PLAN_CHUNKS_MAX; chunks *= 2) {
        const uint32_t chunk = chunks_of(count, chunks);
        if (chunks > 1 && chunk < PLAN_CHUNK_MIN)
            break;
        if (make_sized(curve, chunk, 1, &ret->sized[ret->count]))
            ret->count++;
    }
}

/* Keeps the cheapest that fits. */
static void consider(const struct plan_input *input, const struct plan_choice *choice,
                     struct plan *trial, struct plan *best, bool *is_found)
{
    lay_out(input->prepared, choice, trial);
    if ((*is_found && trial->cost_ms >= best->cost_ms) || !fits(input, trial))
        return;
    *best = *trial;
    *is_found = true;
}

/* Keeps the smallest that costs about as much, whatever the witness. */
static void consider_smaller(const struct plan_input *input, const struct plan_choice *choice,
                             double cost_ms, double small_ms, struct plan *trial, struct plan *best)
{
    lay_out(input->prepared, choice, trial);
    if (trial->cost_ms <= cost_ms * PLAN_COST_SLACK &&
        trial->small_ms <= small_ms * PLAN_COST_SLACK && trial->key_bytes < best->key_bytes &&
        fits(input, trial))
        *best = *trial;
}

static bool choose_resident(const struct plan_input *input, struct plan *best)
{
    static _Thread_local struct plan_shapes witness, quotient;
    struct plan trial = *best;
    bool is_found = false;
    list_levels(trial.curve, trial.variable_count, &witness);
    list_levels(trial.curve, (uint32_t)1 << trial.domain_log2, &quotient);
    for (unsigned is_second = 0; is_second < 2; is_second++) {
        const double cost_ms = best->cost_ms, small_ms = best->small_ms;
        for (unsigned w = 0; w < witness.count; w++)
            for (unsigned q = 0; q < quotient.count; q++) {
                const struct plan_choice choice = {&witness.sized[w], &quotient.sized[q],
                                                   (1u << SUMS_COUNT) - 1, 1, 2};
                if (is_second)
                    consider_smaller(input, &choice, cost_ms, small_ms, &trial, best);
                else
                    consider(input, &choice, &trial, best, &is_found);
            }
        if (!is_found)
            return false;
    }
    return true;
}

/* Some arrays resident, others passing by, or all resident and worked on in parts. What is resident
 * saves the link its bytes, whichever array it is, so few sets of them are enough. */
static bool choose_passes(const struct plan_input *input, struct plan *best)
{
    enum {
        A = 1 << SUMS_A,
        B1 = 1 << SUMS_B1,
        B2 = 1 << SUMS_B2,
        L = 1 << SUMS_L,
        H = 1 << SUMS_H
    };
    static const unsigned residents[] = {A | B1 | B2 | L | H,
                                         H | B2 | A | B1,
                                         A | B1 | B2 | L,
                                         H | B2 | A,
                                         H | A | B1 | L,
                                         B2 | A | B1,
                                         H | B2,
                                         H | A | B1,
                                         B2 | A,
                                         A | B1 | L,
                                         B2,
                                         H | A,
                                         A | B1,
                                         A,
                                         H,
                                         0};
    static _Thread_local struct plan_shapes witness, quotient;
    struct plan trial = *best;
    bool is_found = false;
    list_chunks(trial.curve, trial.variable_count, &witness);
    list_chunks(trial.curve, (uint32_t)1 << trial.domain_log2, &quotient);
    for (unsigned r = 0; r < sizeof residents / sizeof residents[0]; r++)
        for (unsigned pass_count = 1; pass_count <= PLAN_PASS_MAX; pass_count *= 2)
            for (unsigned w = 0; w < witness.count; w++)
                for (unsigned q = 0; q < quotient.count; q++)
                    for (unsigned lanes = 1; lanes <= 2; lanes++) {
                        const struct plan_choice choice = {&witness.sized[w], &quotient.sized[q],
                                                           residents[r], pass_count, lanes};
                        consider(input, &choice, &trial, best, &is_found);
                    }
    return is_found;
}

/* In words. */

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

static void explain(const struct prepared *prepared, struct plan *plan)
{
    static const char *const names[] = {"A", "B1", "B2", "L", "H"};
    char tables[96] = "without tables", streamed[32] = "", parts[48] = "";
    if (plan->witness.levels > 1 || plan->quotient.levels > 1)
        snprintf(tables, sizeof tables, "with tables (%u of %u levels, H %u of %u)",
                 plan->witness.levels, plan->witness.windows, plan->quotient.levels,
                 plan->quotient.windows);
    for (enum sums_point i = SUMS_A; i < SUMS_COUNT; i++)
        if (!plan->is_resident[i])
            snprintf(streamed + strlen(streamed), sizeof streamed - strlen(streamed), " %s",
                     names[i]);
    if (plan_has_passes(plan))
        snprintf(parts, sizeof parts, " in %u and %u parts", plan->witness_chunks,
                 plan->quotient_chunks);
    if (!plan_is_streamed(plan))
        snprintf(plan->text, sizeof plan->text,
                 "resident %s %s%s%s, evaluates on the device, workspace %s",
                 size_of(plan->key_bytes).text, tables, parts[0] ? ", worked on" : "", parts,
                 size_of(workspace_bytes(&plan->workspace)).text);
    else
        snprintf(plan->text, sizeof plan->text,
                 "streamed%s%s for up to %u partitions a pass (link %u ms each), the rest resident "
                 "%s without tables, evaluates on the device, workspace %s",
                 streamed, parts, plan->pass_count, (unsigned)link_ms(prepared, plan),
                 size_of(plan->key_bytes).text, size_of(workspace_bytes(&plan->workspace)).text);
}

/* Of the smallest that could be: everything streamed in the smallest chunks. */
static void explain_refusal(const struct plan_input *input, struct plan *plan)
{
    static _Thread_local struct plan_shapes witness, quotient;
    list_chunks(plan->curve, plan->variable_count, &witness);
    list_chunks(plan->curve, (uint32_t)1 << plan->domain_log2, &quotient);
    if (witness.count == 0 || quotient.count == 0) {
        snprintf(plan->text, sizeof plan->text, "%u wires are more than this backend can sum",
                 plan->variable_count);
        return;
    }
    const struct plan_choice choice = {&witness.sized[witness.count - 1],
                                       &quotient.sized[quotient.count - 1], 0, 1, 1};
    lay_out(input->prepared, &choice, plan);
    const struct workspace most = workspace_max(input->workspace, &plan->workspace);
    uint64_t free_bytes = arena_free_bytes(input->arena);
    for (unsigned i = 0; i < input->arena->count; i++)
        if (input->arena->memory + input->arena->ranges[i].off == input->workspace_memory)
            free_bytes += input->arena->ranges[i].bytes;
    snprintf(plan->text, sizeof plan->text,
             "the key needs at least %s of device memory and %s to work in; %s are free of %s: "
             "raise [GPU] VramLimit=, evict other keys or use a larger card",
             size_of(plan->key_bytes).text, size_of(workspace_bytes(&most)).text,
             size_of(free_bytes).text, size_of(input->arena->bytes).text);
}

static void begin(const struct prepared *prepared, struct plan *ret)
{
    *ret = (struct plan){
        .curve = prepared->curve->id,
        .variable_count = prepared->shape.variable_count,
        .public_count = prepared->shape.public_count,
        .domain_log2 = prepared->shape.domain_log2,
    };
}

int plan_make_passes(const struct prepared *prepared, const struct plan_passes *passes,
                     struct plan *ret)
{
    const struct prepared_shape *shape = &prepared->shape;
    const uint32_t domain = (uint32_t)1 << shape->domain_log2;
    struct plan_sized witness, quotient;
    if (!make_sized(prepared->curve->id, chunks_of(shape->variable_count, passes->witness_chunks),
                    1, &witness) ||
        !make_sized(prepared->curve->id, chunks_of(domain, passes->quotient_chunks), 1, &quotient))
        return -EINVAL;
    const struct plan_choice choice = {&witness, &quotient, passes->resident, passes->pass_count,
                                       passes->lanes};
    begin(prepared, ret);
    lay_out(prepared, &choice, ret);
    explain(prepared, ret);
    return 0;
}

int plan_make(const struct prepared *prepared, const struct arena *arena,
              const struct workspace *workspace, void *workspace_memory, struct plan *ret)
{
    const struct plan_input input = {prepared, arena, workspace, workspace_memory};
    const struct prepared_shape *shape = &prepared->shape;
    begin(prepared, ret);
    if (shape->domain_log2 > TRANSFORM_LOG2_MAX ||
        shape->domain_log2 + 1 > prepared->curve->two_adicity) {
        snprintf(ret->text, sizeof ret->text,
                 "a domain of 2^%u: this backend transforms up to 2^%d and %s up to 2^%u",
                 shape->domain_log2, (int)TRANSFORM_LOG2_MAX, prepared->curve->name,
                 prepared->curve->two_adicity - 1);
        return -EINVAL;
    }
    if (choose_resident(&input, ret) || choose_passes(&input, ret)) {
        explain(prepared, ret);
        return 0;
    }
    explain_refusal(&input, ret);
    return -ENOMEM;
}

int plan_chunk_shape(const struct msm_shape *whole, uint32_t count, struct msm_shape *ret_shape)
{
    if (count == whole->count) {
        *ret_shape = *whole;
        return 0;
    }
    return msm_shape_init(ret_shape, whole->curve, count, 1, whole->window_bits);
}
