/* How the work on a matrix is shared out: rows and entries in one line, the path, on which the end
 * of each row follows its entries. Equal lengths of path are equal work, however long the rows are
 * and however many are empty. Also compiled for the host, by a unit test.
 *
 * Merrill and Garland 2016, "Merge-based parallel sparse matrix-vector multiplication". */
#pragma once

#include <stdint.h>

#include "gpu-worker/cuda/carry.cuh"

#define EVALUATE_FN static __host__ __device__ __forceinline__

struct evaluate_path {
    const uint64_t *row_begin; /* of the matrix, row_count + 1 */
    uint64_t row_count, entry_count;
    uint64_t first_row, rows; /* the range */
};

/* First entry of row `row` of the range, for row = 0 .. rows. Rows past the matrix are empty. */
EVALUATE_FN uint64_t evaluate_entry(const struct evaluate_path *path, uint64_t row)
{
    uint64_t at = path->first_row + row, entry;

    entry = path->row_begin[at < path->row_count ? at : path->row_count];
    return entry < path->entry_count ? entry : path->entry_count;
}

EVALUATE_FN uint64_t evaluate_length(const struct evaluate_path *path)
{
    uint64_t begin = evaluate_entry(path, 0), end = evaluate_entry(path, path->rows);

    return path->rows + (end > begin ? end - begin : 0);
}

/* How many of the first `steps` steps of a path are ends of rows; the others are entries.
 * end(i): entries before the end of row i. At most `rows` rows are looked at. */
template <class END>
EVALUATE_FN uint64_t evaluate_rows_ended(uint64_t steps, uint64_t rows, END end)
{
    uint64_t low = 0, high = steps < rows ? steps : rows;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (middle + end(middle) < steps)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
