/* A key that is streamed in full, in two chunks of each array, over the stub: what of a pass that
 * fails is still under way keeps its partitions from ending. */
#include "gpu-worker/cuda/plan.h"
#include "tests/gpu-worker/cuda/rig.h"

int __wrap_plan_make(const struct prepared *prepared, const struct arena *arena,
                     const struct workspace *workspace, void *workspace_memory, struct plan *ret);

int __wrap_plan_make(const struct prepared *prepared, const struct arena *arena,
                     const struct workspace *workspace, void *workspace_memory, struct plan *ret)
{
    static const struct plan_passes passes = {
        .resident = 0, .witness_chunks = 2, .quotient_chunks = 2, .pass_count = 1, .lanes = 1};
    (void)arena;
    (void)workspace;
    (void)workspace_memory;
    return plan_make_passes(prepared, &passes, ret);
}

enum {
    QUIET_MS = 200,
    EVALUATED = 1, /* a partition of the rig on the witness alone */
};

/* The first copy after the witness begins a chunk; the second is refused. Memory that the first one
 * writes may go to another key as soon as the partition has ended. */
TEST(a_partition_ends_after_the_chunk_that_half_went_up)
{
    struct rig rig;
    ASSERT_INT(rig_try_open(&rig, "", &rig_options), 0);
    rig_make(&rig, &curve_bn254, 4, 2);
    ASSERT(rig_load(&rig) && rig_attach(&rig));
    stub_add("hang=copy_to_device:2;fail=copy_to_device:3:1");
    ASSERT_INT(rig_start(&rig, EVALUATED, 1), 0);
    while (rig_next(&rig, QUIET_MS))
        ASSERT(rig.last.kind == BACKEND_UPLOADED || rig.last.kind == BACKEND_PHASE_ENDED);
    stub_heal();
    ASSERT(rig_event(&rig, BACKEND_FAILED));
    ASSERT_INT(rig.last.fault, BACKEND_FAULT_DEVICE);
    ASSERT(strstr(rig.last.text, "uploading a part of a key"));
    ASSERT(rig_prove(&rig) && rig_drop(&rig) && rig_detach(&rig));
    ASSERT(rig_close(&rig));
}

TEST_MAIN(CASE(a_partition_ends_after_the_chunk_that_half_went_up))
