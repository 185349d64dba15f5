/* Transforms and the quotient by size, beside the best known open implementation on the same card.
 */

#include <string.h>

#include "gpu-worker/cuda/bench/bench.h"
#include "gpu-worker/cuda/bench/device.h"
#include "gpu-worker/cuda/bench/load.h"
#include "gpu-worker/cuda/transform.h"

/* ms: natural to bit-reversed order, and the inverse back; 2^16, 2^18, ... 2^26, 2^27. */
static const double anchor_down[] = {.0204, .0630, .2565, 1.044, 4.430, 20.9, 42.3};
static const double anchor_up[] = {.0223, .0686, .2689, 1.096, 4.653, 23.5, 44.3};

static int anchor_index(unsigned log2)
{
    if (log2 == 27)
        return 6;
    return log2 >= 16 && log2 <= 26 && log2 % 2 == 0 ? (int)(log2 - 16) / 2 : -1;
}

enum {
    NTT_REPEATS = 7,
};

struct run {
    enum curve_id curve;
    unsigned log2;
    void *table, *values[TRANSFORM_BATCH_MAX];
};

static int down(const struct run *run)
{
    return transform_down(run->curve, run->table, run->log2, false, run->values, 1, NULL);
}

static int up(const struct run *run)
{
    return transform_up(run->curve, run->table, run->log2, true, run->values, 1, NULL);
}

static int down_three(const struct run *run)
{
    return transform_down(run->curve, run->table, run->log2, false, run->values, 3, NULL);
}

static int quotient(const struct run *run)
{
    return transform_quotient(run->curve, run->table, run->log2, run->values[0], run->values[1],
                              run->values[2], NULL);
}

/* Median ms of a call, of calls back to back while they are short. */
static double time_call(const struct run *run, int (*call)(const struct run *run))
{
    double ms[NTT_REPEATS];
    cudaEvent_t begin, end;
    int calls = run->log2 < 20 ? 20 : 1;

    DEVICE_CHECK(cudaEventCreate(&begin));
    DEVICE_CHECK(cudaEventCreate(&end));
    for (int i = -1; i < NTT_REPEATS; i++) {
        DEVICE_CHECK(cudaEventRecord(begin, NULL));
        for (int j = 0; j < calls; j++)
            if (call(run) != 0)
                exit(1);
        DEVICE_CHECK(cudaEventRecord(end, NULL));
        DEVICE_CHECK(cudaDeviceSynchronize());
        if (i >= 0)
            ms[i] = device_elapsed_ms(begin, end) / calls;
    }
    DEVICE_CHECK(cudaEventDestroy(begin));
    DEVICE_CHECK(cudaEventDestroy(end));
    return device_median(ms, NTT_REPEATS);
}

static void print_beside(const char *what, double ms, double anchor)
{
    printf("  %s %9.4f", what, ms);
    if (anchor > 0)
        printf(" (%4.2f of %.4f)", ms / anchor, anchor);
}

int bench_ntt(const struct bench_options *options, const struct curve *curve)
{
    for (unsigned log2 = options->log2_min; log2 <= options->log2_max; log2 += options->log2_step) {
        struct run run = {.curve = curve->id, .log2 = log2};
        size_t bytes = (size_t)CURVE_FR_BYTES << log2;
        int at = anchor_index(log2);
        double a_down = at < 0 ? 0 : anchor_down[at], a_up = at < 0 ? 0 : anchor_up[at];

        run.table = device_alloc(transform_table_bytes(log2));
        if (transform_fill_table(curve->id, log2, run.table, NULL) != 0)
            return 1;
        for (int i = 0; i < TRANSFORM_BATCH_MAX; i++) {
            run.values[i] = device_alloc(bytes);
            /* Some value that is reduced in both fields and is not zero. */
            DEVICE_CHECK(cudaMemset(run.values[i], 0x15 + i, bytes));
        }
        printf("%-9s ntt 2^%-2u", curve->name, log2);
        print_beside("down", time_call(&run, down), a_down);
        print_beside("inverse up", time_call(&run, up), a_up);
        print_beside("three down", time_call(&run, down_three), 3 * a_down);
        print_beside("quotient", time_call(&run, quotient), 3 * (a_down + a_up));
        printf("\n");
        fflush(stdout);
        for (int i = 0; i < TRANSFORM_BATCH_MAX; i++)
            device_free(run.values[i]);
        device_free(run.table);
    }
    return 0;
}
