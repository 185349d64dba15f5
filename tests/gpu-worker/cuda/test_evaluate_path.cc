/* How the work on a matrix is shared out: the device's code, run on the host. */

#include "gpu-worker/cuda/evaluate_path.cuh"

#include "tests/test.h"

enum {
    ROWS_MAX = 60,
};

/* Every length of path, row by row: after `steps` steps as many rows have ended as a walk that
 * takes one step at a time has seen end. */
TEST(the_path_ends_rows_where_a_walk_does)
{
    uint64_t state = test_seed();

    for (int round = 0; round < 500; round++) {
        uint64_t row_begin[ROWS_MAX + 1], rows = test_random(&state) % (ROWS_MAX + 1);

        row_begin[0] = 0;
        for (uint64_t i = 0; i < rows; i++)
            row_begin[i + 1] =
                row_begin[i] + (test_random(&state) % 2 ? 0 : test_random(&state) % 40);
        /* A range of the matrix that may reach beyond it. */
        uint64_t first = test_random(&state) % (rows + 2), count = test_random(&state) % ROWS_MAX;
        struct evaluate_path path = {row_begin, rows, row_begin[rows], first, count};
        uint64_t first_entry = evaluate_entry(&path, 0), length = evaluate_length(&path);
        uint64_t ended = 0, entries = 0;

        ASSERT_INT(length, count + evaluate_entry(&path, count) - first_entry);
        for (uint64_t steps = 0; steps <= length; steps++) {
            ASSERT_INT(evaluate_rows_ended(
                           steps, count,
                           [&](uint64_t i) { return evaluate_entry(&path, i + 1) - first_entry; }),
                       ended);
            ASSERT_INT(ended + entries, steps);
            if (ended < count && evaluate_entry(&path, ended + 1) - first_entry <= entries)
                ended++;
            else
                entries++;
        }
    }
}

TEST_MAIN(CASE(the_path_ends_rows_where_a_walk_does))
