/* What a partition is computed in. Called by the plan and by key.c. Pure. */
#pragma once

#include <stdint.h>

/* Device memory that all keys use in turn; each part as large as the largest key needs it. The two
 * compute streams have a plan and a scratch each. */
struct workspace {
    uint64_t witness_bytes; /* one witness */
    uint64_t witness_count;
    uint64_t evaluation_bytes; /* a, and b */
    uint64_t scalars_bytes;    /* one partition's scalars of H */
    uint64_t scalars_count;
    uint64_t plan_bytes[2], scratch_bytes[2]; /* by stream */
    uint64_t chunk_bytes;                     /* each of two; 0: nothing is streamed */
    uint64_t sums_bytes;                      /* of a partition: of every chunk */
};

/* Offsets in the workspace's range. */
struct workspace_layout {
    uint64_t witness_off, a_off, b_off, scalars_off, plan_off[2], scratch_off[2], chunk_off[2];
    uint64_t evaluate_off, sums_off, bytes;
};

void workspace_layout(const struct workspace *workspace, struct workspace_layout *ret_layout);
/* Each part as large as in the larger of the two. */
struct workspace workspace_max(const struct workspace *a, const struct workspace *b);
uint64_t workspace_bytes(const struct workspace *workspace);
