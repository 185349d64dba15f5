/* See workspace.h. */
#include "gpu-worker/cuda/workspace.h"

#include "gpu-worker/cuda/arena.h"
#include "gpu-worker/cuda/evaluate.h"

void workspace_layout(const struct workspace *workspace, struct workspace_layout *ret_layout)
{
    struct workspace_layout layout;
    uint64_t off = 0;
    layout.witness_off = off;
    off += arena_align(workspace->witness_bytes) * workspace->witness_count;
    layout.a_off = off;
    off += arena_align(workspace->evaluation_bytes);
    layout.b_off = off;
    off += arena_align(workspace->evaluation_bytes);
    layout.scalars_off = off;
    off += arena_align(workspace->scalars_bytes) * workspace->scalars_count;
    for (unsigned i = 0; i < 2; i++) {
        layout.plan_off[i] = off;
        off += arena_align(workspace->plan_bytes[i]);
        layout.scratch_off[i] = off;
        off += arena_align(workspace->scratch_bytes[i]);
        layout.chunk_off[i] = off;
        off += arena_align(workspace->chunk_bytes);
    }
    layout.evaluate_off = off;
    off += arena_align(evaluate_scratch_bytes());
    layout.sums_off = off;
    layout.bytes = off + arena_align(workspace->sums_bytes) * BACKEND_PARTITIONS_MAX;
    *ret_layout = layout;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

struct workspace workspace_max(const struct workspace *a, const struct workspace *b)
{
    struct workspace most = {
        .witness_bytes = larger(a->witness_bytes, b->witness_bytes),
        .witness_count = larger(a->witness_count, b->witness_count),
        .evaluation_bytes = larger(a->evaluation_bytes, b->evaluation_bytes),
        .scalars_bytes = larger(a->scalars_bytes, b->scalars_bytes),
        .scalars_count = larger(a->scalars_count, b->scalars_count),
        .chunk_bytes = larger(a->chunk_bytes, b->chunk_bytes),
        .sums_bytes = larger(a->sums_bytes, b->sums_bytes),
    };
    for (unsigned i = 0; i < 2; i++) {
        most.plan_bytes[i] = larger(a->plan_bytes[i], b->plan_bytes[i]);
        most.scratch_bytes[i] = larger(a->scratch_bytes[i], b->scratch_bytes[i]);
    }
    return most;
}

uint64_t workspace_bytes(const struct workspace *workspace)
{
    struct workspace_layout layout;
    workspace_layout(workspace, &layout);
    return layout.bytes;
}
