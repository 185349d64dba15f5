/* Rows of matrices times witnesses on the device against the CPU library, bit for bit. */

#include <errno.h>

#include "gpu-worker/cuda/bench/load.h"
#include "gpu-worker/cuda/bench/load_matrix.h"
#include "gpu-worker/cuda/evaluate.h"
#include "tests/gpu-worker/cuda/device_test.h"

enum {
    ROWS_MAX = 400000, /* several tiles in every block, and the longest row in many blocks */
    VARIABLES = 100000,
    DICTIONARY = 300,
    ROWS_BEYOND = 1000, /* asked for past the matrix */
    POISON = 0xa5,
};

struct rig {
    const struct curve *curve;
    struct matrix matrix, device; /* the same, on the host and on the device */
    uint64_t *witness, *expected, *got;
    void *device_witness, *device_values, *scratch;
};

static void *to_device(const void *from, size_t bytes)
{
    void *r;

    ASSERT_CUDA(cudaMalloc(&r, bytes + 1));
    ASSERT_CUDA(cudaMemcpy(r, from, bytes, cudaMemcpyHostToDevice));
    return r;
}

static void open_rig(struct rig *rig, const struct curve *curve, enum load_rows kind,
                     size_t row_count, uint64_t seed)
{
    size_t bytes = CURVE_FR_BYTES * (row_count + ROWS_BEYOND);

    *rig = (struct rig){.curve = curve};
    ASSERT_INT(load_matrix(curve, kind, seed, row_count, VARIABLES, DICTIONARY, &rig->matrix), 0);
    rig->witness = malloc(CURVE_FR_BYTES * VARIABLES);
    rig->expected = malloc(bytes);
    rig->got = malloc(bytes);
    ASSERT(rig->witness && rig->expected && rig->got);
    load_scalars(curve, seed % 2 ? LOAD_D1 : LOAD_EDGES, seed, VARIABLES, rig->witness);
    rig->device = rig->matrix;
    rig->device.row_begin = to_device(rig->matrix.row_begin, 8 * (row_count + 1));
    rig->device.column = to_device(rig->matrix.column, 4 * rig->matrix.entry_count);
    rig->device.coefficient = to_device(rig->matrix.coefficient, 4 * rig->matrix.entry_count);
    rig->device.dictionary = to_device(rig->matrix.dictionary, CURVE_FR_BYTES * DICTIONARY);
    rig->device_witness = to_device(rig->witness, CURVE_FR_BYTES * VARIABLES);
    ASSERT_CUDA(cudaMalloc(&rig->device_values, bytes));
    ASSERT_CUDA(cudaMalloc(&rig->scratch, evaluate_scratch_bytes()));
    ASSERT_CUDA(cudaMemset(rig->scratch, POISON, evaluate_scratch_bytes()));
    ASSERT_CUDA(cudaMemset(rig->device_values, POISON, bytes));
    memset(rig->expected, POISON, bytes);
}

static void close_rig(struct rig *rig)
{
    const void *devices[] = {rig->device.row_begin,
                             rig->device.column,
                             rig->device.coefficient,
                             rig->device.dictionary,
                             rig->device_witness,
                             rig->device_values,
                             rig->scratch};

    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        ASSERT_CUDA(cudaFree((void *)devices[i]));
    load_matrix_free(&rig->matrix);
    free(rig->witness);
    free(rig->expected);
    free(rig->got);
}

static void evaluate_on_device(struct rig *rig, uint64_t begin, uint64_t end)
{
    ASSERT_INT(evaluate_rows(rig->curve->id, &rig->device, 0, rig->device_witness, VARIABLES, begin,
                             end, rig->device_values, rig->scratch, NULL),
               0);
}

/* All rows, also those that nothing was asked about: they must be as they were. */
static void expect_equal(struct rig *rig, const char *what)
{
    size_t rows = rig->matrix.row_count + ROWS_BEYOND;

    ASSERT_CUDA(cudaDeviceSynchronize());
    ASSERT_CUDA(
        cudaMemcpy(rig->got, rig->device_values, CURVE_FR_BYTES * rows, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < rows; i++) {
        if (memcmp(rig->got + 4 * i, rig->expected + 4 * i, CURVE_FR_BYTES) != 0)
            printf("  %s, %s: row %zu of %zu\n", rig->curve->name, what, i, rig->matrix.row_count);
        ASSERT(memcmp(rig->got + 4 * i, rig->expected + 4 * i, CURVE_FR_BYTES) == 0);
    }
}

static void expect_range_equals_cpu(const struct curve *curve, enum load_rows kind,
                                    size_t row_count, uint64_t begin, uint64_t end, uint64_t seed)
{
    struct rig rig;

    open_rig(&rig, curve, kind, row_count, seed);
    curve->evaluate(&rig.matrix, rig.witness, rig.expected, begin, end);
    evaluate_on_device(&rig, begin, end);
    expect_equal(&rig, load_rows_to_string(kind));
    close_rig(&rig);
}

static void expect_matrices_equal_cpu(const struct curve *curve)
{
    static const size_t row_counts[] = {1, 2, 31, 1024, 5000, 60001, ROWS_MAX};
    uint64_t seed = test_seed();

    for (size_t i = 0; i < sizeof row_counts / sizeof row_counts[0]; i++)
        for (int kind = 0; kind < LOAD_ROWS_COUNT; kind++) {
            size_t rows = row_counts[i];
            uint64_t begin = load_random(&seed) % rows;
            uint64_t end = begin + 1 + load_random(&seed) % (rows - begin);

            expect_range_equals_cpu(curve, kind, rows, 0, rows + ROWS_BEYOND, seed);
            expect_range_equals_cpu(curve, kind, rows, begin, end, seed + 1);
        }
}

TEST(bn254_rows_equal_the_cpus)
{
    expect_matrices_equal_cpu(&curve_bn254);
}

TEST(bls12_381_rows_equal_the_cpus)
{
    expect_matrices_equal_cpu(&curve_bls12_381);
}

TEST(a_matrix_may_pass_in_pieces)
{
    enum { ROWS = 50000, PIECES = 7 };
    uint64_t seed = test_seed();
    struct rig rig;

    open_rig(&rig, &curve_bn254, LOAD_ROWS_SKEWED, ROWS, seed);
    curve_bn254.evaluate(&rig.matrix, rig.witness, rig.expected, 0, ROWS);
    for (uint64_t piece = 0; piece < PIECES; piece++) {
        uint64_t begin = ROWS * piece / PIECES, end = ROWS * (piece + 1) / PIECES;
        uint64_t base = rig.matrix.row_begin[begin], count = rig.matrix.row_begin[end] - base;
        struct matrix part = rig.device;

        part.column = to_device(rig.matrix.column + base, 4 * count);
        part.coefficient = to_device(rig.matrix.coefficient + base, 4 * count);
        ASSERT_INT(evaluate_rows(CURVE_BN254, &part, base, rig.device_witness, VARIABLES, begin,
                                 end, rig.device_values, rig.scratch, NULL),
                   0);
        ASSERT_CUDA(cudaDeviceSynchronize());
        ASSERT_CUDA(cudaFree((void *)part.column));
        ASSERT_CUDA(cudaFree((void *)part.coefficient));
    }
    expect_equal(&rig, "pieces");
    close_rig(&rig);
}

/* Indices out of range, also such that would be far outside of any allocation. */
TEST(entries_out_of_range_count_as_zero)
{
    enum { ROWS = 20000 };
    static const uint32_t outside[] = {VARIABLES, 0x7fffffff, 0xffffffff};
    uint64_t seed = test_seed();
    struct rig rig;

    open_rig(&rig, &curve_bls12_381, LOAD_ROWS_SKEWED, ROWS, seed);
    uint32_t *column = (uint32_t *)rig.matrix.column;
    uint32_t *coefficient = (uint32_t *)rig.matrix.coefficient;
    uint32_t *wrong = malloc(4 * rig.matrix.entry_count);
    uint32_t *wrong_coefficient = malloc(4 * rig.matrix.entry_count);
    ASSERT(wrong && wrong_coefficient);
    memcpy(wrong, column, 4 * rig.matrix.entry_count);
    memcpy(wrong_coefficient, coefficient, 4 * rig.matrix.entry_count);
    /* For the CPU they point to a wire that is zero. */
    memset(rig.witness, 0, CURVE_FR_BYTES);
    ASSERT_CUDA(
        cudaMemcpy(rig.device_witness, rig.witness, CURVE_FR_BYTES, cudaMemcpyHostToDevice));
    for (size_t i = 0; i < rig.matrix.entry_count; i++) {
        unsigned random = (unsigned)(load_random(&seed) % 16);

        if (random < 3)
            wrong[i] = outside[random];
        else if (random < 6)
            wrong_coefficient[i] = random == 3 ? DICTIONARY : outside[random - 3];
        if (random < 6)
            column[i] = 0;
    }
    curve_bls12_381.evaluate(&rig.matrix, rig.witness, rig.expected, 0, ROWS);
    ASSERT_CUDA(cudaMemcpy((void *)rig.device.column, wrong, 4 * rig.matrix.entry_count,
                           cudaMemcpyHostToDevice));
    ASSERT_CUDA(cudaMemcpy((void *)rig.device.coefficient, wrong_coefficient,
                           4 * rig.matrix.entry_count, cudaMemcpyHostToDevice));
    evaluate_on_device(&rig, 0, ROWS);
    expect_equal(&rig, "out of range");
    free(wrong);
    free(wrong_coefficient);
    close_rig(&rig);
}

TEST(ranges_that_make_no_sense_are_refused)
{
    struct matrix matrix = {0};

    ASSERT_INT(evaluate_rows(CURVE_BN254, &matrix, 0, NULL, 0, 2, 1, NULL, NULL, NULL), -EINVAL);
    ASSERT_INT(evaluate_rows(CURVE_BN254, &matrix, 0, NULL, 0, 1, 1, NULL, NULL, NULL), 0);
}

DEVICE_TEST_MAIN(CASE(bn254_rows_equal_the_cpus), CASE(bls12_381_rows_equal_the_cpus),
                 CASE(a_matrix_may_pass_in_pieces), CASE(entries_out_of_range_count_as_zero),
                 CASE(ranges_that_make_no_sense_are_refused))
