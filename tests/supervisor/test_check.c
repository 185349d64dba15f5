/* The checker of invariants finds nothing on a rig at any moment of its work, and finds each thing
 * that is broken on purpose. */
#include "supervisor/check.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/errands.h"
#include "supervisor/pipeline.h"
#include "tests/supervisor/rig.h"
#include "tests/test.h"

static struct rig rig;
static struct check_report report;

/* With a key in memory, as a loaded circuit has it. */
static void rig_up(void)
{
    struct slab_fault fault;
    rig_open(&rig);
    ASSERT_INT(memory_key_create(&rig.supervisor.memory, "key", 4096, SLAB_PAGES_OFF,
                                 &rig.circuit->memory, &fault),
               0);
    static const char page[4096];
    ASSERT_INT(pwrite(rig.circuit->memory.fd, page, sizeof page, 0), sizeof page);
}

static void rig_down(void)
{
    memory_key_destroy(&rig.supervisor.memory, &rig.circuit->memory);
    rig_close(&rig);
}

static void look(void)
{
    check_run(&rig.supervisor, &report);
}

/* The rig's workers have no processes. */
static bool is_of_processes(int item)
{
    return item == CHECK_PROCESSES;
}

static void assert_fine(void)
{
    look();
    for (int item = 0; item < CHECK_ITEM_COUNT; item++) {
        const struct check_finding *finding = &report.findings[item];
        if (is_of_processes(item) || finding->outcome != CHECK_BROKEN)
            continue;
        fprintf(stderr, "%s: %s\n", check_item_to_string((enum check_item)item), finding->text);
        ASSERT(!"nothing is broken");
    }
}

static void assert_broken(enum check_item item, const char *words)
{
    look();
    const struct check_finding *finding = &report.findings[item];
    ASSERT(!report.is_fine);
    ASSERT_STR(check_outcome_to_string(finding->outcome), "broken");
    ASSERT(finding->faults > 0);
    if (!strstr(finding->text, words))
        fprintf(stderr, "found: %s\n", finding->text);
    ASSERT(strstr(finding->text, words));
}

static void answer_one(unsigned i)
{
    enum blame blame = rig.workers[i].is_cancelled[0] ? BLAME_CANCELLED : BLAME_NONE;
    struct message answer = rig_answer_to(&rig, i, 0, blame);
    rig_say(&rig, i, &answer);
    rig_deliver(&rig, i);
}

static struct slot *slot_of(uint64_t job, uint32_t partition)
{
    return &rig.supervisor.slots.entries[jobs_find(&rig.supervisor.jobs, job)->slots[partition]];
}

/* Turns until the slot is in that state; nothing but the rig's own way there. */
static struct slot *bring_to(uint64_t job, enum slot_state state)
{
    struct slot *slot = slot_of(job, 0);
    for (int turn = 0; turn < 50 && slot->state != state; turn++) {
        rig_turn(&rig);
        if (slot->state != state && slot->owner)
            answer_one((unsigned)(slot->owner - rig.supervisor.workers.entries));
    }
    ASSERT_INT(slot->state, state);
    return slot;
}

/* One partition in flight, with its slab and its owner. */
static struct slot *open_with_one(enum slot_state state)
{
    rig_up();
    uint64_t job = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
    ASSERT(job);
    struct slot *slot = bring_to(job, state);
    assert_fine();
    return slot;
}

TEST(random_work_with_deaths_and_cancels_breaks_nothing)
{
    uint64_t random = test_seed(), jobs[64];
    unsigned job_count = 0;
    rig_up();
    for (int step = 0; step < 1500; step++) {
        unsigned i = (unsigned)(test_random(&random) % RIG_WORKERS);
        switch (test_random(&random) % 8) {
        case 0:
            if (job_count < 64) {
                uint64_t job = rig_submit(&rig, 1 + (uint32_t)(test_random(&random) % 6),
                                          REQUEST_PRIORITY_NORMAL);
                if (job)
                    jobs[job_count++] = job;
            }
            break;
        case 1:
            if (test_random(&random) % 8 == 0)
                rig_kill(&rig, i);
            break;
        case 2:
            if (job_count > 0 && test_random(&random) % 4 == 0) {
                struct job *job =
                    jobs_find(&rig.supervisor.jobs, jobs[test_random(&random) % job_count]);
                if (jobs_cancel(&rig.supervisor.jobs, job, rig.supervisor.now_ns))
                    pipeline_drop_job(&rig.supervisor, job);
            }
            break;
        case 3:
        case 4:
            rig_turn(&rig);
            break;
        default:
            if (rig.workers[i].held_count > 0)
                answer_one(i);
        }
        if (step % 10 == 0)
            assert_fine();
    }
    assert_fine();
    rig_down();
}

TEST(an_idle_service_is_said_to_be_idle_and_a_busy_one_busy)
{
    rig_up();
    look();
    ASSERT(report.is_idle);
    ASSERT_STR(report.findings[CHECK_SLOTS].text, "16384 of 16384 free");
    ASSERT_STR(report.findings[CHECK_SLABS].text, "3 of 3 free");
    rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
    rig_turn(&rig);
    look();
    ASSERT(!report.is_idle);
    ASSERT_INT(report.findings[CHECK_DESCRIPTORS].outcome, CHECK_SKIPPED);
    ASSERT_STR(report.findings[CHECK_SLABS].text, "2 of 3 free");
    rig_down();
}

TEST(finds_a_slot_that_is_lost_or_free_twice)
{
    struct slots *slots = &rig.supervisor.slots;
    rig_up();
    slots->free_count--;
    assert_broken(CHECK_SLOTS, "is not in the list of free slots");
    slots->free_count++;
    slots->free[0] = slots->free[1];
    assert_broken(CHECK_SLOTS, "twice");
    rig_down();
    rig_up();
    slots->state_counts[SLOT_READY]++;
    assert_broken(CHECK_SLOTS, "counted");
    rig_down();
}

TEST(finds_a_slot_in_the_wrong_queue_or_in_none)
{
    struct slots *slots = &rig.supervisor.slots;
    struct slot *slot = open_with_one(SLOT_READY);
    slots->ready.ordinary.count--;
    assert_broken(CHECK_QUEUES, "1 slots wait, 0 are in the queues");
    slots->ready.ordinary.count++;
    slot->is_suspect = true;
    assert_broken(CHECK_QUEUES, "suspect");
    slot->is_suspect = false;
    slot->order_key++;
    assert_broken(CHECK_QUEUES, "out of order");
    slot->order_key--;
    slots->positions[slot->index] = 5;
    assert_broken(CHECK_QUEUES, "elsewhere");
    slots->positions[slot->index] = 0;
    assert_fine();
    rig_down();
}

TEST(finds_a_slab_that_nobody_has_or_two_have)
{
    struct slot *slot = open_with_one(SLOT_READY);
    int slab = slot->slab;
    slot->slab = -1;
    assert_broken(CHECK_SLABS, "is held in its ring's table and 0 slots have it");
    slot->slab = (slab + 1) % RIG_SLABS;
    assert_broken(CHECK_SLABS, "slab");
    slot->slab = slab;
    slot->partition = 7;
    assert_broken(CHECK_SLABS, "is bound to job");
    slot->partition = 0;
    struct slab_ring_entry *entry = &rig.supervisor.memory.rings[0].ring.table->entries[slab];
    atomic_fetch_add(&entry->slab, 1);
    assert_broken(CHECK_SLABS, "is called");
    atomic_fetch_sub(&entry->slab, 1);
    slot->is_reclaimable = true;
    assert_broken(CHECK_SLABS, "may be taken early");
    slot->is_reclaimable = false;
    assert_fine();
    rig_down();
}

TEST(finds_a_table_that_miscounts)
{
    struct slot *slot = open_with_one(SLOT_READY);
    struct slab_ring_table *table = rig.supervisor.memory.rings[0].ring.table;
    (void)slot;
    atomic_fetch_add(&table->occupancy, 1);
    assert_broken(CHECK_SLABS, "its table counts 2");
    atomic_fetch_sub(&table->occupancy, 1);
    atomic_fetch_add(&table->tail, 1);
    assert_broken(CHECK_SLABS, "oldest ticket");
    atomic_fetch_sub(&table->tail, 1);
    rig.supervisor.memory.rings[0].count--;
    assert_broken(CHECK_SLABS, "has 3 slabs and 0 that leave, and counts 2");
    rig.supervisor.memory.rings[0].count++;
    rig.supervisor.memory.places[0].state = MEMORY_SLAB_LEAVING;
    assert_broken(CHECK_SLABS, "slab 0 is not in its ring and 1 slots have it");
    rig.supervisor.memory.places[0].state = MEMORY_SLAB_RINGED;
    assert_fine();
    rig_down();
}

TEST(finds_an_owner_without_its_slot_and_a_slot_without_its_owner)
{
    struct slot *slot = open_with_one(SLOT_SYNTHESIZING);
    struct worker *owner = slot->owner;
    slot->owner = NULL;
    assert_broken(CHECK_OWNERS, "has no owner");
    slot->owner = owner;
    owner->held_count = 0;
    assert_broken(CHECK_OWNERS, "lists it 0 times");
    owner->held_count = 1;
    owner->state = WORKER_DOWN;
    assert_broken(CHECK_OWNERS, "which does not run");
    owner->state = WORKER_RUNNING;
    owner->held[1] = 40;
    owner->held_count = 2;
    assert_broken(CHECK_OWNERS, "lists slot 40");
    owner->held_count = 1;
    slot->generation += 1000;
    assert_broken(CHECK_OWNERS, "generation");
    slot->generation -= 1000;
    assert_fine();
    rig_down();
}

TEST(finds_a_partition_that_went_missing)
{
    struct slot *slot = open_with_one(SLOT_READY);
    struct job *job = jobs_find(&rig.supervisor.jobs, slot->job);
    job->slots[0] = SLOT_NONE;
    assert_broken(CHECK_JOBS, "0 are proved and 0 have a slot");
    job->slots[0] = slot->index + 1;
    assert_broken(CHECK_JOBS, "not its own");
    job->slots[0] = slot->index;
    rig.supervisor.jobs.active_bytes++;
    assert_broken(CHECK_JOBS, "bytes");
    rig.supervisor.jobs.active_bytes--;
    rig.supervisor.jobs.active.count++;
    assert_broken(CHECK_JOBS, "2 jobs of 7 bytes are active");
    rig.supervisor.jobs.active.count--;
    assert_fine();
    rig_down();
}

TEST(finds_counts_of_circuits_and_bytes_that_drift)
{
    struct supervisor *supervisor = &rig.supervisor;
    struct slot *slot = open_with_one(SLOT_READY);
    slot->circuit->slot_count++;
    assert_broken(CHECK_CIRCUITS, "1 partitions in flight and counts 2");
    slot->circuit->slot_count--;
    supervisor->circuits.loads_running++;
    assert_broken(CHECK_CIRCUITS, "being loaded");
    supervisor->circuits.loads_running--;
    supervisor->memory.key_bytes_total += 4096;
    assert_broken(CHECK_CIRCUITS, "keys take");
    supervisor->memory.key_bytes_total -= 4096;
    supervisor->inline_bytes--;
    assert_broken(CHECK_COUNTERS, "inline witnesses");
    supervisor->inline_bytes++;
    supervisor->inputs_open--; /* below zero: a huge number */
    assert_broken(CHECK_COUNTERS, "witness files");
    supervisor->inputs_open++;
    assert_fine();
    rig_down();
}

TEST(finds_a_child_that_nobody_knows)
{
    rig_up();
    pid_t pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    char words[64];
    snprintf(words, sizeof words, "process %d (", (int)pid);
    rig.supervisor.workers.entries[0].child.pid = pid;
    look();
    ASSERT(!strstr(report.findings[CHECK_PROCESSES].text, words));
    rig.supervisor.workers.entries[0].child.pid = 0;
    look();
    ASSERT_INT(report.findings[CHECK_PROCESSES].outcome, CHECK_BROKEN);
    ASSERT(strstr(report.findings[CHECK_PROCESSES].text, words));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    rig_down();
}

TEST(finds_a_worker_that_is_said_to_run_and_does_not)
{
    rig_up();
    assert_broken(CHECK_PROCESSES, "synth-0 is said to run and has no process");
    rig_down();
}

TEST(finds_descriptors_that_leak_or_were_closed_by_kind)
{
    rig_up();
    check_tick(&rig.supervisor);
    assert_fine();
    ASSERT_INT(report.findings[CHECK_DESCRIPTORS].outcome, CHECK_FINE);
    int leaked = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_broken(CHECK_DESCRIPTORS, "1 files and folders more are open");
    close(leaked);
    leaked = eventfd(0, EFD_CLOEXEC);
    assert_broken(CHECK_DESCRIPTORS, "1 event counters more are open");
    close(leaked);
    struct worker *worker = &rig.supervisor.workers.entries[0];
    int bell = fcntl(worker->bell_in, F_DUPFD_CLOEXEC, 0);
    close(worker->bell_in);
    close(bell);
    assert_broken(CHECK_DESCRIPTORS, "1 event counters fewer are open");
    worker->bell_in = eventfd(0, EFD_CLOEXEC);
    assert_fine();
    rig_down();
}

static struct {
    struct errand errand;
    int gate, fd;
} closing;

/* As close_later does: the record has let go of the descriptor already. */
static void close_behind_the_gate(struct errand *errand)
{
    char byte;
    (void)errand;
    if (read(closing.gate, &byte, 1) == 1)
        close(closing.fd);
}

TEST(the_baseline_waits_for_descriptors_that_go)
{
    int gate[2];
    rig_up();
    ASSERT_INT(errands_create(1, &rig.supervisor.spool.errands), 0);
    ASSERT_INT(pipe2(gate, O_CLOEXEC), 0);
    closing.errand.run = close_behind_the_gate;
    closing.gate = gate[0];
    closing.fd = eventfd(0, EFD_CLOEXEC);
    errands_push(rig.supervisor.spool.errands, &closing.errand);
    check_tick(&rig.supervisor);
    ASSERT(!rig.supervisor.check_baseline.is_there);
    ASSERT_INT(write(gate[1], "x", 1), 1);
    while (!errands_are_done(rig.supervisor.spool.errands))
        usleep(1000);
    rig.supervisor.admission.ticket_count = 1;
    check_tick(&rig.supervisor);
    ASSERT(!rig.supervisor.check_baseline.is_there);
    rig.supervisor.admission.ticket_count = 0;
    look();
    ASSERT_INT(report.findings[CHECK_DESCRIPTORS].outcome, CHECK_SKIPPED);
    check_tick(&rig.supervisor);
    assert_fine();
    ASSERT_INT(report.findings[CHECK_DESCRIPTORS].outcome, CHECK_FINE);
    ASSERT(errands_free(rig.supervisor.spool.errands, 1000));
    rig.supervisor.spool.errands = NULL;
    close(gate[0]);
    close(gate[1]);
    rig_down();
}

TEST(finds_a_slab_without_its_memory)
{
    rig_up();
    rig.supervisor.memory.slabs[1].bytes += 4096;
    assert_broken(CHECK_MEMORY, "slab 1 has");
    rig.supervisor.memory.slabs[1].bytes -= 4096;
    rig.supervisor.memory.slab_bytes_total += 4096;
    assert_broken(CHECK_MEMORY, "slabs have");
    rig.supervisor.memory.slab_bytes_total -= 4096;
    int fd = rig.supervisor.memory.slabs[1].fd, kept = dup(fd);
    close(fd);
    assert_broken(CHECK_MEMORY, "not open");
    ASSERT_INT(dup2(kept, fd), fd);
    close(kept);
    assert_fine();
    rig_down();
}

TEST(finds_a_file_in_the_spool_that_nobody_wants)
{
    char folder[96], file[128];
    rig_up();
    snprintf(folder, sizeof folder, "%s/spool", rig.folder);
    snprintf(file, sizeof file, "%s/7-0", folder);
    rig.supervisor.config.spool_directory = folder;
    ASSERT_INT(spool_open(&rig.supervisor), 0);
    assert_fine();
    ASSERT_INT(report.findings[CHECK_SPOOL].outcome, CHECK_FINE);
    close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_broken(CHECK_SPOOL, "7-0 lies in the spool");
    unlink(file);
    spool_reserve(&rig.supervisor, 100);
    assert_broken(CHECK_SPOOL, "100 bytes to come");
    spool_release(&rig.supervisor, 100);
    assert_fine();
    spool_close(&rig.supervisor);
    rmdir(folder);
    rig_down();
}

TEST(finds_a_journal_that_counts_fewer_jobs_than_memory)
{
    struct supervisor *supervisor = &rig.supervisor;
    struct journal_note note;
    char file[128];
    rig_up();
    uint64_t number = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
    struct job *job = jobs_find(&supervisor->jobs, number);
    for (int turn = 0; turn < 50 && !job_is_terminal(job); turn++) {
        rig_turn(&rig);
        for (unsigned i = 0; i < RIG_WORKERS; i++) {
            if (rig.workers[i].held_count > 0)
                answer_one(i);
        }
    }
    ASSERT_INT(journal_open(rig.folder, &supervisor->durable.journal, &note), 0);
    assert_fine();
    ASSERT_INT(report.findings[CHECK_JOURNAL].outcome, CHECK_FINE);
    job->is_journalled = true;
    assert_broken(CHECK_JOURNAL, "1 jobs in memory have ended in the journal, which counts 0");
    job->is_journalled = false;
    journal_close(supervisor->durable.journal);
    supervisor->durable.journal = NULL;
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(file, sizeof file, "%s/journal.db%s", rig.folder, ends[i]);
        unlink(file);
    }
    rig_down();
}

TEST_MAIN(CASE(random_work_with_deaths_and_cancels_breaks_nothing),
          CASE(an_idle_service_is_said_to_be_idle_and_a_busy_one_busy),
          CASE(finds_a_slot_that_is_lost_or_free_twice),
          CASE(finds_a_slot_in_the_wrong_queue_or_in_none),
          CASE(finds_a_slab_that_nobody_has_or_two_have), CASE(finds_a_table_that_miscounts),
          CASE(finds_an_owner_without_its_slot_and_a_slot_without_its_owner),
          CASE(finds_a_partition_that_went_missing),
          CASE(finds_counts_of_circuits_and_bytes_that_drift),
          CASE(finds_a_child_that_nobody_knows),
          CASE(finds_a_worker_that_is_said_to_run_and_does_not),
          CASE(finds_descriptors_that_leak_or_were_closed_by_kind),
          CASE(the_baseline_waits_for_descriptors_that_go), CASE(finds_a_slab_without_its_memory),
          CASE(finds_a_file_in_the_spool_that_nobody_wants),
          CASE(finds_a_journal_that_counts_fewer_jobs_than_memory))
