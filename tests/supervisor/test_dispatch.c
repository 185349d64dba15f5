/* The policy: single decisions, then a random pipeline whose every decision is held against the
 * rules stated in dispatch.h. */
#include "supervisor/dispatch.h"

#include "supervisor/order.h"
#include "tests/test.h"

#define NOT_CRITICAL (UINT64_C(1) << 63)

static struct dispatch_view one_of_each(void)
{
    struct dispatch_view view = {.ring_count = 1, .worker_count = 3};
    view.rings[0].slabs_free = 4;
    view.workers[0] = (struct dispatch_worker){.kind = WORKER_SYNTH, .is_available = true};
    view.workers[1] = (struct dispatch_worker){.kind = WORKER_GPU, .is_available = true};
    view.workers[2] = (struct dispatch_worker){.kind = WORKER_FINALIZER, .is_available = true};
    return view;
}

static struct dispatch_head head(uint32_t slot, uint64_t order)
{
    return (struct dispatch_head){.is_present = true, .slot = slot, .order_key = order};
}

TEST(nothing_waits_nothing_happens)
{
    struct dispatch_view view = one_of_each();
    ASSERT_INT(dispatch_next(&view).kind, DISPATCH_NONE);
}

TEST(each_stage_goes_to_its_worker)
{
    struct dispatch_view view = one_of_each();
    view.rings[0].queued.ordinary = head(5, NOT_CRITICAL | 1);
    struct dispatch_action action = dispatch_next(&view);
    ASSERT_INT(action.kind, DISPATCH_SYNTHESIZE);
    ASSERT_INT(action.slot, 5);
    ASSERT_INT(action.worker, 0);
    ASSERT(!action.needs_reclaim);
    view.ready.ordinary = head(6, NOT_CRITICAL | 1);
    ASSERT_INT(dispatch_next(&view).kind, DISPATCH_PROVE);
    ASSERT_INT(dispatch_next(&view).worker, 1);
    view.proved.ordinary = head(7, NOT_CRITICAL | 1);
    ASSERT_INT(dispatch_next(&view).kind, DISPATCH_FINALIZE);
    ASSERT_INT(dispatch_next(&view).worker, 2);
}

TEST(look_ahead_is_bounded_and_critical_exceeds_it_by_one)
{
    struct dispatch_view view = one_of_each();
    view.ready.ordinary = head(1, NOT_CRITICAL | 1);
    view.workers[1].held = DISPATCH_HELD_GPU - 1;
    ASSERT_INT(dispatch_next(&view).kind, DISPATCH_PROVE);
    view.workers[1].held = DISPATCH_HELD_GPU;
    ASSERT_INT(dispatch_next(&view).kind, DISPATCH_NONE);
    view.ready.ordinary = head(1, 1);
    ASSERT_INT(dispatch_next(&view).kind, DISPATCH_PROVE);
    view.workers[1].held = DISPATCH_HELD_GPU + 1;
    ASSERT_INT(dispatch_next(&view).kind, DISPATCH_NONE);
}

TEST(the_least_loaded_worker_is_taken)
{
    struct dispatch_view view = one_of_each();
    view.workers[3] = (struct dispatch_worker){.kind = WORKER_GPU, .is_available = true};
    view.worker_count = 4;
    view.workers[1].held = 1;
    view.ready.ordinary = head(1, NOT_CRITICAL | 1);
    ASSERT_INT(dispatch_next(&view).worker, 3);
    view.workers[3].is_available = false;
    ASSERT_INT(dispatch_next(&view).worker, 1);
}

TEST(a_slab_is_reclaimed_only_when_none_is_free)
{
    struct dispatch_view view = one_of_each();
    view.rings[0].queued.ordinary = head(1, NOT_CRITICAL | 1);
    view.rings[0].has_reclaimable = true;
    view.rings[0].reclaimable_slot = 9;
    ASSERT(!dispatch_next(&view).needs_reclaim);
    view.rings[0].slabs_free = 0;
    struct dispatch_action action = dispatch_next(&view);
    ASSERT_INT(action.kind, DISPATCH_SYNTHESIZE);
    ASSERT(action.needs_reclaim);
    ASSERT_INT(action.reclaim_slot, 9);
    view.rings[0].has_reclaimable = false;
    ASSERT_INT(dispatch_next(&view).kind, DISPATCH_NONE);
}

TEST(a_full_ring_holds_up_no_other_ring)
{
    struct dispatch_view view = one_of_each();
    view.ring_count = 2;
    view.rings[0].slabs_free = 0;
    view.rings[0].queued.ordinary = head(1, NOT_CRITICAL | 1);
    view.rings[1].slabs_free = 1;
    view.rings[1].queued.ordinary = head(2, NOT_CRITICAL | 2);
    ASSERT_INT(dispatch_next(&view).slot, 2);
    view.rings[0].slabs_free = 1;
    ASSERT_INT(dispatch_next(&view).slot, 1);
}

TEST(a_suspect_waits_until_a_worker_is_empty_and_keeps_it_to_itself)
{
    struct dispatch_view view = one_of_each();
    view.ready.suspect = head(1, NOT_CRITICAL | 1);
    view.ready.ordinary = head(2, NOT_CRITICAL | 2);
    view.workers[1].held = 1;
    ASSERT_INT(dispatch_next(&view).kind, DISPATCH_NONE); /* it drains */
    view.workers[1].held = 0;
    ASSERT_INT(dispatch_next(&view).slot, 1);
    view.workers[1].held = 1;
    view.workers[1].has_suspect = true;
    view.ready.suspect.is_present = false;
    ASSERT_INT(dispatch_next(&view).kind, DISPATCH_NONE);
}

TEST(others_go_on_beside_a_suspect)
{
    struct dispatch_view view = one_of_each();
    view.workers[3] = (struct dispatch_worker){.kind = WORKER_GPU, .is_available = true};
    view.worker_count = 4;
    view.workers[1].held = 1;
    view.workers[3].held = 2;
    view.ready.suspect = head(1, NOT_CRITICAL | 1);
    view.ready.ordinary = head(2, NOT_CRITICAL | 2);
    struct dispatch_action action = dispatch_next(&view);
    ASSERT_INT(action.slot, 2);
    ASSERT_INT(action.worker, 3); /* 1 is the one that drains */
}

TEST(an_ordinary_slot_that_is_first_does_not_wait_for_a_suspect)
{
    struct dispatch_view view = one_of_each();
    view.workers[1].held = 1;
    view.ready.suspect = head(1, NOT_CRITICAL | 2);
    view.ready.ordinary = head(2, NOT_CRITICAL | 1);
    ASSERT_INT(dispatch_next(&view).slot, 2);
}

TEST(keys_are_loaded_one_after_the_other)
{
    struct dispatch_view view = one_of_each();
    view.has_load = true;
    view.load_circuit = 3;
    struct dispatch_action action = dispatch_next(&view);
    ASSERT_INT(action.kind, DISPATCH_LOAD);
    ASSERT_INT(action.circuit, 3);
    view.loads_running = DISPATCH_LOADS_MAX;
    ASSERT_INT(dispatch_next(&view).kind, DISPATCH_NONE);
}

/* ---- a random pipeline ---- */

enum {
    SLOTS = 300,
    RINGS = 2,
    WORKERS = 7,
};

enum stage { WAITS, SYNTHESIZES, IS_READY, PROVES, UPLOADS, IS_PROVED, FINALIZES, IS_DONE };

struct model_slot {
    enum stage stage;
    uint64_t order_key;
    uint32_t ring, worker;
    bool is_suspect, has_slab;
    uint64_t uploaded_at;
};

struct model {
    struct model_slot slots[SLOTS];
    struct dispatch_view view;
    uint64_t time, seed;
    uint32_t done;
};

static void take_head(struct dispatch_head *ret, const struct model *model, enum stage stage,
                      int ring, bool is_suspect)
{
    *ret = (struct dispatch_head){0};
    for (uint32_t i = 0; i < SLOTS; i++) {
        const struct model_slot *slot = &model->slots[i];
        if (slot->stage == stage && slot->is_suspect == is_suspect &&
            (ring < 0 || slot->ring == (uint32_t)ring) &&
            (!ret->is_present || slot->order_key < ret->order_key))
            *ret = head(i, slot->order_key);
    }
}

static bool may_be_reclaimed(const struct model_slot *slot)
{
    return slot->has_slab &&
           (slot->stage == UPLOADS || slot->stage == IS_PROVED || slot->stage == FINALIZES);
}

static void refresh(struct model *model)
{
    struct dispatch_view *view = &model->view;
    for (int ring = 0; ring < RINGS; ring++) {
        struct dispatch_ring *entry = &view->rings[ring];
        take_head(&entry->queued.ordinary, model, WAITS, ring, false);
        take_head(&entry->queued.suspect, model, WAITS, ring, true);
        entry->has_reclaimable = false;
        uint64_t oldest = UINT64_MAX;
        for (uint32_t i = 0; i < SLOTS; i++) {
            const struct model_slot *slot = &model->slots[i];
            if (slot->ring != (uint32_t)ring || !may_be_reclaimed(slot) ||
                slot->uploaded_at >= oldest)
                continue;
            oldest = slot->uploaded_at;
            entry->has_reclaimable = true;
            entry->reclaimable_slot = i;
        }
    }
    take_head(&view->ready.ordinary, model, IS_READY, -1, false);
    take_head(&view->ready.suspect, model, IS_READY, -1, true);
    take_head(&view->proved.ordinary, model, IS_PROVED, -1, false);
    take_head(&view->proved.suspect, model, IS_PROVED, -1, true);
}

/* The rules, for one grant. */
static void check_grant(const struct model *model, const struct dispatch_action *action,
                        enum worker_kind kind, const struct dispatch_queue *queue)
{
    const struct dispatch_worker *worker = &model->view.workers[action->worker];
    const struct model_slot *slot = &model->slots[action->slot];
    ASSERT_INT(worker->kind, kind);
    ASSERT(worker->is_available);
    ASSERT(!worker->has_suspect);
    ASSERT(worker->held < dispatch_held_max(kind) + order_is_critical(slot->order_key));
    if (slot->is_suspect) {
        ASSERT_INT(worker->held, 0);
        ASSERT_INT(queue->suspect.slot, action->slot);
    } else if (queue) {
        ASSERT_INT(queue->ordinary.slot, action->slot);
    }
    if (slot->is_suspect && queue->ordinary.is_present)
        ASSERT(slot->order_key < queue->ordinary.order_key);
}

static void grant(struct model *model, const struct dispatch_action *action, enum stage stage)
{
    struct model_slot *slot = &model->slots[action->slot];
    struct dispatch_worker *worker = &model->view.workers[action->worker];
    slot->stage = stage;
    slot->worker = action->worker;
    worker->held++;
    worker->has_suspect |= slot->is_suspect;
}

static void perform(struct model *model, const struct dispatch_action *action)
{
    struct model_slot *slot = &model->slots[action->slot];
    struct dispatch_ring *ring = &model->view.rings[slot->ring];
    switch (action->kind) {
    case DISPATCH_SYNTHESIZE:
        check_grant(model, action, WORKER_SYNTH, &ring->queued);
        for (int i = 0; i < RINGS; i++) { /* nothing more urgent could have gone */
            const struct dispatch_ring *other = &model->view.rings[i];
            if (other->slabs_free > 0 && other->queued.ordinary.is_present && !slot->is_suspect)
                ASSERT(slot->order_key <= other->queued.ordinary.order_key);
        }
        ASSERT_INT(action->needs_reclaim, ring->slabs_free == 0);
        if (action->needs_reclaim) {
            ASSERT(may_be_reclaimed(&model->slots[action->reclaim_slot]));
            ASSERT_INT(model->slots[action->reclaim_slot].ring, slot->ring);
            model->slots[action->reclaim_slot].has_slab = false;
            ring->slabs_free++;
        }
        ring->slabs_free--;
        slot->has_slab = true;
        grant(model, action, SYNTHESIZES);
        break;
    case DISPATCH_PROVE:
        check_grant(model, action, WORKER_GPU, &model->view.ready);
        grant(model, action, PROVES);
        break;
    case DISPATCH_FINALIZE:
        check_grant(model, action, WORKER_FINALIZER, &model->view.proved);
        grant(model, action, FINALIZES);
        break;
    default:
        ASSERT(!"an action that nobody asked for");
    }
}

static void let_go(struct model *model, struct model_slot *slot)
{
    struct dispatch_worker *worker = &model->view.workers[slot->worker];
    worker->held--;
    if (slot->is_suspect)
        worker->has_suspect = false;
}

static void release_slab(struct model *model, struct model_slot *slot)
{
    if (slot->has_slab)
        model->view.rings[slot->ring].slabs_free++;
    slot->has_slab = false;
}

static void answer(struct model *model, struct model_slot *slot)
{
    if (slot->stage == PROVES) {
        slot->stage = UPLOADS;
        slot->uploaded_at = model->time;
        return;
    }
    let_go(model, slot);
    slot->is_suspect = false;
    slot->stage++;
    if (slot->stage == IS_DONE) {
        release_slab(model, slot);
        model->done++;
    }
}

static bool is_held(const struct model_slot *slot)
{
    return slot->stage == SYNTHESIZES || slot->stage == PROVES || slot->stage == UPLOADS ||
           slot->stage == FINALIZES;
}

static void die(struct model *model, uint32_t index)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct model_slot *slot = &model->slots[i];
        if (!is_held(slot) || slot->worker != index)
            continue;
        let_go(model, slot);
        slot->is_suspect = true;
        if (slot->stage == SYNTHESIZES || (slot->stage == UPLOADS && !slot->has_slab)) {
            release_slab(model, slot);
            slot->stage = WAITS;
        } else {
            slot->stage = slot->stage == FINALIZES ? IS_PROVED : IS_READY;
        }
    }
    model->view.workers[index].held = 0;
    model->view.workers[index].has_suspect = false;
}

static void set_up(struct model *model)
{
    static const enum worker_kind kinds[WORKERS] = {WORKER_SYNTH,    WORKER_SYNTH, WORKER_SYNTH,
                                                    WORKER_GPU,      WORKER_GPU,   WORKER_FINALIZER,
                                                    WORKER_FINALIZER};
    model->view.ring_count = RINGS;
    model->view.worker_count = WORKERS;
    for (int i = 0; i < WORKERS; i++)
        model->view.workers[i] = (struct dispatch_worker){.kind = kinds[i], .is_available = true};
    for (int i = 0; i < RINGS; i++)
        model->view.rings[i].slabs_free = 1 + (uint32_t)(test_random(&model->seed) % 5);
    for (uint32_t i = 0; i < SLOTS; i++) {
        uint64_t key = test_random(&model->seed) & ~UINT64_C(511);
        bool is_critical = test_random(&model->seed) % 16 == 0;
        model->slots[i] = (struct model_slot){
            .stage = WAITS,
            .order_key = (is_critical ? key >> 1 : key | NOT_CRITICAL) + i,
            .ring = (uint32_t)(test_random(&model->seed) % RINGS),
        };
    }
}

TEST(a_random_pipeline_keeps_every_rule_and_finishes)
{
    static struct model model;
    uint64_t seed = test_seed();
    for (int round = 0; round < 20; round++) {
        memset(&model, 0, sizeof model);
        model.seed = test_random(&seed);
        set_up(&model);
        uint64_t idle = 0;
        while (model.done < SLOTS) {
            struct dispatch_action action;
            model.time++;
            for (refresh(&model); (action = dispatch_next(&model.view)).kind != DISPATCH_NONE;
                 refresh(&model))
                perform(&model, &action);
            uint32_t pick = (uint32_t)(test_random(&model.seed) % SLOTS), held = SLOTS;
            for (uint32_t i = 0; i < SLOTS && held == SLOTS; i++) {
                if (is_held(&model.slots[(pick + i) % SLOTS]))
                    held = (pick + i) % SLOTS;
            }
            ASSERT(held < SLOTS); /* work is left, so somebody works */
            if (test_random(&model.seed) % 50 == 0)
                die(&model, model.slots[held].worker);
            else
                answer(&model, &model.slots[held]);
            ASSERT(++idle < 100000);
        }
        for (int i = 0; i < RINGS; i++)
            ASSERT(model.view.rings[i].slabs_free >= 1);
        for (int i = 0; i < WORKERS; i++)
            ASSERT_INT(model.view.workers[i].held, 0);
    }
}

TEST_MAIN(CASE(nothing_waits_nothing_happens), CASE(each_stage_goes_to_its_worker),
          CASE(look_ahead_is_bounded_and_critical_exceeds_it_by_one),
          CASE(the_least_loaded_worker_is_taken), CASE(a_slab_is_reclaimed_only_when_none_is_free),
          CASE(a_full_ring_holds_up_no_other_ring),
          CASE(a_suspect_waits_until_a_worker_is_empty_and_keeps_it_to_itself),
          CASE(others_go_on_beside_a_suspect),
          CASE(an_ordinary_slot_that_is_first_does_not_wait_for_a_suspect),
          CASE(keys_are_loaded_one_after_the_other),
          CASE(a_random_pipeline_keeps_every_rule_and_finishes))
