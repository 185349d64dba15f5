/* Every cell of the slot's table, written a second time as one line a state: the event names, and
 * where they lead. What is not listed must be illegal. */
#include "supervisor/slot_state.h"

#include "tests/test.h"

struct expected {
    enum slot_state from;
    enum slot_event event;
    enum slot_state to;
    unsigned actions;
};

#define A(name) SLOT_ACTION_##name
static const struct expected expected[] = {
    {SLOT_FREE, SLOT_EVENT_ADMIT, SLOT_QUEUED, A(ENQUEUE)},
    {SLOT_FREE, SLOT_EVENT_ADOPT, SLOT_READY, A(ENQUEUE)},

    {SLOT_QUEUED, SLOT_EVENT_GRANT_SYNTHESIZE, SLOT_SYNTHESIZING, A(DEQUEUE) | A(OWN)},
    {SLOT_QUEUED, SLOT_EVENT_CANCEL, SLOT_CANCELLED, A(DEQUEUE) | A(UNBIND) | A(SETTLE)},

    {SLOT_SYNTHESIZING, SLOT_EVENT_SYNTHESIZED, SLOT_READY, A(DISOWN) | A(ENQUEUE)},
    {SLOT_SYNTHESIZING, SLOT_EVENT_REFUSED, SLOT_FAILED, A(DISOWN) | A(UNBIND) | A(SETTLE)},
    {SLOT_SYNTHESIZING, SLOT_EVENT_LOST, SLOT_QUEUED, A(DISOWN) | A(UNBIND) | A(ENQUEUE)},
    {SLOT_SYNTHESIZING, SLOT_EVENT_LOST_SLABLESS, SLOT_QUEUED, A(DISOWN) | A(ENQUEUE)},
    {SLOT_SYNTHESIZING, SLOT_EVENT_LOST_SPENT, SLOT_FAILED, A(DISOWN) | A(UNBIND) | A(SETTLE)},
    {SLOT_SYNTHESIZING, SLOT_EVENT_CANCEL, SLOT_ENDING, A(TELL)},

    {SLOT_READY, SLOT_EVENT_GRANT_PROVE, SLOT_PROVING, A(DEQUEUE) | A(OWN)},
    {SLOT_READY, SLOT_EVENT_CANCEL, SLOT_CANCELLED, A(DEQUEUE) | A(UNBIND) | A(SETTLE)},

    {SLOT_PROVING, SLOT_EVENT_UPLOADED, SLOT_UPLOADED, A(RECLAIMABLE)},
    {SLOT_PROVING, SLOT_EVENT_REFUSED, SLOT_FAILED, A(DISOWN) | A(UNBIND) | A(SETTLE)},
    {SLOT_PROVING, SLOT_EVENT_LOST, SLOT_READY, A(DISOWN) | A(ENQUEUE)},
    {SLOT_PROVING, SLOT_EVENT_LOST_SLABLESS, SLOT_QUEUED, A(DISOWN) | A(ENQUEUE)},
    {SLOT_PROVING, SLOT_EVENT_LOST_SPENT, SLOT_FAILED, A(DISOWN) | A(UNBIND) | A(SETTLE)},
    {SLOT_PROVING, SLOT_EVENT_CANCEL, SLOT_ENDING, A(TELL)},

    {SLOT_UPLOADED, SLOT_EVENT_PROVED, SLOT_PROVED, A(DISOWN) | A(ENQUEUE)},
    {SLOT_UPLOADED, SLOT_EVENT_REFUSED, SLOT_FAILED, A(DISOWN) | A(UNBIND) | A(SETTLE)},
    {SLOT_UPLOADED, SLOT_EVENT_LOST, SLOT_READY, A(DISOWN) | A(PROTECT) | A(ENQUEUE)},
    {SLOT_UPLOADED, SLOT_EVENT_LOST_SLABLESS, SLOT_QUEUED, A(DISOWN) | A(ENQUEUE)},
    {SLOT_UPLOADED, SLOT_EVENT_LOST_SPENT, SLOT_FAILED, A(DISOWN) | A(UNBIND) | A(SETTLE)},
    {SLOT_UPLOADED, SLOT_EVENT_CANCEL, SLOT_ENDING, A(PROTECT) | A(TELL)},
    {SLOT_UPLOADED, SLOT_EVENT_RECLAIM, SLOT_UPLOADED, A(UNBIND)},

    {SLOT_PROVED, SLOT_EVENT_GRANT_FINALIZE, SLOT_FINALIZING, A(DEQUEUE) | A(OWN)},
    {SLOT_PROVED, SLOT_EVENT_CANCEL, SLOT_CANCELLED, A(DEQUEUE) | A(UNBIND) | A(SETTLE)},
    {SLOT_PROVED, SLOT_EVENT_RECLAIM, SLOT_PROVED, A(UNBIND)},

    {SLOT_FINALIZING, SLOT_EVENT_FINALIZED, SLOT_DONE, A(DISOWN) | A(UNBIND) | A(SETTLE)},
    {SLOT_FINALIZING, SLOT_EVENT_REFUSED, SLOT_FAILED, A(DISOWN) | A(UNBIND) | A(SETTLE)},
    {SLOT_FINALIZING, SLOT_EVENT_LOST, SLOT_PROVED, A(DISOWN) | A(ENQUEUE)},
    {SLOT_FINALIZING, SLOT_EVENT_LOST_SLABLESS, SLOT_PROVED, A(DISOWN) | A(ENQUEUE)},
    {SLOT_FINALIZING, SLOT_EVENT_LOST_SPENT, SLOT_FAILED, A(DISOWN) | A(UNBIND) | A(SETTLE)},
    {SLOT_FINALIZING, SLOT_EVENT_CANCEL, SLOT_ENDING, A(PROTECT) | A(TELL)},
    {SLOT_FINALIZING, SLOT_EVENT_RECLAIM, SLOT_FINALIZING, A(UNBIND)},

    {SLOT_ENDING, SLOT_EVENT_UPLOADED, SLOT_ENDING, 0},
    {SLOT_ENDING, SLOT_EVENT_CANCEL, SLOT_ENDING, 0},
    {SLOT_ENDING, SLOT_EVENT_SYNTHESIZED, SLOT_CANCELLED, A(DISOWN) | A(UNBIND) | A(SETTLE)},
    {SLOT_ENDING, SLOT_EVENT_PROVED, SLOT_CANCELLED, A(DISOWN) | A(UNBIND) | A(SETTLE)},
    {SLOT_ENDING, SLOT_EVENT_FINALIZED, SLOT_CANCELLED, A(DISOWN) | A(UNBIND) | A(SETTLE)},
    {SLOT_ENDING, SLOT_EVENT_REFUSED, SLOT_CANCELLED, A(DISOWN) | A(UNBIND) | A(SETTLE)},
    {SLOT_ENDING, SLOT_EVENT_DROPPED, SLOT_CANCELLED, A(DISOWN) | A(UNBIND) | A(SETTLE)},
    {SLOT_ENDING, SLOT_EVENT_LOST, SLOT_CANCELLED, A(DISOWN) | A(UNBIND) | A(SETTLE)},
    {SLOT_ENDING, SLOT_EVENT_LOST_SLABLESS, SLOT_CANCELLED, A(DISOWN) | A(UNBIND) | A(SETTLE)},
    {SLOT_ENDING, SLOT_EVENT_LOST_SPENT, SLOT_CANCELLED, A(DISOWN) | A(UNBIND) | A(SETTLE)},

    {SLOT_DONE, SLOT_EVENT_SETTLED, SLOT_FREE, 0},
    {SLOT_FAILED, SLOT_EVENT_SETTLED, SLOT_FREE, 0},
    {SLOT_CANCELLED, SLOT_EVENT_SETTLED, SLOT_FREE, 0},
};

static const struct expected *find(enum slot_state state, enum slot_event event)
{
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        if (expected[i].from == state && expected[i].event == event)
            return &expected[i];
    }
    return NULL;
}

TEST(every_cell_leads_where_it_should)
{
    for (int state = 0; state < SLOT_STATE_COUNT; state++) {
        for (int event = 0; event < SLOT_EVENT_COUNT; event++) {
            struct slot_step step = {SLOT_STATE_COUNT, ~0u};
            int r = slot_state_step((enum slot_state)state, (enum slot_event)event, &step);
            const struct expected *cell = find((enum slot_state)state, (enum slot_event)event);
            if (!cell) {
                ASSERT(r < 0);
                ASSERT_INT(step.next, SLOT_STATE_COUNT); /* untouched */
                continue;
            }
            ASSERT_INT(r, 0);
            ASSERT_STR(slot_state_to_string(step.next), slot_state_to_string(cell->to));
            ASSERT_INT(step.actions, cell->actions);
        }
    }
}

TEST(what_is_no_state_or_event_is_illegal)
{
    struct slot_step step;
    ASSERT(slot_state_step(SLOT_STATE_COUNT, SLOT_EVENT_ADMIT, &step) < 0);
    ASSERT(slot_state_step(SLOT_FREE, SLOT_EVENT_COUNT, &step) < 0);
}

static int is_owned(enum slot_state state)
{
    return state == SLOT_SYNTHESIZING || state == SLOT_PROVING || state == SLOT_UPLOADED ||
           state == SLOT_FINALIZING || state == SLOT_ENDING;
}

static int is_queue(enum slot_state state)
{
    return state == SLOT_QUEUED || state == SLOT_READY || state == SLOT_PROVED;
}

TEST(owners_and_queues_are_entered_and_left_in_pairs)
{
    for (int state = 0; state < SLOT_STATE_COUNT; state++) {
        for (int event = 0; event < SLOT_EVENT_COUNT; event++) {
            struct slot_step step;
            enum slot_state from = (enum slot_state)state;
            if (slot_state_step(from, (enum slot_event)event, &step) < 0)
                continue;
            ASSERT_INT(!!(step.actions & A(OWN)), !is_owned(from) && is_owned(step.next));
            ASSERT_INT(!!(step.actions & A(DISOWN)), is_owned(from) && !is_owned(step.next));
            if (from != step.next) {
                ASSERT_INT(!!(step.actions & A(DEQUEUE)), is_queue(from));
                ASSERT_INT(!!(step.actions & A(ENQUEUE)), is_queue(step.next));
            }
        }
    }
}

TEST(every_owner_may_die_and_every_slot_be_cancelled)
{
    for (int state = SLOT_QUEUED; state <= SLOT_ENDING; state++) {
        struct slot_step step;
        enum slot_state from = (enum slot_state)state;
        ASSERT_INT(slot_state_step(from, SLOT_EVENT_CANCEL, &step), 0);
        ASSERT_INT(slot_state_step(from, SLOT_EVENT_LOST, &step) == 0, is_owned(from));
        ASSERT_INT(slot_state_step(from, SLOT_EVENT_LOST_SPENT, &step) == 0, is_owned(from));
    }
}

TEST(names_are_complete)
{
    for (int state = 0; state < SLOT_STATE_COUNT; state++)
        ASSERT(strcmp(slot_state_to_string((enum slot_state)state), "unknown") != 0);
    for (int event = 0; event < SLOT_EVENT_COUNT; event++)
        ASSERT(strcmp(slot_event_to_string((enum slot_event)event), "unknown") != 0);
}

TEST_MAIN(CASE(every_cell_leads_where_it_should), CASE(what_is_no_state_or_event_is_illegal),
          CASE(owners_and_queues_are_entered_and_left_in_pairs),
          CASE(every_owner_may_die_and_every_slot_be_cancelled), CASE(names_are_complete))
