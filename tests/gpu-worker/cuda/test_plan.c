/* gpu-worker/cuda/plan.h on the sizes of the stub's kernels: what is chosen with ever less memory.
 */
#include "gpu-worker/cuda/plan.h"

#include <errno.h>

#include "gpu-worker/cuda/driver.h"
#include "tests/gpu-worker/stub/stub.h"
#include "tests/test.h"

static struct arena arena;
static uint8_t *const memory = (uint8_t *)0x700000000000;
static const struct workspace no_workspace;

static void open_device(void)
{
    int count;
    stub_configure("");
    ASSERT_INT(driver_device_count(&count), 0);
    ASSERT_INT(driver_open(0), 0);
}

/* A circuit of 2^log2 rows with as many wires and four entries a row; no arrays. */
static struct prepared make_key(const struct curve *curve, unsigned log2)
{
    const size_t rows = (size_t)1 << log2;
    struct prepared prepared = {.curve = curve, .l_count = rows - 4, .h_count = rows};
    prepared.shape = (struct prepared_shape){
        .variable_count = (uint32_t)rows, .public_count = 3, .domain_log2 = log2};
    prepared.matrix_a =
        (struct matrix){.row_count = rows, .entry_count = 4 * rows, .dictionary_count = 100};
    prepared.matrix_b = prepared.matrix_a;
    return prepared;
}

static bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return a_bytes && b_bytes && a < b + b_bytes && b < a + a_bytes;
}

/* The parts of a workspace lie one behind the other and hold what they must. */
static void check_workspace(const struct workspace *workspace)
{
    struct workspace_layout layout;
    workspace_layout(workspace, &layout);
    const struct {
        uint64_t off, bytes;
    } parts[] = {
        {layout.witness_off, workspace->witness_bytes * workspace->witness_count},
        {layout.a_off, workspace->evaluation_bytes},
        {layout.b_off, workspace->evaluation_bytes},
        {layout.scalars_off, workspace->scalars_bytes * workspace->scalars_count},
        {layout.plan_off[0], workspace->plan_bytes[0]},
        {layout.plan_off[1], workspace->plan_bytes[1]},
        {layout.scratch_off[0], workspace->scratch_bytes[0]},
        {layout.scratch_off[1], workspace->scratch_bytes[1]},
        {layout.chunk_off[0], workspace->chunk_bytes},
        {layout.chunk_off[1], workspace->chunk_bytes},
        {layout.sums_off, workspace->sums_bytes * BACKEND_PARTITIONS_MAX},
    };
    const unsigned count = sizeof parts / sizeof parts[0];
    for (unsigned i = 0; i < count; i++) {
        ASSERT_INT(parts[i].off % ARENA_ALIGN, 0);
        ASSERT(parts[i].off + parts[i].bytes <= layout.bytes);
        for (unsigned j = 0; j < i; j++)
            ASSERT(!overlap(parts[i].off, parts[i].bytes, parts[j].off, parts[j].bytes));
    }
}

static void check_plan(const struct prepared *prepared, const struct plan *plan)
{
    const struct workspace *workspace = &plan->workspace;
    struct workspace_layout layout;
    workspace_layout(workspace, &layout);
    check_workspace(workspace);
    ASSERT(plan->key_bytes + plan->load_bytes + layout.bytes <= arena.bytes);
    ASSERT(plan->pass_count >= 1 && workspace->witness_count >= plan->pass_count &&
           workspace->scalars_count >= plan->pass_count);
    ASSERT((uint64_t)plan->witness.count * plan->witness_chunks >= plan->variable_count);
    ASSERT((uint64_t)plan->quotient.count * plan->quotient_chunks >= 1ull << plan->domain_log2);
    ASSERT(workspace->plan_bytes[0] >= msm_plan_bytes(&plan->witness));
    ASSERT(workspace->scratch_bytes[0] >= msm_sum_scratch_bytes(&plan->witness, true));
    for (enum sums_point i = SUMS_A; i < SUMS_COUNT; i++) {
        const struct msm_shape *shape = i == SUMS_H ? &plan->quotient : &plan->witness;
        const uint64_t bytes = shape->count * sums_point_bytes(prepared->curve, i);
        if (!plan->is_resident[i]) {
            ASSERT_INT(shape->levels, 1);
            ASSERT(plan->chunk_off[i] + bytes <= workspace->chunk_bytes);
        }
    }
    ASSERT(strstr(plan->text, plan_is_streamed(plan) ? "streamed" : "resident"));
}

/* Less memory never makes a plan cheaper; every kind of plan comes up on the way down. */
static void shrink(const struct curve *curve, unsigned log2)
{
    const struct prepared prepared = make_key(curve, log2);
    char last[PLAN_TEXT_BYTES] = "";
    double cost_ms = 0;
    unsigned tables = 0, resident = 0, streamed = 0, partly = 0, refused = 0;
    open_device();
    for (uint64_t bytes = (uint64_t)1 << (log2 + 14); bytes > 1 << 16; bytes -= bytes / 8) {
        struct plan plan;
        arena_init(&arena, memory, bytes);
        const int error = plan_make(&prepared, &arena, &no_workspace, NULL, &plan);
        if (strcmp(plan.text, last) != 0)
            printf("  %8llu KiB: %s\n", (unsigned long long)bytes >> 10, plan.text);
        memcpy(last, plan.text, sizeof last);
        if (error < 0) {
            ASSERT_INT(error, -ENOMEM);
            ASSERT(strstr(plan.text, "needs") && strstr(plan.text, "free"));
            refused++;
            break;
        }
        check_plan(&prepared, &plan);
        ASSERT(plan.cost_ms * 1.03 >= cost_ms);
        cost_ms = plan.cost_ms;
        tables += plan.witness.levels > 1;
        resident += !plan_is_streamed(&plan);
        streamed += plan_is_streamed(&plan);
        partly += plan_is_streamed(&plan) && (plan.is_resident[SUMS_A] || plan.is_resident[SUMS_H]);
    }
    ASSERT(tables > 0 && resident > tables && streamed > 0 && partly > 0 && refused > 0);
}

TEST(less_memory_means_fewer_tables_then_streams_then_a_refusal)
{
    shrink(&curve_bn254, 20);
    shrink(&curve_bls12_381, 24);
}

/* What one G1 sum of this shape costs, as plan.c reckons. */
static double additions(const struct msm_shape *shape)
{
    const double buckets = (double)shape->sets * shape->set_buckets;
    const double workers = 512.0 * shape->multiprocessors;
    return (double)shape->windows * shape->count + 4 * buckets +
           16 * (buckets < workers ? buckets : workers) + 2e4 * shape->windows;
}

/* Of a proof with small values H is a large part: its tables are not saved on. */
TEST(small_values_pay_no_more_for_missing_tables_than_large_ones)
{
    const struct curve *const curves[] = {&curve_bn254, &curve_bls12_381};
    open_device();
    for (unsigned log2 = 16; log2 <= 26; log2++)
        for (unsigned c = 0; c < 2; c++) {
            const struct prepared prepared = make_key(curves[c], log2);
            const uint32_t count = (uint32_t)1 << log2;
            struct msm_shape shape;
            struct plan plan;
            double least = 0;
            arena_init(&arena, memory, (uint64_t)1 << 42);
            ASSERT_INT(plan_make(&prepared, &arena, &no_workspace, NULL, &plan), 0);
            for (unsigned levels = 1;
                 msm_shape_init(&shape, curves[c]->id, count, levels, 0) == 0 && levels < 64;
                 levels++)
                if (least == 0 || additions(&shape) < least)
                    least = additions(&shape);
            /* Witness and H have as many scalars here: six sums of one at a third, one of H. */
            ASSERT(2 * additions(&plan.witness) + additions(&plan.quotient) <= 1.021 * 3 * least);
            ASSERT(6 * additions(&plan.witness) + additions(&plan.quotient) <= 1.021 * 7 * least);
        }
}

TEST(a_workspace_that_is_there_counts_as_room_and_is_kept)
{
    const struct prepared prepared = make_key(&curve_bn254, 16), small = make_key(&curve_bn254, 10);
    struct plan plan, next;
    struct workspace_layout layout;
    void *workspace, *key;
    open_device();
    arena_init(&arena, memory, (uint64_t)4 << 30);
    ASSERT_INT(plan_make(&prepared, &arena, &no_workspace, NULL, &plan), 0);
    workspace_layout(&plan.workspace, &layout);
    ASSERT_INT(arena_take_high(&arena, layout.bytes, &workspace), 0);
    ASSERT_INT(arena_take(&arena, plan.key_bytes, &key), 0);
    /* Of what is left a second key of this size has enough; the small one too. */
    ASSERT_INT(plan_make(&prepared, &arena, &plan.workspace, workspace, &next), 0);
    ASSERT_INT(plan_make(&small, &arena, &plan.workspace, workspace, &next), 0);
    const struct workspace most = workspace_max(&plan.workspace, &next.workspace);
    ASSERT(most.witness_bytes == plan.workspace.witness_bytes);
    check_workspace(&most);
}

TEST(a_domain_beyond_the_transforms_is_refused_in_words)
{
    const struct prepared prepared = make_key(&curve_bn254, 28);
    struct plan plan;
    open_device();
    arena_init(&arena, memory, (uint64_t)1 << 40);
    ASSERT_INT(plan_make(&prepared, &arena, &no_workspace, NULL, &plan), -EINVAL);
    ASSERT(strstr(plan.text, "2^28"));
}

TEST_MAIN(CASE(less_memory_means_fewer_tables_then_streams_then_a_refusal),
          CASE(small_values_pay_no_more_for_missing_tables_than_large_ones),
          CASE(a_workspace_that_is_there_counts_as_room_and_is_kept),
          CASE(a_domain_beyond_the_transforms_is_refused_in_words))
