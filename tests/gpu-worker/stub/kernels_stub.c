/* msm.h, transform.h and evaluate.h on the CPU. Shapes and sizes are those of the device's code, so
 * that plans are made of the same numbers; contents differ: a plan holds the scalars, a table a
 * mark, and level j of a base array the points of level 0 with every byte changed by j. What is
 * read is checked, so that memory that another operation wrote over is found. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "groth16/pool.h"
#include "gpu-worker/cuda/evaluate.h"
#include "gpu-worker/cuda/msm.h"
#include "gpu-worker/cuda/transform.h"
#include "tests/gpu-worker/stub/stub_internal.h"

enum {
    ALIGNMENT = 256,
    POOL_THREADS = 2,
    ENTRIES_MAX_LOG2 = 31,
};

static const uint64_t plan_mark = 0x6e616c7020627574, table_mark = 0x656c626174627573;

/* The executor's alone. */
static struct pool *pool_of_executor(void)
{
    static struct pool *pool;
    if (!pool && pool_create(POOL_THREADS, &pool) < 0)
        stub_misuse("no threads");
    return pool;
}

static size_t align(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Launching. */

struct kernel {
    struct msm_shape shape;
    bool is_g2;
    const struct curve *curve;
    unsigned log2, level;
    struct matrix matrix;
    uint64_t entry_base, row_begin, row_end;
    uint32_t variable_count;
    const void *in[3];
    void *out[3];
};

struct argument {
    const void *memory;
    uint64_t bytes;
};

/* Takes the arguments that the kernel reads and writes: their memory is in use until it ran. */
static int launch(enum stub_function function, const struct kernel *kernel,
                  int (*run)(void *arguments), void *result, const struct argument *arguments,
                  unsigned count, void *stream)
{
    struct stub_call call;
    const int error = stub_enter(function, &call);
    if (error != DRIVER_OK) {
        stub.last_error = error;
        stub_leave(error);
        return error == DRIVER_ERROR_MEMORY ? -ENOMEM : -EIO;
    }
    struct stub_operation operation = {.call = call, .run = run, .result = result};
    struct kernel *copy = malloc(sizeof *copy);
    if (!copy || count > STUB_RANGES_MAX)
        stub_misuse("no memory");
    *copy = *kernel;
    operation.arguments = copy;
    operation.range_count = count;
    for (unsigned i = 0; i < count; i++)
        operation.ranges[i] = (struct stub_range){arguments[i].memory, arguments[i].bytes};
    stub_enqueue(stream, &operation);
    return stub_leave(0);
}

#define CHECK_DEVICE(what, memory, bytes)                                                          \
    do {                                                                                           \
        const int check_error = stub_check_device(what, memory, bytes);                            \
        if (check_error != DRIVER_OK)                                                              \
            return check_error;                                                                    \
    } while (0)

#define CHECK_CONTENT(what, c)                                                                     \
    do {                                                                                           \
        if (!(c)) {                                                                                \
            fprintf(stderr, "stub: %s: not what was written there\n", what);                       \
            return DRIVER_ERROR_LAUNCH_FAILURE;                                                    \
        }                                                                                          \
    } while (0)

/* msm.h: shapes, as in msm_plan.cu. */

static unsigned scalar_bits(enum curve_id curve)
{
    return curve == CURVE_BN254 ? 254 : 255;
}

static double cost(const struct msm_shape *shape)
{
    const double buckets = (double)shape->sets * shape->set_buckets;
    const double workers = 512.0 * shape->multiprocessors;
    return (double)shape->windows * shape->count + 4 * buckets +
           16 * (buckets < workers ? buckets : workers) + 2e4 * shape->windows;
}

static void derive(struct msm_shape *shape, unsigned levels_max, unsigned window_bits)
{
    shape->window_bits = window_bits;
    shape->windows = (scalar_bits(shape->curve) + window_bits - 1) / window_bits;
    shape->levels = levels_max < shape->windows ? levels_max : shape->windows;
    shape->sets = (shape->windows + shape->levels - 1) / shape->levels;
    shape->levels = (shape->windows + shape->sets - 1) / shape->sets;
    shape->set_buckets = 1u << (window_bits - 1);
}

int msm_shape_init(struct msm_shape *ret_shape, enum curve_id curve, uint32_t count,
                   unsigned levels_max, unsigned window_bits)
{
    struct msm_shape best = {.count = 0};
    struct msm_shape shape = {
        .curve = curve, .count = count, .multiprocessors = STUB_MULTIPROCESSORS};
    if (!curve_by_id(curve) || count == 0 || levels_max == 0 ||
        (window_bits && (window_bits < MSM_WINDOW_BITS_MIN || window_bits > MSM_WINDOW_BITS_MAX)))
        return -EINVAL;
    if (stub.ordinal < 0)
        return -ENODEV;
    for (unsigned bits = MSM_WINDOW_BITS_MIN; bits <= MSM_WINDOW_BITS_MAX; bits++) {
        if (window_bits && bits != window_bits)
            continue;
        derive(&shape, levels_max, bits);
        if (best.count == 0 || cost(&shape) < cost(&best))
            best = shape;
    }
    if ((uint64_t)best.count * best.levels > (uint64_t)1 << ENTRIES_MAX_LOG2)
        return -EINVAL;
    *ret_shape = best;
    return 0;
}

static size_t point_bytes(const struct msm_shape *shape, bool is_g2)
{
    const struct curve *curve = curve_by_id(shape->curve);
    return is_g2 ? curve->g2_bytes : curve->g1_bytes;
}

size_t msm_plan_bytes(const struct msm_shape *shape)
{
    return ALIGNMENT + 2 * align(4 * (size_t)shape->count * shape->windows);
}

size_t msm_plan_scratch_bytes(const struct msm_shape *shape)
{
    return 2 * align(4 * (size_t)shape->count * shape->windows) + (1 << 16);
}

size_t msm_sum_scratch_bytes(const struct msm_shape *shape, bool is_g2)
{
    return align((size_t)shape->sets * shape->set_buckets * 2 * point_bytes(shape, is_g2));
}

size_t msm_bases_bytes(const struct msm_shape *shape, bool is_g2)
{
    return point_bytes(shape, is_g2) * shape->levels * (size_t)shape->count;
}

/* msm.h: a plan is its mark, the count and the scalars; all of its memory is written. */

static int run_plan(void *arguments)
{
    const struct kernel *k = arguments;
    uint64_t *plan = k->out[0];
    const size_t plan_bytes = msm_plan_bytes(&k->shape);
    const size_t scalar_bytes = (size_t)CURVE_FR_BYTES * k->shape.count;
    CHECK_DEVICE("scalars of msm_plan", k->in[0], scalar_bytes);
    CHECK_DEVICE("plan of msm_plan", plan, plan_bytes);
    CHECK_DEVICE("scratch of msm_plan", k->out[1], msm_plan_scratch_bytes(&k->shape));
    CHECK_CONTENT("a scalar of msm_plan, >= r",
                  k->curve->scalars_check(k->in[0], k->shape.count) == k->shape.count);
    memset(k->out[1], 0x5a, msm_plan_scratch_bytes(&k->shape));
    memset(plan, 0x5a, plan_bytes);
    plan[0] = plan_mark;
    plan[1] = k->shape.count;
    memcpy((char *)plan + ALIGNMENT, k->in[0], scalar_bytes);
    return DRIVER_OK;
}

int msm_plan(const struct msm_shape *shape, const void *scalars, void *ret_plan, void *scratch,
             void *stream)
{
    const struct kernel kernel = {.shape = *shape,
                                  .curve = curve_by_id(shape->curve),
                                  .in = {scalars},
                                  .out = {ret_plan, scratch}};
    const struct argument arguments[] = {{scalars, (uint64_t)CURVE_FR_BYTES * shape->count},
                                         {ret_plan, msm_plan_bytes(shape)},
                                         {scratch, msm_plan_scratch_bytes(shape)}};
    return launch(STUB_msm_plan, &kernel, run_plan, NULL, arguments, 3, stream);
}

static int run_sum(void *arguments)
{
    const struct kernel *k = arguments;
    const uint64_t *plan = k->in[0];
    const uint8_t *bases = k->in[1];
    const size_t level_bytes = point_bytes(&k->shape, k->is_g2) * k->shape.count;
    uint8_t result[CURVE_G2_BYTES_MAX];
    CHECK_DEVICE("plan of msm_sum", plan, msm_plan_bytes(&k->shape));
    CHECK_DEVICE("bases of msm_sum", bases, level_bytes * k->shape.levels);
    CHECK_DEVICE("scratch of msm_sum", k->out[0], msm_sum_scratch_bytes(&k->shape, k->is_g2));
    CHECK_DEVICE("result of msm_sum", k->out[1], point_bytes(&k->shape, k->is_g2));
    CHECK_CONTENT("the plan of msm_sum", plan[0] == plan_mark && plan[1] == k->shape.count);
    for (unsigned level = 1; level < k->shape.levels; level++)
        for (size_t i = 0; i < level_bytes; i++)
            CHECK_CONTENT("a table of msm_sum",
                          bases[level * level_bytes + i] == (uint8_t)(bases[i] ^ level));
    memset(k->out[0], 0x5a, msm_sum_scratch_bytes(&k->shape, k->is_g2));
    const int error = (k->is_g2 ? k->curve->msm_g2 : k->curve->msm_g1)(
        pool_of_executor(), bases, (const uint64_t *)((const char *)plan + ALIGNMENT),
        k->shape.count, result);
    if (error < 0)
        stub_misuse("no memory");
    memcpy(k->out[1], result, point_bytes(&k->shape, k->is_g2));
    return DRIVER_OK;
}

int msm_sum(const struct msm_shape *shape, bool is_g2, const void *plan, const void *bases,
            void *scratch, void *ret_point, void *stream)
{
    const struct kernel kernel = {.shape = *shape,
                                  .is_g2 = is_g2,
                                  .curve = curve_by_id(shape->curve),
                                  .in = {plan, bases},
                                  .out = {scratch, ret_point}};
    const struct argument arguments[] = {{plan, msm_plan_bytes(shape)},
                                         {bases, msm_bases_bytes(shape, is_g2)},
                                         {scratch, msm_sum_scratch_bytes(shape, is_g2)},
                                         {ret_point, point_bytes(shape, is_g2)}};
    return launch(STUB_msm_sum, &kernel, run_sum, ret_point, arguments, 4, stream);
}

static int run_fill_msm_table(void *arguments)
{
    const struct kernel *k = arguments;
    uint8_t *bases = k->out[0];
    const size_t level_bytes = point_bytes(&k->shape, k->is_g2) * k->shape.count;
    CHECK_DEVICE("bases of msm_fill_table", bases, level_bytes * k->shape.levels);
    CHECK_DEVICE("scratch of msm_fill_table", k->out[1],
                 msm_sum_scratch_bytes(&k->shape, k->is_g2));
    memset(k->out[1], 0x5a, msm_sum_scratch_bytes(&k->shape, k->is_g2));
    for (size_t i = 0; i < level_bytes; i++)
        bases[k->level * level_bytes + i] = (uint8_t)(bases[i] ^ k->level);
    return DRIVER_OK;
}

int msm_fill_table(const struct msm_shape *shape, bool is_g2, unsigned level, void *bases,
                   void *scratch, void *stream)
{
    if (level == 0 || level >= shape->levels)
        return -EINVAL;
    const struct kernel kernel = {.shape = *shape,
                                  .is_g2 = is_g2,
                                  .level = level,
                                  .curve = curve_by_id(shape->curve),
                                  .out = {bases, scratch}};
    const struct argument arguments[] = {{bases, msm_bases_bytes(shape, is_g2)},
                                         {scratch, msm_sum_scratch_bytes(shape, is_g2)}};
    return launch(STUB_msm_fill_table, &kernel, run_fill_msm_table, NULL, arguments, 2, stream);
}

/* transform.h: a table is its mark, curve and size. */

static bool is_possible(enum curve_id curve, unsigned log2)
{
    return log2 <= TRANSFORM_LOG2_MAX && log2 + 1 <= curve_by_id(curve)->two_adicity;
}

static int run_fill_table(void *arguments)
{
    const struct kernel *k = arguments;
    uint64_t *table = k->out[0];
    CHECK_DEVICE("table of transform_fill_table", table, transform_table_bytes(k->log2));
    memset(table, 0x5a, transform_table_bytes(k->log2));
    table[0] = table_mark;
    table[1] = k->curve->id;
    table[2] = k->log2;
    return DRIVER_OK;
}

int transform_fill_table(enum curve_id curve, unsigned log2_max, void *ret_table, void *stream)
{
    if (!is_possible(curve, log2_max))
        return -EINVAL;
    const struct kernel kernel = {
        .curve = curve_by_id(curve), .log2 = log2_max, .out = {ret_table}};
    const struct argument argument = {ret_table, transform_table_bytes(log2_max)};
    return launch(STUB_transform_fill_table, &kernel, run_fill_table, NULL, &argument, 1, stream);
}

static int run_quotient(void *arguments)
{
    const struct kernel *k = arguments;
    const uint64_t *table = k->in[0];
    const size_t bytes = (size_t)CURVE_FR_BYTES << k->log2;
    CHECK_DEVICE("table of transform_quotient", table, transform_table_bytes(k->log2));
    CHECK_DEVICE("a of transform_quotient", k->out[0], bytes);
    CHECK_DEVICE("b of transform_quotient", k->out[1], bytes);
    CHECK_DEVICE("scalars of transform_quotient", k->out[2], bytes);
    CHECK_CONTENT("the table of transform_quotient",
                  table[0] == table_mark && table[1] == k->curve->id && table[2] >= k->log2);
    uint64_t *scalars = malloc(bytes), *scratch = malloc(2 * bytes);
    if (!scalars || !scratch)
        stub_misuse("no memory");
    k->curve->quotient(pool_of_executor(), k->out[0], k->out[1], k->log2, scalars, scratch);
    memset(k->out[0], 0x5a, bytes);
    memset(k->out[1], 0x5a, bytes);
    memcpy(k->out[2], scalars, bytes);
    free(scalars);
    free(scratch);
    return DRIVER_OK;
}

int transform_quotient(enum curve_id curve, const void *table, unsigned log2, void *a, void *b,
                       void *ret_scalars, void *stream)
{
    if (!is_possible(curve, log2))
        return -EINVAL;
    const size_t bytes = (size_t)CURVE_FR_BYTES << log2;
    const struct kernel kernel = {
        .curve = curve_by_id(curve), .log2 = log2, .in = {table}, .out = {a, b, ret_scalars}};
    const struct argument arguments[] = {
        {table, transform_table_bytes(log2)}, {a, bytes}, {b, bytes}, {ret_scalars, bytes}};
    return launch(STUB_transform_quotient, &kernel, run_quotient, ret_scalars, arguments, 4,
                  stream);
}

/* evaluate.h */

/* Columns and coefficients of the rows, with those out of range replaced by a product with zero. */
static void evaluate_checked(const struct kernel *k, uint64_t begin, uint64_t end)
{
    const struct matrix *m = &k->matrix;
    const uint64_t base = m->row_begin[begin], count = m->row_begin[end] - base;
    uint32_t *columns = calloc(count + 1, sizeof *columns);
    uint32_t *coefficients = calloc(count + 1, sizeof *coefficients);
    uint64_t *dictionary = calloc(m->dictionary_count + 1, CURVE_FR_BYTES);
    uint64_t *rows = calloc(m->row_count + 1, sizeof *rows);
    if (!columns || !coefficients || !dictionary || !rows)
        stub_misuse("no memory");
    memcpy(dictionary, m->dictionary, m->dictionary_count * CURVE_FR_BYTES);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t at = base - k->entry_base + i;
        const bool is_inside =
            m->column[at] < k->variable_count && m->coefficient[at] < m->dictionary_count;
        columns[i] = is_inside ? m->column[at] : 0;
        coefficients[i] = is_inside ? m->coefficient[at] : (uint32_t)m->dictionary_count;
    }
    for (uint64_t row = begin; row <= end; row++)
        rows[row] = m->row_begin[row] - base;
    const struct matrix checked = {.row_count = m->row_count,
                                   .entry_count = count,
                                   .row_begin = rows,
                                   .column = columns,
                                   .coefficient = coefficients,
                                   .dictionary = dictionary,
                                   .dictionary_count = m->dictionary_count + 1};
    k->curve->evaluate(&checked, k->in[0], k->out[0], begin, end);
    free(columns);
    free(coefficients);
    free(dictionary);
    free(rows);
}

static int run_evaluate(void *arguments)
{
    const struct kernel *k = arguments;
    const struct matrix *m = &k->matrix;
    const uint64_t end = k->row_end < m->row_count ? k->row_end : m->row_count;
    uint8_t *values = k->out[0];
    CHECK_DEVICE("rows of evaluate_rows", m->row_begin, (m->row_count + 1) * sizeof(uint64_t));
    CHECK_DEVICE("dictionary of evaluate_rows", m->dictionary,
                 m->dictionary_count * CURVE_FR_BYTES);
    CHECK_DEVICE("witness of evaluate_rows", k->in[0],
                 (uint64_t)k->variable_count * CURVE_FR_BYTES);
    CHECK_DEVICE("values of evaluate_rows", values + k->row_begin * CURVE_FR_BYTES,
                 (k->row_end - k->row_begin) * CURVE_FR_BYTES);
    CHECK_DEVICE("scratch of evaluate_rows", k->out[1], evaluate_scratch_bytes());
    memset(k->out[1], 0x5a, evaluate_scratch_bytes());
    if (k->row_begin < end) {
        const uint64_t first = m->row_begin[k->row_begin], last = m->row_begin[end];
        CHECK_CONTENT("the rows of evaluate_rows",
                      k->entry_base <= first && first <= last && last <= m->entry_count);
        CHECK_DEVICE("columns of evaluate_rows", m->column + (first - k->entry_base),
                     (last - first) * sizeof(uint32_t));
        CHECK_DEVICE("coefficients of evaluate_rows", m->coefficient + (first - k->entry_base),
                     (last - first) * sizeof(uint32_t));
        evaluate_checked(k, k->row_begin, end);
    }
    const uint64_t zeros = k->row_begin > end ? k->row_begin : end;
    memset(values + zeros * CURVE_FR_BYTES, 0, (k->row_end - zeros) * CURVE_FR_BYTES);
    return DRIVER_OK;
}

int evaluate_rows(enum curve_id curve, const struct matrix *matrix, uint64_t entry_base,
                  const void *witness, uint32_t variable_count, uint64_t row_begin,
                  uint64_t row_end, void *ret_values, void *scratch, void *stream)
{
    if (!curve_by_id(curve) || row_begin > row_end)
        return -EINVAL;
    const struct kernel kernel = {.curve = curve_by_id(curve),
                                  .matrix = *matrix,
                                  .entry_base = entry_base,
                                  .variable_count = variable_count,
                                  .row_begin = row_begin,
                                  .row_end = row_end,
                                  .in = {witness},
                                  .out = {ret_values, scratch}};
    uint8_t *values = ret_values;
    const struct argument arguments[] = {
        {matrix->row_begin, (matrix->row_count + 1) * sizeof(uint64_t)},
        {matrix->dictionary, matrix->dictionary_count * CURVE_FR_BYTES},
        {matrix->column, 1},
        {matrix->coefficient, 1},
        {witness, (uint64_t)variable_count * CURVE_FR_BYTES},
        {values + row_begin * CURVE_FR_BYTES, (row_end - row_begin) * CURVE_FR_BYTES},
        {scratch, evaluate_scratch_bytes()}};
    return launch(STUB_evaluate_rows, &kernel, run_evaluate, NULL, arguments, 7, stream);
}
