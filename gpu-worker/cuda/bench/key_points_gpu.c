/* Points for make-key on the GPU. Pieces take turns on two lanes: while the device computes one,
 * the pool copies the results of the one before to where they belong (pinned memory in between:
 * the destination is a mapped file) and the scalars of the next one to the device.
 *
 * The tables of 16-bit windows come from the same kernel with tables of 8-bit windows, which the
 * CPU makes. */
#include <errno.h>
#include <string.h>

#include "bench/fixed_base.h"
#include "bench/key_points.h"
#include "gpu-worker/cuda/bench/device.h"
#include "gpu-worker/cuda/bench/fixed_base_device.h"
#include "gpu-worker/cuda/bench/key_points_gpu.h"
#include "groth16/pool.h"

enum {
    PIECE_POINTS = 1 << 20,
    LANE_COUNT = 2,
    SMALL_WIDTH = 8,
    WIDTH = 16,
    SCALAR_BITS = 256,
    COPY_GRAIN = 1 << 20,
};

struct lane {
    cudaStream_t stream;
    void *host_scalars, *host_points; /* pinned */
    void *scalars, *scratch, *points;
    size_t count; /* points on their way; 0: free */
    uint8_t *destination;
};

struct maker {
    const struct curve *curve;
    struct pool *pool;
    void *tables[2]; /* G1, G2 */
    struct lane lanes[LANE_COUNT];
};

static size_t point_bytes(const struct maker *maker, bool is_g2)
{
    return is_g2 ? maker->curve->g2_bytes : maker->curve->g1_bytes;
}

static int launch(const struct maker *maker, bool is_g2, const void *table, unsigned width,
                  struct lane *lane)
{
    const uint32_t count = (uint32_t)lane->count;

    if (maker->curve->id == CURVE_BN254)
        return (is_g2 ? fixed_base_bn254_g2 : fixed_base_bn254_g1)(
            table, width, lane->scalars, count, lane->scratch, lane->points, lane->stream);
    return (is_g2 ? fixed_base_bls12_381_g2 : fixed_base_bls12_381_g1)(
        table, width, lane->scalars, count, lane->scratch, lane->points, lane->stream);
}

static void open_lane(const struct maker *maker, struct lane *lane)
{
    const size_t bytes = PIECE_POINTS * point_bytes(maker, true);

    DEVICE_CHECK(cudaStreamCreateWithFlags(&lane->stream, cudaStreamNonBlocking));
    DEVICE_CHECK(cudaMallocHost(&lane->host_scalars, PIECE_POINTS * sizeof(struct scalar)));
    DEVICE_CHECK(cudaMallocHost(&lane->host_points, bytes));
    lane->scalars = device_alloc(PIECE_POINTS * sizeof(struct scalar));
    lane->scratch = device_alloc(2 * bytes);
    lane->points = device_alloc(bytes);
}

/* Errors here and in gpu_destroy only repeat one that was reported. */
static void close_lane(struct lane *lane)
{
    cudaStreamDestroy(lane->stream);
    cudaFreeHost(lane->host_scalars);
    cudaFreeHost(lane->host_points);
    cudaFree(lane->scalars);
    cudaFree(lane->scratch);
    cudaFree(lane->points);
}

/* The scalars whose multiples are a table: digit 2^(width w), digit = 1, 2, ..., for each window.
 */
static struct scalar *table_scalars(unsigned width, size_t *ret_count)
{
    const size_t per_window = ((size_t)1 << width) - 1, count = SCALAR_BITS / width * per_window;
    struct scalar *scalars = calloc(count, sizeof scalars[0]);

    for (size_t i = 0; scalars && i < count; i++) {
        size_t bit = i / per_window * width;

        scalars[i].l[bit / 64] = (i % per_window + 1) << (bit % 64);
    }
    *ret_count = count;
    return scalars;
}

/* On the CPU, to device memory. */
static void *make_small_table(const struct maker *maker, bool is_g2)
{
    struct fixed_base *base = NULL;
    size_t count, bytes;
    struct scalar *scalars = table_scalars(SMALL_WIDTH, &count);
    void *points = malloc(bytes = count * point_bytes(maker, is_g2)), *table = NULL;

    if (scalars && points &&
        fixed_base_create(maker->curve, is_g2, count, maker->pool, &base) == 0) {
        fixed_base_mul(base, maker->pool, scalars[0].l, count, points);
        table = device_alloc(bytes);
        DEVICE_CHECK(cudaMemcpy(table, points, bytes, cudaMemcpyHostToDevice));
    }
    fixed_base_free(base);
    free(scalars);
    free(points);
    return table;
}

/* NULL: host memory is short. */
static void *make_table(struct maker *maker, bool is_g2)
{
    struct lane *lane = &maker->lanes[0];
    const size_t bytes = point_bytes(maker, is_g2);
    size_t count;
    struct scalar *scalars = table_scalars(WIDTH, &count);
    void *small = make_small_table(maker, is_g2), *table = NULL;

    if (scalars && small) {
        table = device_alloc(count * bytes);
        for (size_t done = 0; done < count; done += lane->count) {
            lane->count = count - done < PIECE_POINTS ? count - done : PIECE_POINTS;
            DEVICE_CHECK(cudaMemcpy(lane->scalars, scalars + done, lane->count * sizeof scalars[0],
                                    cudaMemcpyHostToDevice));
            if (launch(maker, is_g2, small, SMALL_WIDTH, lane) != 0)
                DEVICE_CHECK(cudaErrorLaunchFailure);
            DEVICE_CHECK(cudaMemcpyAsync((char *)table + done * bytes, lane->points,
                                         lane->count * bytes, cudaMemcpyDeviceToDevice,
                                         lane->stream));
            DEVICE_CHECK(cudaStreamSynchronize(lane->stream));
        }
        lane->count = 0;
    }
    if (small)
        device_free(small);
    free(scalars);
    return table;
}

static void gpu_destroy(void *context)
{
    struct maker *maker = context;

    if (!maker)
        return;
    for (int i = 0; i < LANE_COUNT; i++)
        close_lane(&maker->lanes[i]);
    for (int i = 0; i < 2; i++)
        cudaFree(maker->tables[i]);
    free(maker);
}

/* A device that works and has the room: what could go wrong afterwards is the machine's fault. */
static int check_device(const struct curve *curve, struct reason *reason)
{
    /* The lanes, and tables of 2^20 points in both groups. */
    const size_t need = LANE_COUNT * PIECE_POINTS * (sizeof(struct scalar) + 3 * curve->g2_bytes) +
                        PIECE_POINTS * (curve->g1_bytes + curve->g2_bytes) + (64 << 20);
    size_t unused, total;
    cudaError_t error = cudaMemGetInfo(&unused, &total);

    if (error != cudaSuccess)
        return reason_set(reason, -ENODEV,
                          "no GPU can be used (%s): see nvidia-smi, or leave --gpu out",
                          cudaGetErrorString(error));
    if (unused < need)
        return reason_set(reason, -ENOMEM,
                          "the GPU has %zu MiB free and %zu MiB are needed: end what else uses "
                          "it, or leave --gpu out",
                          unused >> 20, need >> 20);
    return 0;
}

static int gpu_create(const struct curve *curve, size_t g1_count, size_t g2_count,
                      struct pool *pool, void **ret, struct reason *reason)
{
    struct maker *maker;
    int error = check_device(curve, reason);

    (void)g1_count;
    (void)g2_count;
    if (error)
        return error;
    maker = calloc(1, sizeof *maker);
    if (!maker)
        return reason_set(reason, -ENOMEM, "no memory for the tables of the generators");
    maker->curve = curve;
    maker->pool = pool;
    for (int i = 0; i < LANE_COUNT; i++)
        open_lane(maker, &maker->lanes[i]);
    maker->tables[0] = make_table(maker, false);
    maker->tables[1] = make_table(maker, true);
    if (!maker->tables[0] || !maker->tables[1]) {
        gpu_destroy(maker);
        return reason_set(reason, -ENOMEM, "no memory for the tables of the generators");
    }
    *ret = maker;
    return 0;
}

struct copying {
    uint8_t *to;
    const uint8_t *from;
};

static void copy_range(void *context, size_t begin, size_t end)
{
    const struct copying *copying = context;

    memcpy(copying->to + begin, copying->from + begin, end - begin);
}

static void copy(struct pool *pool, void *to, const void *from, size_t bytes)
{
    struct copying copying = {to, from};

    pool_run_range(pool, bytes, COPY_GRAIN, copy_range, &copying);
}

static cudaError_t begin_piece(struct maker *maker, struct lane *lane, bool is_g2,
                               const struct scalar *scalars)
{
    const size_t bytes = lane->count * sizeof scalars[0];
    cudaError_t error;

    copy(maker->pool, lane->host_scalars, scalars, bytes);
    error = cudaMemcpyAsync(lane->scalars, lane->host_scalars, bytes, cudaMemcpyHostToDevice,
                            lane->stream);
    if (error == cudaSuccess && launch(maker, is_g2, maker->tables[is_g2], WIDTH, lane) != 0)
        error = cudaErrorLaunchFailure;
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(lane->host_points, lane->points,
                                lane->count * point_bytes(maker, is_g2), cudaMemcpyDeviceToHost,
                                lane->stream);
    return error;
}

static cudaError_t end_piece(struct maker *maker, struct lane *lane, bool is_g2)
{
    cudaError_t error = cudaStreamSynchronize(lane->stream);

    if (error == cudaSuccess)
        copy(maker->pool, lane->destination, lane->host_points,
             lane->count * point_bytes(maker, is_g2));
    lane->count = 0;
    return error;
}

static int gpu_multiply(void *context, bool is_g2, const struct scalar *scalars, size_t count,
                        void *ret_points, struct reason *reason)
{
    struct maker *maker = context;
    cudaError_t error = cudaSuccess;
    unsigned turn = 0;

    for (size_t done = 0; done < count && error == cudaSuccess; turn++) {
        struct lane *lane = &maker->lanes[turn % LANE_COUNT];

        if (lane->count > 0)
            error = end_piece(maker, lane, is_g2);
        lane->count = count - done < PIECE_POINTS ? count - done : PIECE_POINTS;
        lane->destination = (uint8_t *)ret_points + done * point_bytes(maker, is_g2);
        if (error == cudaSuccess)
            error = begin_piece(maker, lane, is_g2, scalars + done);
        done += lane->count;
    }
    for (unsigned i = 0; i < LANE_COUNT && error == cudaSuccess; i++, turn++)
        if (maker->lanes[turn % LANE_COUNT].count > 0)
            error = end_piece(maker, &maker->lanes[turn % LANE_COUNT], is_g2);
    return error == cudaSuccess ? 0
                                : reason_set(reason, -EIO,
                                             "the GPU failed (%s): see dmesg for the driver's "
                                             "word, and try again",
                                             cudaGetErrorString(error));
}

const struct key_points_maker key_points_gpu = {"GPU", gpu_create, gpu_destroy, gpu_multiply};
