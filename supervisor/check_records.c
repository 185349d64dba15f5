/* The supervisor's records against each other: see check.h. Every fault would be an error of this
 * program, and each is said in words that name the record. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/admission.h"
#include "supervisor/check.h"
#include "supervisor/supervisor.h"

static const struct slot *slot_at(const struct supervisor *supervisor, uint32_t index)
{
    return index < SLOTS_MAX ? &supervisor->slots.entries[index] : NULL;
}

/* ---- slots ---- */

void check_slots(const struct supervisor *supervisor, struct check_finding *finding)
{
    const struct slots *slots = &supervisor->slots;
    uint32_t counts[SLOT_STATE_COUNT] = {0};
    bool is_free[SLOTS_MAX] = {false};
    if (slots->free_count > SLOTS_MAX) {
        check_fault(finding, "%u slots are free of %d", slots->free_count, SLOTS_MAX);
        return;
    }
    for (uint32_t i = 0; i < slots->free_count; i++) {
        uint32_t index = slots->free[i];
        if (index >= SLOTS_MAX || is_free[index])
            check_fault(finding, "slot %u is in the list of free slots twice, or is none", index);
        else
            is_free[index] = true;
    }
    for (uint32_t i = 0; i < SLOTS_MAX; i++) {
        const struct slot *slot = &slots->entries[i];
        if ((unsigned)slot->state >= SLOT_STATE_COUNT) {
            check_fault(finding, "slot %u is in no state (%d)", i, (int)slot->state);
            continue;
        }
        counts[slot->state]++;
        if (is_free[i] != (slot->state == SLOT_FREE && !slot->is_reserved))
            check_fault(finding, "slot %u is %s and %s in the list of free slots", i,
                        slot_state_to_string(slot->state), is_free[i] ? "is" : "is not");
    }
    for (int state = 0; state < SLOT_STATE_COUNT; state++) {
        if (counts[state] != slots->state_counts[state])
            check_fault(finding, "%u slots are %s, %u are counted", counts[state],
                        slot_state_to_string((enum slot_state)state), slots->state_counts[state]);
    }
    for (int state = SLOT_DONE; state < SLOT_STATE_COUNT; state++) {
        if (counts[state] > 0)
            check_fault(finding, "%u slots are %s and are not let go of", counts[state],
                        slot_state_to_string((enum slot_state)state));
    }
    check_note(finding, "%u of %d free", slots->free_count, SLOTS_MAX);
}

/* ---- queues ---- */

/* Where a waiting slot is to be; NULL: in none. */
static const struct order_heap *heap_of(const struct slots *slots, const struct slot *slot)
{
    const struct slots_queue *queue = NULL;
    if (slot->state == SLOT_QUEUED && !circuit_is_loaded(slot->circuit))
        return &slots->parked;
    if (slot->state == SLOT_QUEUED)
        queue = &slots->queued[slot->circuit->ring];
    else if (slot->state == SLOT_READY)
        queue = &slots->ready;
    else if (slot->state == SLOT_PROVED)
        queue = &slots->proved;
    else
        return NULL;
    return slot->is_suspect ? &queue->suspect : &queue->ordinary;
}

static uint32_t check_heap(const struct supervisor *supervisor, const struct order_heap *heap,
                           const char *name, struct check_finding *finding)
{
    const struct slots *slots = &supervisor->slots;
    if (heap->count > SLOTS_MAX) {
        check_fault(finding, "queue %s has %u entries", name, heap->count);
        return 0;
    }
    for (uint32_t i = 0; i < heap->count; i++) {
        const struct order_entry *entry = &heap->entries[i];
        const struct slot *slot = slot_at(supervisor, entry->slot);
        if (!slot) {
            check_fault(finding, "queue %s holds slot %u, which is none", name, entry->slot);
            continue;
        }
        if (heap_of(slots, slot) != heap)
            check_fault(finding, "queue %s holds slot %u, which is %s%s", name, entry->slot,
                        slot_state_to_string(slot->state), slot->is_suspect ? " and suspect" : "");
        if (slots->positions[entry->slot] != i)
            check_fault(finding, "queue %s holds slot %u elsewhere than it thinks", name,
                        entry->slot);
        if (entry->key != slot->order_key || (i > 0 && heap->entries[(i - 1) / 2].key > entry->key))
            check_fault(finding, "queue %s has slot %u out of order", name, entry->slot);
    }
    return heap->count;
}

static uint32_t check_queue(const struct supervisor *supervisor, const struct slots_queue *queue,
                            const char *name, struct check_finding *finding)
{
    char suspect[NAME_BYTES_MAX + 16];
    snprintf(suspect, sizeof suspect, "%s (suspects)", name);
    return check_heap(supervisor, &queue->ordinary, name, finding) +
           check_heap(supervisor, &queue->suspect, suspect, finding);
}

void check_queues(const struct supervisor *supervisor, struct check_finding *finding)
{
    const struct slots *slots = &supervisor->slots;
    uint32_t queued = check_heap(supervisor, &slots->parked, "parked", finding), waiting = 0;
    for (uint32_t i = 0; i < RINGS_MAX; i++)
        queued += check_queue(supervisor, &slots->queued[i], "queued", finding);
    queued += check_queue(supervisor, &slots->ready, "ready", finding);
    queued += check_queue(supervisor, &slots->proved, "proved", finding);
    for (uint32_t i = 0; i < SLOTS_MAX; i++) {
        const struct slot *slot = &slots->entries[i];
        waiting +=
            slot->state == SLOT_QUEUED || slot->state == SLOT_READY || slot->state == SLOT_PROVED;
    }
    if (queued != waiting)
        check_fault(finding, "%u slots wait, %u are in the queues", waiting, queued);
    check_note(finding, "%u waiting", waiting);
}

/* ---- slabs ---- */

struct holders {
    uint32_t counts[SLABS_MAX];
    const struct slot *slots[SLABS_MAX];
};

static void find_holders(const struct supervisor *supervisor, struct holders *ret,
                         struct check_finding *finding)
{
    *ret = (struct holders){{0}, {NULL}};
    for (uint32_t i = 0; i < SLOTS_MAX; i++) {
        const struct slot *slot = &supervisor->slots.entries[i];
        if (slot->state == SLOT_FREE || slot->slab < 0)
            continue;
        if (slot->slab >= SLABS_MAX) {
            check_fault(finding, "slot %u holds slab %d, which is none", i, slot->slab);
            continue;
        }
        ret->counts[slot->slab]++;
        ret->slots[slot->slab] = slot;
    }
    /* A worker that cannot be killed may still write what was taken from it. */
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        const struct worker *worker = &supervisor->workers.entries[i];
        for (uint32_t k = 0; k < worker->slabs_left_count && k < GRANTS_HELD_MAX; k++) {
            if (worker->slabs_left[k] >= 0 && worker->slabs_left[k] < SLABS_MAX)
                ret->counts[worker->slabs_left[k]]++;
        }
    }
}

#define LOAD(field) atomic_load_explicit(&(field), memory_order_relaxed)

static bool entry_is_held(const struct slab_ring_entry *entry)
{
    uint32_t state = LOAD(entry->state);
    return state == SLAB_HELD || state == SLAB_READY;
}

static void check_entry(const struct slab_ring_entry *entry, uint32_t slab,
                        const struct holders *holders, struct check_finding *finding)
{
    bool is_held = entry_is_held(entry);
    const struct slot *slot = holders->slots[slab];
    if (LOAD(entry->state) == SLAB_ABSENT || LOAD(entry->slab) != slab)
        check_fault(finding, "slab %u is not there in its ring's table, or is called %u", slab,
                    LOAD(entry->slab));
    if (holders->counts[slab] != (is_held ? 1 : 0)) {
        check_fault(finding, "slab %u is %s in its ring's table and %u slots have it", slab,
                    is_held ? "held" : "free", holders->counts[slab]);
    } else if (slot &&
               (LOAD(entry->job) != slot->job || LOAD(entry->partition) != slot->partition ||
                LOAD(entry->generation) > slot->generation)) {
        check_fault(finding,
                    "slab %u is bound to job %" PRIu64 " partition %u in its ring's table, and to "
                    "job %" PRIu64 " partition %u in slot %u",
                    slab, LOAD(entry->job), LOAD(entry->partition), slot->job, slot->partition,
                    slot->index);
    } else if (slot && LOAD(entry->state) == SLAB_READY &&
               (slot->state == SLOT_QUEUED || slot->state == SLOT_SYNTHESIZING)) {
        check_fault(finding, "slab %u is ready in its ring's table, and its slot %u is %s", slab,
                    slot->index, slot_state_to_string(slot->state));
    }
}

struct ring_counts {
    uint32_t there, leaving, ringed; /* slabs, by the state of their places */
};

/* Each slab by its place: what is issued agrees with the entry, the rest is held by nobody. */
static void check_places(const struct memory *memory, const struct holders *holders,
                         struct ring_counts counts[static RINGS_MAX], struct check_finding *finding)
{
    for (uint32_t slab = 0; slab < SLABS_MAX; slab++) {
        const struct memory_place *place = &memory->places[slab];
        const struct slot *slot = holders->slots[slab];
        if (place->state != MEMORY_SLAB_RINGED && holders->counts[slab] > 0)
            check_fault(finding, "slab %u is not in its ring and %u slots have it", slab,
                        holders->counts[slab]);
        if (place->state == MEMORY_SLAB_NONE)
            continue;
        if (slab >= memory->slab_count || place->ring >= memory->ring_count ||
            !memory->rings[place->ring].ring.table || place->entry >= SLABS_MAX) {
            check_fault(finding, "slab %u belongs to ring %u, which is none", slab, place->ring);
            continue;
        }
        const struct memory_ring *ring = &memory->rings[place->ring];
        counts[place->ring].there += place->state != MEMORY_SLAB_LEAVING;
        counts[place->ring].leaving += place->state == MEMORY_SLAB_LEAVING;
        if (place->state != MEMORY_SLAB_RINGED)
            continue;
        counts[place->ring].ringed++;
        if (ring->entries[place->entry] != slab || (slot && slot->ring != place->ring))
            check_fault(finding, "slab %u has another place than its ring or its slot thinks",
                        slab);
        check_entry(&ring->ring.table->entries[place->entry], slab, holders, finding);
    }
}

static void check_ring(const struct memory_ring *ring, const struct ring_counts *counts,
                       struct check_finding *finding, uint32_t *held_count)
{
    const struct slab_ring_table *table = ring->ring.table;
    uint32_t held = 0, there = 0, count = LOAD(table->entry_count);
    uint64_t oldest = LOAD(table->head);
    if (count > SLABS_MAX) {
        check_fault(finding, "the table of ring %s has %u entries", ring->name, count);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct slab_ring_entry *entry = &table->entries[i];
        there += LOAD(entry->state) != SLAB_ABSENT;
        if (!entry_is_held(entry))
            continue;
        held++;
        oldest = LOAD(entry->ticket) < oldest ? LOAD(entry->ticket) : oldest;
    }
    if (counts->there != ring->count || counts->leaving != ring->leaving)
        check_fault(finding, "ring %s has %u slabs and %u that leave, and counts %u and %u",
                    ring->name, counts->there, counts->leaving, ring->count, ring->leaving);
    if (there != counts->ringed || there != LOAD(table->slab_count))
        check_fault(finding, "ring %s issues %u slabs, its table has %u and counts %u", ring->name,
                    counts->ringed, there, LOAD(table->slab_count));
    if (held != LOAD(table->occupancy))
        check_fault(finding, "%u slabs of ring %s are held, its table counts %u", held, ring->name,
                    LOAD(table->occupancy));
    if (oldest != LOAD(table->tail))
        check_fault(finding, "the oldest ticket held of ring %s is %" PRIu64 ", its tail %" PRIu64,
                    ring->name, oldest, LOAD(table->tail));
    *held_count += held;
}

/* The lists of slabs that may be taken early. */
static void check_reclaimable(const struct supervisor *supervisor, struct check_finding *finding)
{
    const struct slots *slots = &supervisor->slots;
    uint32_t listed = 0, marked = 0;
    for (uint32_t ring = 0; ring < RINGS_MAX; ring++) {
        uint32_t previous = SLOT_NONE;
        for (uint32_t at = slots->reclaim_first[ring]; at != SLOT_NONE;) {
            const struct slot *slot = slot_at(supervisor, at);
            if (!slot || listed++ > SLOTS_MAX || !slot->is_reclaimable || slot->slab < 0 ||
                slot->reclaim_previous != previous || slot->ring != ring) {
                check_fault(finding, "the list of slabs to take early is broken at slot %u", at);
                return;
            }
            previous = at;
            at = slot->reclaim_next;
        }
        if (slots->reclaim_last[ring] != previous)
            check_fault(finding, "the list of slabs to take early ends elsewhere than it says");
    }
    for (uint32_t i = 0; i < SLOTS_MAX; i++)
        marked += slots->entries[i].state != SLOT_FREE && slots->entries[i].is_reclaimable;
    if (marked != listed)
        check_fault(finding, "%u slabs may be taken early, %u are listed", marked, listed);
}

void check_slabs(const struct supervisor *supervisor, struct check_finding *finding)
{
    const struct memory *memory = &supervisor->memory;
    struct ring_counts counts[RINGS_MAX] = {{0}};
    struct holders holders;
    uint32_t held = 0, there = memory_slabs_there(memory);
    find_holders(supervisor, &holders, finding);
    check_places(memory, &holders, counts, finding);
    for (uint32_t i = 0; i < memory->ring_count; i++) {
        if (memory->rings[i].ring.table)
            check_ring(&memory->rings[i], &counts[i], finding, &held);
    }
    check_reclaimable(supervisor, finding);
    check_note(finding, "%u of %u free", there - held, there);
}

/* ---- owners ---- */

static bool state_has_owner(enum slot_state state)
{
    return state == SLOT_SYNTHESIZING || state == SLOT_PROVING || state == SLOT_UPLOADED ||
           state == SLOT_FINALIZING || state == SLOT_ENDING;
}

static bool worker_has_process(const struct worker *worker)
{
    return worker->state != WORKER_DOWN && worker->state != WORKER_WRITTEN_OFF;
}

static void check_owner(const struct slot *slot, struct check_finding *finding)
{
    const struct worker *owner = slot->owner;
    uint32_t named = 0;
    if ((owner != NULL) != state_has_owner(slot->state)) {
        check_fault(finding, "slot %u is %s and has %s", slot->index,
                    slot_state_to_string(slot->state), owner ? owner->name : "no owner");
        return;
    }
    if (!owner)
        return;
    for (uint32_t i = 0; i < owner->held_count && i < GRANTS_HELD_MAX; i++)
        named += owner->held[i] == slot->index;
    if (named != 1)
        check_fault(finding, "slot %u is owned by %s, which lists it %u times", slot->index,
                    owner->name, named);
    if (!worker_has_process(owner))
        check_fault(finding, "slot %u is owned by %s, which does not run", slot->index,
                    owner->name);
}

void check_owners(const struct supervisor *supervisor, struct check_finding *finding)
{
    uint32_t held = 0;
    for (uint32_t i = 0; i < SLOTS_MAX; i++) {
        const struct slot *slot = &supervisor->slots.entries[i];
        if (slot->state != SLOT_FREE)
            check_owner(slot, finding);
        if (slot->state != SLOT_FREE && slot->generation > supervisor->slots.last_generation)
            check_fault(finding, "slot %u has a generation that was never given", i);
    }
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        const struct worker *worker = &supervisor->workers.entries[i];
        if (worker->held_count > GRANTS_HELD_MAX) {
            check_fault(finding, "%s holds %u grants", worker->name, worker->held_count);
            continue;
        }
        for (uint32_t k = 0; k < worker->held_count; k++) {
            const struct slot *slot = slot_at(supervisor, worker->held[k]);
            if (!slot || slot->state == SLOT_FREE || slot->owner != worker)
                check_fault(finding, "%s lists slot %u, which does not know of it", worker->name,
                            worker->held[k]);
        }
        held += worker->held_count;
    }
    check_note(finding, "%u grants held", held);
}

/* ---- jobs ---- */

static void check_partitions(const struct supervisor *supervisor, const struct job *job,
                             struct check_finding *finding)
{
    uint32_t with_slot = 0;
    for (uint32_t p = 0; job->slots && p < job->partition_count; p++) {
        if (job->slots[p] == SLOT_NONE)
            continue;
        const struct slot *slot = slot_at(supervisor, job->slots[p]);
        with_slot++;
        if (!slot || (slot->state == SLOT_FREE) != job->is_pending || slot->job != job->number ||
            slot->partition != p)
            check_fault(finding, "job %" PRIu64 " partition %u names slot %u, which is not its own",
                        job->number, p, job->slots[p]);
    }
    bool is_active = !job_is_terminal(job) && !job->is_pending && !job->waits_for_circuit;
    if (job->done_count > job->partition_count ||
        (is_active && with_slot + job->done_count != job->partition_count))
        check_fault(finding, "job %" PRIu64 " has %u partitions: %u are proved and %u have a slot",
                    job->number, job->partition_count, job->done_count, with_slot);
    /* Partitions that an earlier life proved never had one. */
    if (with_slot + job->released_count > job->partition_count)
        check_fault(finding, "job %" PRIu64 " has %u slots, and %u of %u were let go of",
                    job->number, with_slot, job->released_count, job->partition_count);
}

static void check_list(const struct supervisor *supervisor, const struct jobs_list *list,
                       bool is_active, size_t bytes, struct check_finding *finding)
{
    const char *name = is_active ? "active" : "finished";
    const struct job *previous = NULL;
    uint32_t count = 0;
    size_t sum = 0;
    for (const struct job *job = list->first; job && count <= list->count; job = job->next) {
        count++;
        sum += job->result_bytes;
        if (job->previous != previous || job_is_terminal(job) == is_active)
            check_fault(finding, "job %" PRIu64 " does not belong in the list of %s jobs",
                        job->number, name);
        if (jobs_find(&supervisor->jobs, job->number) != job)
            check_fault(finding, "job %" PRIu64 " is not found by its number", job->number);
        check_partitions(supervisor, job, finding);
        previous = job;
    }
    if (count != list->count || list->last != previous)
        check_fault(finding, "the list of %s jobs has %u entries and counts %u", name, count,
                    list->count);
    if (sum != bytes)
        check_fault(finding, "results of %s jobs take %zu bytes and count %zu", name, sum, bytes);
}

/* What each uid's share is counted by. */
static void check_users(const struct jobs *jobs, struct check_finding *finding)
{
    uint64_t bytes = 0, counted_bytes = 0;
    uint32_t counted = 0, settling = 0;
    for (const struct job *job = jobs->active.first; job; job = job->next)
        bytes += job->input_bytes;
    for (const struct job *job = jobs->finished.first; job; job = job->next)
        settling += job->is_settling;
    for (uint32_t i = 0; i < jobs->user_count; i++) {
        counted += jobs->users[i].jobs;
        counted_bytes += jobs->users[i].bytes;
    }
    if (counted != jobs->active.count || counted_bytes != bytes)
        check_fault(finding,
                    "the users together have %u jobs of %" PRIu64 " bytes, and %u jobs of %" PRIu64
                    " bytes are active",
                    counted, counted_bytes, jobs->active.count, bytes);
    if (settling != jobs->settling_count)
        check_fault(finding, "%u jobs wait for the journal and %u are counted", settling,
                    jobs->settling_count);
}

void check_jobs(const struct supervisor *supervisor, struct check_finding *finding)
{
    const struct jobs *jobs = &supervisor->jobs;
    check_users(jobs, finding);
    check_list(supervisor, &jobs->active, true, jobs->active_bytes, finding);
    check_list(supervisor, &jobs->finished, false, jobs->finished_bytes, finding);
    for (uint32_t i = 0; i < SLOTS_MAX; i++) {
        const struct slot *slot = &supervisor->slots.entries[i];
        if (slot->state == SLOT_FREE || slot->state == SLOT_ENDING)
            continue;
        const struct job *job = jobs_find(jobs, slot->job);
        if (!job || slot->partition >= job->partition_count ||
            job->slots[slot->partition] != slot->index)
            check_fault(finding,
                        "slot %u is %s for job %" PRIu64 " partition %u, which does not "
                        "know of it",
                        i, slot_state_to_string(slot->state), slot->job, slot->partition);
    }
    check_note(finding, "%u active, %u finished", jobs->active.count, jobs->finished.count);
}

/* ---- circuits ---- */

void check_circuits(const struct supervisor *supervisor, struct check_finding *finding)
{
    const struct circuits *circuits = &supervisor->circuits;
    uint32_t count = 0, preparing = 0, loading = 0, in_memory = 0;
    uint32_t slots[CIRCUITS_MAX] = {0};
    uint64_t key_bytes = 0;
    for (uint32_t i = 0; i < SLOTS_MAX; i++) {
        const struct slot *slot = &supervisor->slots.entries[i];
        if ((slot->state != SLOT_FREE || slot->is_reserved) && slot->circuit->key < CIRCUITS_MAX)
            slots[slot->circuit->key]++;
    }
    for (uint32_t key = 0; key < CIRCUITS_MAX; key++) {
        const struct circuit *circuit = circuits->entries[key];
        if (!circuit)
            continue;
        count++;
        if (circuit->key != key)
            check_fault(finding, "circuit %s stands under key %u and says %u", circuit->name, key,
                        circuit->key);
        if (slots[key] != circuit->slot_count)
            check_fault(finding, "circuit %s has %u partitions in flight and counts %u",
                        circuit->name, slots[key], circuit->slot_count);
        preparing += circuit->state == CIRCUIT_PREPARING && circuit->helper;
        loading += circuit->state == CIRCUIT_LOADING || circuit->state == CIRCUIT_SHARING;
        if (circuit->memory.fd >= 0) {
            key_bytes += circuit->memory.bytes;
            in_memory++;
        } else if (circuit->state == CIRCUIT_LOADED || circuit->state == CIRCUIT_SHARING) {
            check_fault(finding, "circuit %s is %s without a key in memory", circuit->name,
                        circuit_state_to_string(circuit->state));
        }
    }
    if (count != circuits->count || preparing != circuits->prepares_running ||
        loading != circuits->loads_running)
        check_fault(finding,
                    "%u circuits, %u being prepared and %u being loaded are counted as %u, %u and "
                    "%u",
                    count, preparing, loading, circuits->count, circuits->prepares_running,
                    circuits->loads_running);
    if (key_bytes != supervisor->memory.key_bytes_total)
        check_fault(finding, "keys take %" PRIu64 " bytes of memory and count %" PRIu64, key_bytes,
                    supervisor->memory.key_bytes_total);
    check_note(finding, "%u known, %u in memory (%" PRIu64 " bytes)", count, in_memory, key_bytes);
}

/* ---- counters ---- */

void check_counters(const struct supervisor *supervisor, struct check_finding *finding)
{
    uint32_t inputs_open = 0;
    uint64_t inline_bytes = 0, inline_max = (uint64_t)ADMISSION_INLINE_MIB_MAX << 20;
    for (uint32_t i = 0; i < SLOTS_MAX; i++) {
        const struct slot *slot = &supervisor->slots.entries[i];
        if (slot->state == SLOT_FREE && !slot->is_reserved)
            continue;
        /* The files of a submit under way are counted before they are here. */
        inputs_open += slot->is_reserved ? !slot->input.inline_bytes : slot->input.fd >= 0;
        inline_bytes += slot->input.inline_count;
    }
    if (inputs_open != supervisor->inputs_open || inputs_open > supervisor->descriptors_max)
        check_fault(finding, "%u witness files are open and %u are counted, of %u descriptors",
                    inputs_open, supervisor->inputs_open, supervisor->descriptors_max);
    if (inline_bytes != supervisor->inline_bytes || inline_bytes > inline_max)
        check_fault(finding,
                    "inline witnesses take %" PRIu64 " bytes and count %" PRIu64 ", of %" PRIu64,
                    inline_bytes, supervisor->inline_bytes, inline_max);
    if (supervisor->jobs.active.count > JOBS_ACTIVE_MAX)
        check_fault(finding, "%u jobs are active of %d", supervisor->jobs.active.count,
                    JOBS_ACTIVE_MAX);
    if (supervisor->control.client_count > CLIENTS_MAX)
        check_fault(finding, "%u clients are connected of %d", supervisor->control.client_count,
                    CLIENTS_MAX);
    check_note(finding, "%u witness files open, %" PRIu64 " bytes inline", inputs_open,
               inline_bytes);
}
