/* Rows of a matrix times a witness over one scalar field (evaluate.h).
 *
 *   path ──► a share per block ──► tiles ──► steps per thread ──► rows; carries ──► add_carries
 *
 * Threads first make a tile's terms, one product an entry, whatever rows they are of: the loads of
 * a warp are neighbours and all lanes multiply. Then each walks its few steps of the path; what a
 * row has before a thread's steps comes by a scan over the threads, from the tile before, and, at
 * the ends of shares, by a second kernel. */
#pragma once

#include <cuda_runtime.h>

#include "gpu-worker/cuda/evaluate_path.cuh"
#include "gpu-worker/cuda/field.cuh"
#include "gpu-worker/cuda/tile.cuh"

enum : unsigned {
    EVALUATE_THREADS = 128,
    EVALUATE_WARPS = EVALUATE_THREADS / 32,
    EVALUATE_STEPS = 8, /* of a thread in a tile */
    EVALUATE_TILE = EVALUATE_THREADS * EVALUATE_STEPS,
    EVALUATE_BLOCKS_EACH = 5, /* on a multiprocessor at once: shared memory */
};

static constexpr uint64_t EVALUATE_NO_ROW = ~(uint64_t)0;

struct evaluate_task {
    struct evaluate_path path;
    const uint32_t *column, *coefficient; /* from entry_base on */
    uint64_t entry_base;
    const uint32_t *dictionary, *witness;
    uint64_t dictionary_count;
    uint32_t variable_count;
    uint32_t *ret_values; /* of row 0 of the matrix */
    uint32_t *carry;      /* a block: the sum of the row that it left open, ... */
    uint64_t *carry_row;  /* ... and which that is */
};

template <class F> struct evaluate_memory {
    uint4 low[EVALUATE_TILE * 9 / 8], high[EVALUATE_TILE * 9 / 8]; /* terms */
    uint32_t row_end[EVALUATE_TILE];
    F warp_sum[EVALUATE_WARPS];
    bool warp_has_end[EVALUATE_WARPS];
    F carry[2]; /* into the tile at hand and into the next, by turns */
};

/* As evaluate_rows_ended of the whole path, by all threads of a block at once: 128 rows are looked
 * at in one round, so that a block begins after a few loads from memory and not after 24. */
static __device__ __forceinline__ uint64_t rows_ended_by_block(const struct evaluate_path &path,
                                                               uint64_t steps)
{
    uint64_t first_entry = evaluate_entry(&path, 0);
    uint64_t low = 0, high = steps < path.rows ? steps : path.rows;

    while (low < high) {
        uint64_t stride = (high - low + EVALUATE_THREADS - 1) / EVALUATE_THREADS;
        uint64_t row = low + threadIdx.x * stride;
        bool has_ended = row < high && row + (evaluate_entry(&path, row + 1) - first_entry) < steps;
        uint64_t count = (uint64_t)__syncthreads_count(has_ended);

        high = low + count * stride < high ? low + count * stride : high;
        low = count ? low + (count - 1) * stride + 1 : low;
    }
    return low;
}

/* ---- terms ---- */

struct evaluate_index {
    uint32_t column, coefficient;
};

static __device__ __forceinline__ struct evaluate_index read_index(const struct evaluate_task &task,
                                                                   uint64_t entry, bool is_wanted)
{
    if (!is_wanted || entry < task.entry_base || entry >= task.path.entry_count)
        return {0xffffffffu, 0};
    return {task.column[entry - task.entry_base], task.coefficient[entry - task.entry_base]};
}

/* Zero when either index is out of range, and then the coefficient is not looked at. */
template <class F>
static __device__ __forceinline__ F read_value(const struct evaluate_task &task,
                                               struct evaluate_index index)
{
    if (index.column >= task.variable_count || index.coefficient >= task.dictionary_count)
        return F::zero();
    return F::load(task.witness + (size_t)index.column * F::WORDS);
}

/* Terms of `count` entries from `entry` on. Values are loaded one round ahead of their product and
 * their indices two. */
template <class F>
static __device__ __forceinline__ void
make_terms(const struct evaluate_task &task, const tile<F> &terms, uint64_t entry, unsigned count)
{
    unsigned i = threadIdx.x;
    struct evaluate_index now = read_index(task, entry + i, i < count);
    struct evaluate_index next =
        read_index(task, entry + i + EVALUATE_THREADS, i + EVALUATE_THREADS < count);
    F value = read_value<F>(task, now);

#pragma unroll 1
    for (; i < count; i += EVALUATE_THREADS) {
        F next_value = read_value<F>(task, next);
        unsigned after = i + 2 * EVALUATE_THREADS;
        uint32_t coefficient = now.coefficient;

        now = next;
        next = read_index(task, entry + after, after < count);
        if (!value.is_zero())
            value = value * F::load(task.dictionary + (size_t)coefficient * F::WORDS);
        terms.put(i, value);
        value = next_value;
    }
}

/* ---- sums ---- */

/* A thread's steps: the sum of the row it leaves open, and of the first row that it ends. */
template <class F> struct evaluate_walk {
    F open, first;
    unsigned first_row;
    bool has_end;
};

template <class F>
static __device__ __forceinline__ struct evaluate_walk<F>
walk_steps(const evaluate_memory<F> &memory, const tile<F> &terms, unsigned rows, unsigned length,
           uint32_t *ret_rows) {
    unsigned begin = min(threadIdx.x * EVALUATE_STEPS, length);
    unsigned end = min(begin + EVALUATE_STEPS, length);
    unsigned row = (unsigned)evaluate_rows_ended(
        begin, rows, [&](uint64_t i) { return (uint64_t)memory.row_end[i]; });
    struct evaluate_walk<F> walk = {
        F::zero(), F::zero(), 0, false
    };

#pragma unroll 1
    for (unsigned step = begin; step < end; step++) {
        unsigned entry = step - row;

        if (row == rows || memory.row_end[row] > entry) {
            walk.open = walk.open + terms.get(entry);
            continue;
        }
        if (walk.has_end)
            walk.open.store(ret_rows + (size_t)row * F::WORDS);
        else
            walk.first = walk.open, walk.first_row = row, walk.has_end = true;
        walk.open = F::zero();
        row++;
    }
    return walk;
}

template <class F>
static __device__ __forceinline__ F from_lane_before(const F &v, unsigned by)
{
    F r;
#pragma unroll
    for (int i = 0; i < F::WORDS; i++)
        r.word[i] = __shfl_up_sync(0xffffffffu, v.word[i], by);
    return r;
}

/* What the row that is open at this thread's first step has from before; and into the next tile. */
template <class F>
static __device__ __forceinline__ F scan_open_rows(evaluate_memory<F> &memory,
                                                   const struct evaluate_walk<F> &walk,
                                                   unsigned turn)
{
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    F sum = walk.open;
    bool has_end = walk.has_end;

#pragma unroll 1
    for (unsigned by = 1; by < 32 && !__all_sync(0xffffffffu, has_end); by *= 2) {
        F before = from_lane_before(sum, by);
        bool before_has_end = __shfl_up_sync(0xffffffffu, has_end, by);

        if (lane >= by && !has_end) {
            sum = sum + before;
            has_end = before_has_end;
        }
    }
    if (lane == 31) {
        memory.warp_sum[warp] = sum;
        memory.warp_has_end[warp] = has_end;
    }
    F into = from_lane_before(sum, 1);
    bool into_has_end = __shfl_up_sync(0xffffffffu, has_end, 1);
    if (lane == 0) {
        into = F::zero();
        into_has_end = false;
    }
    __syncthreads();
    F carry = memory.carry[turn];
    for (unsigned i = 0; i < warp; i++)
        carry = memory.warp_has_end[i] ? memory.warp_sum[i] : carry + memory.warp_sum[i];
    if (threadIdx.x == EVALUATE_THREADS - 1)
        memory.carry[turn ^ 1] = has_end ? sum : sum + carry;
    return into_has_end ? into : into + carry;
}

/* The tile from step (row, entry) of the path on, `length` steps. Returns the rows it ends. */
template <class F>
static __device__ __forceinline__ unsigned sum_tile(const struct evaluate_task &task,
                                                    evaluate_memory<F> &memory, uint64_t row,
                                                    uint64_t entry, unsigned length, unsigned turn)
{
    tile<F> terms = {memory.low, memory.high};
    uint64_t rows_left = task.path.rows - row;
    unsigned rows_max = (unsigned)(rows_left < length ? rows_left : length);

    for (unsigned i = threadIdx.x; i < rows_max; i += EVALUATE_THREADS) {
        uint64_t end = evaluate_entry(&task.path, row + i + 1);

        memory.row_end[i] = end <= entry ? 0 : (uint32_t)min(end - entry, (uint64_t)EVALUATE_TILE);
    }
    __syncthreads();
    unsigned rows = (unsigned)evaluate_rows_ended(
        length, rows_max, [&](uint64_t i) { return (uint64_t)memory.row_end[i]; });
    make_terms<F>(task, terms, entry, length - rows);
    __syncthreads();
    uint32_t *ret_rows = task.ret_values + (task.path.first_row + row) * F::WORDS;
    struct evaluate_walk<F> walk = walk_steps<F>(memory, terms, rows, length, ret_rows);
    F before = scan_open_rows<F>(memory, walk, turn);
    if (walk.has_end)
        (walk.first + before).store(ret_rows + (size_t)walk.first_row * F::WORDS);
    return rows;
}

template <class F>
__global__ void __launch_bounds__(EVALUATE_THREADS, EVALUATE_BLOCKS_EACH)
    sum_rows(struct evaluate_task task)
{
    __shared__ evaluate_memory<F> memory;
    uint64_t length = evaluate_length(&task.path), first_entry = evaluate_entry(&task.path, 0);
    uint64_t share = (length + gridDim.x - 1) / gridDim.x;
    share = share < EVALUATE_TILE ? EVALUATE_TILE : share;
    uint64_t begin = blockIdx.x * share, end = begin + share < length ? begin + share : length;
    uint64_t row = task.path.rows;
    unsigned turn = 0;

    if (threadIdx.x == EVALUATE_THREADS - 1)
        memory.carry[0] = F::zero();
    if (begin < length)
        row = rows_ended_by_block(task.path, begin);
    for (uint64_t step = begin; step < end; step += EVALUATE_TILE, turn ^= 1) {
        uint64_t left = end - step;

        row += sum_tile<F>(task, memory, row, first_entry + (step - row),
                           (unsigned)(left < EVALUATE_TILE ? left : EVALUATE_TILE), turn);
    }
    if (threadIdx.x == EVALUATE_THREADS - 1) {
        memory.carry[turn].store(task.carry + (size_t)blockIdx.x * F::WORDS);
        task.carry_row[blockIdx.x] =
            row < task.path.rows ? task.path.first_row + row : EVALUATE_NO_ROW;
    }
}

/* A warp for each row that blocks left open: block `first` and those after it with the same row. */
template <class F>
__global__ void __launch_bounds__(EVALUATE_THREADS)
    add_carries(struct evaluate_task task, unsigned blocks)
{
    unsigned lane = threadIdx.x % 32;
    unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    F sum = F::zero();

    if (first >= blocks)
        return;
    uint64_t row = task.carry_row[first];
    if (row == EVALUATE_NO_ROW || (first > 0 && task.carry_row[first - 1] == row))
        return;
    for (unsigned i = first + lane;; i += 32) {
        bool is_same = i < blocks && task.carry_row[i] == row;

        if (is_same)
            sum = sum + F::load(task.carry + (size_t)i * F::WORDS);
        if (!__all_sync(0xffffffffu, is_same))
            break;
    }
    for (unsigned by = 16; by > 0; by /= 2)
        sum = sum + sum.from_thread(0xffffffffu, (int)(lane ^ by));
    if (lane == 0) {
        uint32_t *ret = task.ret_values + row * F::WORDS;

        (F::load(ret) + sum).store(ret);
    }
}

template <class F>
static cudaError_t evaluate_launch(const struct evaluate_task &task, unsigned blocks,
                                   cudaStream_t stream)
{
    sum_rows<F><<<blocks, EVALUATE_THREADS, 0, stream>>>(task);
    cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess)
        return error;
    add_carries<F><<<(blocks + EVALUATE_WARPS - 1) / EVALUATE_WARPS, EVALUATE_THREADS, 0, stream>>>(
        task, blocks);
    return cudaGetLastError();
}
