/* In the place of plan_make (linked with --wrap=plan_make): every key, or with PASSES_HALF every
 * second one, is computed by passes, with some of its arrays streamed, in a random number of
 * chunks. So small circuits go the way of large ones on small cards. */
#include <errno.h>
#include <stdio.h>

#include "gpu-worker/cuda/plan.h"
#include "tests/test.h"

int __wrap_plan_make(const struct prepared *prepared, const struct arena *arena,
                     const struct workspace *workspace, void *workspace_memory, struct plan *ret);
int __real_plan_make(const struct prepared *prepared, const struct arena *arena,
                     const struct workspace *workspace, void *workspace_memory, struct plan *ret);

#ifdef PASSES_HALF
enum { IS_HALF = true };
#else
enum { IS_HALF = false };
#endif

int __wrap_plan_make(const struct prepared *prepared, const struct arena *arena,
                     const struct workspace *workspace, void *workspace_memory, struct plan *ret)
{
    static uint64_t random;
    if (random == 0)
        random = test_seed();
    if (IS_HALF && test_random(&random) % 2)
        return __real_plan_make(prepared, arena, workspace, workspace_memory, ret);
    const uint32_t domain = (uint32_t)1 << prepared->shape.domain_log2;
    uint32_t witness_most = prepared->shape.variable_count, quotient_most = domain;
    witness_most = witness_most < PLAN_CHUNKS_MAX ? witness_most : PLAN_CHUNKS_MAX;
    quotient_most = quotient_most < PLAN_CHUNKS_MAX ? quotient_most : PLAN_CHUNKS_MAX;
    const struct plan_passes passes = {
        .resident = (unsigned)(test_random(&random) % (1 << SUMS_COUNT)),
        .witness_chunks = 1 + (unsigned)(test_random(&random) % witness_most),
        .quotient_chunks = 1 + (unsigned)(test_random(&random) % quotient_most),
        .pass_count = 1 + (unsigned)(test_random(&random) % PLAN_PASS_MAX),
        .lanes = 1 + (unsigned)(test_random(&random) % 2),
    };
    const int error = plan_make_passes(prepared, &passes, ret);
    if (error < 0)
        fprintf(stderr, "no plan for %u and %u chunks\n", passes.witness_chunks,
                passes.quotient_chunks);
    return error;
}
