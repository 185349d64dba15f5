/* Rows of a matrix times a witness by size and shape, beside the bytes that must move. */

#include <string.h>

#include "gpu-worker/cuda/bench/bench.h"
#include "gpu-worker/cuda/bench/device.h"
#include "gpu-worker/cuda/bench/load.h"
#include "gpu-worker/cuda/bench/load_matrix.h"
#include "gpu-worker/cuda/evaluate.h"

enum {
    DICTIONARY = 1000,
    REPEATS = 7,
};

/* Of an H200: bytes a second of a copy, read and written, and 32-byte values a second from random
 * places far beyond the cache. */
static const double copy_rate = 4.0e12, gather_rate = 24.5e9;

static void *to_device(const void *from, size_t bytes)
{
    void *r = device_alloc(bytes);

    DEVICE_CHECK(cudaMemcpy(r, from, bytes, cudaMemcpyHostToDevice));
    return r;
}

/* Median ms of a call, of calls back to back while they are short. */
static double time_rows(enum curve_id curve, const struct matrix *matrix, const void *witness,
                        uint32_t variables, void *values, void *scratch)
{
    double ms[REPEATS];
    cudaEvent_t begin, end;
    int calls = matrix->row_count < 1u << 20 ? 20 : 1;

    DEVICE_CHECK(cudaEventCreate(&begin));
    DEVICE_CHECK(cudaEventCreate(&end));
    for (int i = -1; i < REPEATS; i++) {
        DEVICE_CHECK(cudaEventRecord(begin, NULL));
        for (int j = 0; j < calls; j++)
            if (evaluate_rows(curve, matrix, 0, witness, variables, 0, matrix->row_count, values,
                              scratch, NULL) != 0)
                exit(1);
        DEVICE_CHECK(cudaEventRecord(end, NULL));
        DEVICE_CHECK(cudaDeviceSynchronize());
        if (i >= 0)
            ms[i] = device_elapsed_ms(begin, end) / calls;
    }
    DEVICE_CHECK(cudaEventDestroy(begin));
    DEVICE_CHECK(cudaEventDestroy(end));
    return device_median(ms, REPEATS);
}

/* The last rows and the longest one, against the CPU library. */
static bool is_right(const struct curve *curve, const struct matrix *matrix,
                     const uint64_t *witness, const void *device_values)
{
    size_t rows = matrix->row_count, from = rows - (rows < 4096 ? rows : 4096);
    size_t ranges[3][2] = {{from, rows}, {rows / 2, rows / 2 + 1}, {rows / 3, rows / 3 + 1}};
    uint64_t *expected = malloc(CURVE_FR_BYTES * rows), *got = malloc(CURVE_FR_BYTES * rows);
    bool is_equal = true;

    if (!expected || !got)
        exit(1);
    DEVICE_CHECK(cudaMemcpy(got, device_values, CURVE_FR_BYTES * rows, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 3; i++) {
        size_t begin = ranges[i][0], end = ranges[i][1];

        curve->evaluate(matrix, witness, expected, begin, end);
        is_equal &=
            memcmp(got + 4 * begin, expected + 4 * begin, CURVE_FR_BYTES * (end - begin)) == 0;
    }
    free(expected);
    free(got);
    return is_equal;
}

static int bench_shape(const struct curve *curve, enum load_rows kind, unsigned log2,
                       const uint64_t *witness, const void *device_witness, void *scratch)
{
    size_t rows = (size_t)1 << log2;
    struct matrix matrix, device;

    if (load_matrix(curve, kind, log2, rows, 1u << log2, DICTIONARY, &matrix) != 0)
        exit(1);
    device = matrix;
    device.row_begin = to_device(matrix.row_begin, 8 * (rows + 1));
    device.column = to_device(matrix.column, 4 * matrix.entry_count);
    device.coefficient = to_device(matrix.coefficient, 4 * matrix.entry_count);
    device.dictionary = to_device(matrix.dictionary, CURVE_FR_BYTES * DICTIONARY);
    void *values = device_alloc(CURVE_FR_BYTES * rows);
    double ms = time_rows(curve->id, &device, device_witness, 1u << log2, values, scratch);
    double entries = (double)matrix.entry_count;
    double bytes = entries * 8 + (double)rows * (8 + 2 * CURVE_FR_BYTES);
    bool right = is_right(curve, &matrix, witness, values);

    printf("%-9s evaluate 2^%-2u %-8s %9.4f ms  %5.2f G entries/s  each byte once %7.4f ms, every "
           "value gathered afar %7.4f ms%s\n",
           curve->name, log2, load_rows_to_string(kind), ms, entries / ms / 1e6,
           bytes / copy_rate * 1e3,
           ((bytes - (double)rows * CURVE_FR_BYTES) / copy_rate + entries / gather_rate) * 1e3,
           right ? "" : "  WRONG");
    fflush(stdout);
    device_free(values);
    device_free((void *)device.row_begin);
    device_free((void *)device.column);
    device_free((void *)device.coefficient);
    device_free((void *)device.dictionary);
    load_matrix_free(&matrix);
    return right ? 0 : 1;
}

int bench_evaluate(const struct bench_options *options, const struct curve *curve)
{
    void *scratch = device_alloc(evaluate_scratch_bytes());
    int wrong = 0;

    for (unsigned log2 = options->log2_min; log2 <= options->log2_max; log2 += options->log2_step) {
        size_t bytes = (size_t)CURVE_FR_BYTES << log2;
        uint64_t *witness = malloc(bytes);

        if (!witness)
            exit(1);
        load_scalars(curve, LOAD_D1, log2, (size_t)1 << log2, witness);
        void *device_witness = to_device(witness, bytes);
        for (int kind = 0; kind < LOAD_ROWS_COUNT; kind++)
            wrong |= bench_shape(curve, kind, log2, witness, device_witness, scratch);
        device_free(device_witness);
        free(witness);
    }
    device_free(scratch);
    return wrong;
}
