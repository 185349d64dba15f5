/* supervisor/key_loads.h and deliveries.h: what becomes of a key that a GPU worker dies over or
 * refuses, and of everything else meanwhile. */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/check.h"
#include "supervisor/circuit_helpers.h"
#include "supervisor/deliveries.h"
#include "tests/supervisor/rig.h"
#include "tests/test.h"

enum {
    GPU = RIG_SYNTHS, /* the first GPU worker */
    OTHER_GPU = GPU + 1,
};

static struct rig rig;

static struct worker *worker_of(unsigned i)
{
    return &rig.supervisor.workers.entries[i];
}

static void open_rig(unsigned gpus)
{
    rig_open(&rig);
    rig.circuit->shared_fd = memfd_create("key", MFD_CLOEXEC); /* for who comes back */
    if (gpus == 1)
        worker_of(OTHER_GPU)->state = WORKER_STOPPING;
}

/* A second circuit whose key lies in memory and is now offered to the workers. */
static struct circuit *share(const char *name)
{
    struct circuit *circuit = circuits_create(&rig.supervisor, name);
    CHECK(circuit);
    circuit->facts = rig.circuit->facts;
    circuit->memory = (struct slab){.fd = memfd_create("key", MFD_CLOEXEC), .bytes = 4096};
    circuit->shared_fd = dup(circuit->memory.fd);
    rig.supervisor.memory.key_bytes_total += 4096;
    rig.supervisor.memory.ordinary_count++;
    rig.supervisor.circuits.loads_running++;
    circuit->state = CIRCUIT_SHARING;
    return circuit;
}

static void tick(void)
{
    circuits_tick(&rig.supervisor);
    for (unsigned i = 0; i < RIG_WORKERS; i++)
        rig_take(&rig, i);
}

/* What worker i holds of this operation; -1 when nothing. */
static int find(unsigned i, enum operation operation, uint64_t key)
{
    for (unsigned h = 0; h < rig.workers[i].held_count; h++) {
        const struct message *grant = &rig.workers[i].held[h];
        if (grant->operation == operation && grant->numbers[GRANT_KEY] == key)
            return (int)h;
    }
    return -1;
}

static void answer(unsigned i, enum operation operation, uint64_t key, enum blame blame,
                   const char *text)
{
    int h = find(i, operation, key);
    ASSERT(h >= 0);
    struct message message = rig_answer_to(&rig, i, (unsigned)h, blame);
    message.payload_bytes = (uint16_t)strlen(text);
    memcpy(message.payload, text, message.payload_bytes);
    rig_say(&rig, i, &message);
    rig_deliver(&rig, i);
    rig_take(&rig, i);
}

/* A death, and the new process saying READY. */
static void die_and_come_back(unsigned i)
{
    rig_kill(&rig, i);
    for (uint32_t key = 0; key < CIRCUITS_MAX; key++)
        worker_of(i)->keys[key] = WORKER_KEY_ABSENT;
    deliveries_begin(worker_of(i));
    rig_take(&rig, i);
}

static enum request_job_state state_of(uint64_t number)
{
    return jobs_find(&rig.supervisor.jobs, number)->state;
}

static void close_rig(struct circuit *circuit)
{
    circuit_unload(circuit);
    free(circuit);
    close(rig.circuit->shared_fd);
    rig_close(&rig);
}

TEST(a_key_is_loaded_once_every_gpu_worker_has_it)
{
    open_rig(2);
    struct circuit *circuit = share("k");
    uint64_t job = rig_submit_to(&rig, "k", 2);
    tick();
    ASSERT_INT(find(GPU, OPERATION_LOAD_KEY, circuit->key) >= 0, 1);
    answer(GPU, OPERATION_LOAD_KEY, circuit->key, BLAME_NONE, "resident");
    tick();
    ASSERT_INT(circuit->state, CIRCUIT_SHARING);
    answer(OTHER_GPU, OPERATION_LOAD_KEY, circuit->key, BLAME_NONE, "streamed");
    tick();
    ASSERT_INT(circuit->state, CIRCUIT_LOADED);
    ASSERT_STR(circuit->plans[0], "resident");
    ASSERT_STR(circuit->plans[1], "streamed");
    ASSERT_INT(state_of(job), REQUEST_JOB_QUEUED);
    close_rig(circuit);
}

TEST(no_key_is_loaded_while_no_gpu_worker_holds_it)
{
    open_rig(2);
    struct circuit *circuit = share("k");
    for (unsigned i = GPU; i <= OTHER_GPU; i++)
        worker_of(i)->state = WORKER_STARTING;
    tick();
    tick();
    ASSERT(circuit->is_shared);
    ASSERT_INT(circuit->state, CIRCUIT_SHARING);
    close_rig(circuit);
}

TEST(a_key_that_ends_every_card_in_turn_is_given_up)
{
    open_rig(2);
    struct circuit *circuit = share("k");
    tick();
    rig_kill(&rig, GPU);
    ASSERT_INT(circuit->state, CIRCUIT_SHARING);
    rig_kill(&rig, OTHER_GPU);
    ASSERT_INT(circuit->state, CIRCUIT_FAILED);
    close_rig(circuit);
}

/* The first death may be bad luck. The second, over nothing but this key, is the key's. */
static void kill_by_key(bool was_loaded)
{
    open_rig(1);
    uint64_t other = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
    struct circuit *circuit = share("k");
    uint64_t job = rig_submit_to(&rig, "k", 3);
    tick();
    if (was_loaded) {
        answer(GPU, OPERATION_LOAD_KEY, circuit->key, BLAME_NONE, "resident");
        tick();
        ASSERT_INT(circuit->state, CIRCUIT_LOADED);
        die_and_come_back(GPU); /* of something else: nothing was being loaded */
        ASSERT_INT(circuit->key_deaths, 0);
        answer(GPU, OPERATION_LOAD_KEY, rig.circuit->key, BLAME_NONE, "");
    }
    for (int death = 1; death <= CIRCUITS_KEY_DEATHS_MAX; death++) {
        ASSERT_INT(circuit->key_deaths, death - 1);
        ASSERT(find(GPU, OPERATION_LOAD_KEY, circuit->key) >= 0);
        ASSERT_INT(find(GPU, OPERATION_LOAD_KEY, rig.circuit->key), -1);
        die_and_come_back(GPU);
        if (find(GPU, OPERATION_LOAD_KEY, rig.circuit->key) >= 0)
            answer(GPU, OPERATION_LOAD_KEY, rig.circuit->key, BLAME_NONE, "");
    }
    ASSERT_INT(circuit->state, CIRCUIT_FAILED);
    ASSERT(strstr(circuit->error, "loading its key ended the GPU worker 2 times"));
    ASSERT_INT(state_of(job), REQUEST_JOB_FAILED);
    ASSERT_INT(rig.supervisor.circuits.loads_running, 0);
    ASSERT_INT(rig_submit_to(&rig, "k", 1), 0); /* refused */
    /* The others go on: nothing of the key is in the way. */
    ASSERT_INT(find(GPU, OPERATION_LOAD_KEY, circuit->key), -1);
    ASSERT(worker_is_available(worker_of(GPU), rig.supervisor.now_ns));
    ASSERT_INT(state_of(other), REQUEST_JOB_QUEUED);
    tick();
    ASSERT_INT(circuit->memory.fd, -1); /* let go of */
    ASSERT_INT(circuit->state, CIRCUIT_FAILED);
    close_rig(circuit);
}

TEST(a_key_that_ends_the_worker_when_it_is_first_loaded_is_given_up)
{
    kill_by_key(false);
}

TEST(a_loaded_key_that_ends_the_restarted_worker_is_given_up)
{
    kill_by_key(true);
}

/* Two keys at once: neither is blamed, and each comes alone next. */
TEST(suspects_are_loaded_one_at_a_time)
{
    open_rig(1);
    struct circuit *a = share("a"), *b = share("b");
    tick();
    ASSERT(find(GPU, OPERATION_LOAD_KEY, a->key) >= 0);
    ASSERT(find(GPU, OPERATION_LOAD_KEY, b->key) >= 0);
    die_and_come_back(GPU);
    ASSERT(a->is_key_suspect && b->is_key_suspect);
    ASSERT_INT(a->key_deaths + b->key_deaths, 0);
    /* First the one that nobody suspects. */
    answer(GPU, OPERATION_LOAD_KEY, rig.circuit->key, BLAME_NONE, "");
    ASSERT(find(GPU, OPERATION_LOAD_KEY, a->key) >= 0);
    ASSERT_INT(find(GPU, OPERATION_LOAD_KEY, b->key), -1);
    answer(GPU, OPERATION_LOAD_KEY, a->key, BLAME_NONE, "resident");
    ASSERT(!a->is_key_suspect);
    ASSERT(find(GPU, OPERATION_LOAD_KEY, b->key) >= 0);
    die_and_come_back(GPU);
    ASSERT_INT(a->key_deaths, 0);
    ASSERT_INT(b->key_deaths, 1);
    circuit_unload(a);
    free(a);
    close_rig(b);
}

TEST(a_key_that_another_card_holds_is_not_blamed)
{
    open_rig(2);
    struct circuit *circuit = share("k");
    tick();
    answer(OTHER_GPU, OPERATION_LOAD_KEY, circuit->key, BLAME_NONE, "resident");
    for (int death = 0; death < 4; death++) {
        die_and_come_back(GPU);
        if (find(GPU, OPERATION_LOAD_KEY, rig.circuit->key) >= 0)
            answer(GPU, OPERATION_LOAD_KEY, rig.circuit->key, BLAME_NONE, "");
        tick();
    }
    ASSERT_INT(circuit->state, CIRCUIT_LOADED);
    close_rig(circuit);
}

/* Short of memory today: the next job may try again, once the last partition has let go. */
TEST(a_refused_key_takes_its_jobs_along_and_may_be_tried_again)
{
    open_rig(1);
    struct circuit *circuit = share("k");
    tick();
    answer(GPU, OPERATION_LOAD_KEY, circuit->key, BLAME_NONE, "resident");
    tick();
    uint64_t job = rig_submit_to(&rig, "k", 1);
    rig_turn(&rig); /* a synthesis worker holds the partition */
    ASSERT_INT(circuit->slot_count, 1);
    die_and_come_back(GPU);
    answer(GPU, OPERATION_LOAD_KEY, rig.circuit->key, BLAME_NONE, "");
    answer(GPU, OPERATION_LOAD_KEY, circuit->key, BLAME_DEVICE, "needs 9G, 8G are free");
    ASSERT_INT(circuit->state, CIRCUIT_FAILED);
    ASSERT_STR(circuit->error, "gpu-0: needs 9G, 8G are free");
    ASSERT_INT(state_of(job), REQUEST_JOB_FAILED);
    ASSERT(worker_is_available(worker_of(GPU), rig.supervisor.now_ns));
    tick();
    ASSERT(circuit->memory.fd >= 0); /* the partition is still in a worker's hands */
    ASSERT_INT(circuit->state, CIRCUIT_FAILED);
    for (unsigned i = 0; i < RIG_SYNTHS; i++) {
        if (rig.workers[i].held_count == 0)
            continue;
        struct message cancelled = rig_answer_to(&rig, i, 0, BLAME_CANCELLED);
        rig_say(&rig, i, &cancelled);
        rig_deliver(&rig, i);
    }
    ASSERT_INT(circuit->slot_count, 0);
    tick();
    ASSERT_INT(circuit->state, CIRCUIT_PREPARED);
    ASSERT_INT(circuit->memory.fd, -1);
    close_rig(circuit);
}

/* DROP_KEY is on its way: the number is not used again before it is answered. */
TEST(a_key_is_shared_again_only_when_the_last_one_is_gone)
{
    open_rig(2);
    struct circuit *circuit = share("k");
    tick();
    for (unsigned i = GPU; i <= OTHER_GPU; i++)
        answer(i, OPERATION_LOAD_KEY, circuit->key, BLAME_NONE, "resident");
    tick();
    deliveries_drop_key(&rig.supervisor, circuit->key);
    circuit->state = CIRCUIT_SHARING;
    circuit->is_shared = false;
    rig.supervisor.circuits.loads_running++;
    tick();
    ASSERT(!circuit->is_shared);
    for (unsigned i = 0; i < RIG_WORKERS; i++) {
        ASSERT(!circuit->is_shared);
        answer(i, OPERATION_DROP_KEY, circuit->key, BLAME_NONE, "");
        tick();
    }
    ASSERT(circuit->is_shared);
    ASSERT(find(GPU, OPERATION_LOAD_KEY, circuit->key) >= 0);
    close_rig(circuit);
}

TEST_MAIN(CASE(a_key_is_loaded_once_every_gpu_worker_has_it),
          CASE(no_key_is_loaded_while_no_gpu_worker_holds_it),
          CASE(a_key_that_ends_every_card_in_turn_is_given_up),
          CASE(a_key_that_ends_the_worker_when_it_is_first_loaded_is_given_up),
          CASE(a_loaded_key_that_ends_the_restarted_worker_is_given_up),
          CASE(suspects_are_loaded_one_at_a_time),
          CASE(a_key_that_another_card_holds_is_not_blamed),
          CASE(a_refused_key_takes_its_jobs_along_and_may_be_tried_again),
          CASE(a_key_is_shared_again_only_when_the_last_one_is_gone))
