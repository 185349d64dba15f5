/* Rows of a matrix times a witness (evaluate.h): the checks, and the way to the field. */

#include <errno.h>

#include "gpu-worker/cuda/evaluate.cuh"
#include "gpu-worker/cuda/evaluate.h"

enum : unsigned {
    ROUNDS = 4, /* of blocks on each multiprocessor, so that slow shares even out */
};

/* No more than the path can fill: what it is cannot be known before row_begin is read. */
static cudaError_t choose_blocks(const struct evaluate_path *path, unsigned *ret_blocks)
{
    uint64_t tiles = (path->rows + path->entry_count + EVALUATE_TILE - 1) / EVALUATE_TILE;
    int device, multiprocessors;
    cudaError_t error = cudaGetDevice(&device);

    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (error != cudaSuccess)
        return error;
    uint64_t blocks = (uint64_t)multiprocessors * EVALUATE_BLOCKS_EACH * ROUNDS;
    blocks = blocks < EVALUATE_BLOCKS_MAX ? blocks : EVALUATE_BLOCKS_MAX;
    *ret_blocks = (unsigned)(blocks < tiles ? blocks : tiles);
    return cudaSuccess;
}

static int to_errno(cudaError_t error)
{
    return error == cudaSuccess ? 0 : error == cudaErrorMemoryAllocation ? -ENOMEM : -EIO;
}

int evaluate_rows(enum curve_id curve, const struct matrix *matrix, uint64_t entry_base,
                  const void *witness, uint32_t variable_count, uint64_t row_begin,
                  uint64_t row_end, void *ret_values, void *scratch, void *stream)
{
    struct evaluate_task task = {};
    unsigned blocks;

    if (row_begin > row_end)
        return -EINVAL;
    if (row_begin == row_end)
        return 0;
    task.path = {matrix->row_begin, matrix->row_count, matrix->entry_count, row_begin,
                 row_end - row_begin};
    task.column = matrix->column;
    task.coefficient = matrix->coefficient;
    task.entry_base = entry_base;
    task.dictionary = (const uint32_t *)matrix->dictionary;
    task.dictionary_count = matrix->dictionary_count;
    task.witness = (const uint32_t *)witness;
    task.variable_count = variable_count;
    task.ret_values = (uint32_t *)ret_values;
    task.carry = (uint32_t *)scratch;
    task.carry_row = (uint64_t *)((char *)scratch + EVALUATE_BLOCKS_MAX * CURVE_FR_BYTES);
    cudaError_t error = choose_blocks(&task.path, &blocks);
    if (error == cudaSuccess)
        error = curve == CURVE_BN254
                    ? evaluate_launch<bn254_fr>(task, blocks, (cudaStream_t)stream)
                    : evaluate_launch<bls12_381_fr>(task, blocks, (cudaStream_t)stream);
    return to_errno(error);
}
