/* Where a key lies on the device and what a partition of it needs there: decided once, when the key
 * is loaded, so that nothing can run out of memory later. Called by key.c on the driver thread.
 * Pure: numbers in, numbers out (the sizes come from msm.h).
 *
 * A, B1, B2 and L share one sorted plan of the witness and thus one shape; H has its own. Tables
 * are tried with every number of levels; the cheapest that fits is taken, and of those that cost
 * nearly the same, for full-size witnesses and for small values, the smallest. What does not fit is
 * streamed: its bases pass through two chunk buffers underneath the computation, each chunk used
 * for all partitions of a pass. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gpu-worker/cuda/arena.h"
#include "gpu-worker/cuda/msm.h"
#include "gpu-worker/cuda/workspace.h"
#include "groth16/key/prepared.h"
#include "groth16/verify/sums.h"

enum {
    PLAN_MATRIX_A,
    PLAN_MATRIX_B,
    PLAN_MATRIX_COUNT,
    /* Partitions that share a pass over a streamed key. */
    PLAN_PASS_MAX = 4,
    /* Chunks of a streamed key's scalars; each leaves its own sums, which the host adds. */
    PLAN_CHUNKS_MAX = 64,
    PLAN_TEXT_BYTES = BACKEND_TEXT_BYTES,
};

struct plan {
    enum curve_id curve;
    uint32_t variable_count, public_count;
    unsigned domain_log2;
    /* By enum sums_point. The arrays of the witness have tables only when all are resident. */
    bool is_resident[SUMS_COUNT];
    struct msm_shape witness, quotient; /* of all scalars, or of one chunk (the last is shorter) */
    unsigned witness_chunks, quotient_chunks; /* 1: whole */
    unsigned lanes;                 /* of a pass: how many of the two compute streams it sums in */
    unsigned pass_count;            /* partitions computed at once; 1 when all is resident */
    uint64_t chunk_off[SUMS_COUNT]; /* of what is streamed, in a chunk's buffer */

    /* The key's range; device arrays as they are in the prepared key, L padded with infinities in
     * front so that base i belongs to wire i. */
    uint64_t bases_off[SUMS_COUNT];
    uint64_t rows_off[PLAN_MATRIX_COUNT], columns_off[PLAN_MATRIX_COUNT],
        coefficients_off[PLAN_MATRIX_COUNT];
    uint64_t dictionary_off, twiddles_off;
    uint64_t key_bytes;
    uint64_t load_bytes; /* more, while it is loaded */
    struct workspace workspace;
    double cost_ms, small_ms; /* of one partition, roughly: full-size values, mostly small ones */
    char text[PLAN_TEXT_BYTES];
};

static inline bool plan_is_streamed(const struct plan *plan)
{
    return plan->workspace.chunk_bytes > 0;
}

/* Computed by passes (pass.h): streamed, or resident with so little room that the scalars are
 * planned and summed in chunks. */
static inline bool plan_has_passes(const struct plan *plan)
{
    return plan_is_streamed(plan) || plan->witness_chunks > 1 || plan->quotient_chunks > 1;
}

/* For a key beside what the arena holds already: `workspace` lies there at workspace_memory (NULL:
 * none yet) and may be replaced by a larger one. 0; -ENOMEM and ret->text says need and free;
 * -EINVAL and it says what is impossible. */
int plan_make(const struct prepared *prepared, const struct arena *arena,
              const struct workspace *workspace, void *workspace_memory, struct plan *ret);
/* The plan of one choice, whatever it costs and whether or not it fits: without tables, computed by
 * passes of `pass_count` partitions in so many chunks; `resident`: bits by enum sums_point. 0, or
 * -EINVAL. */
struct plan_passes {
    unsigned resident, witness_chunks, quotient_chunks, pass_count, lanes;
};
int plan_make_passes(const struct prepared *prepared, const struct plan_passes *passes,
                     struct plan *ret);
/* The shape of `count` scalars in chunks of this plan: the last chunk is shorter. */
int plan_chunk_shape(const struct msm_shape *whole, uint32_t count, struct msm_shape *ret_shape);
