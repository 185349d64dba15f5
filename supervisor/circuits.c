/* The registry of circuits: see circuits.h. Upstream: the configuration, control.c (circuit_add),
 * the policy (circuits_load); downstream: helpers, circuit_store.c, deliveries.c. */
#include "supervisor/circuits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/units.h"
#include "runtime/check.h"
#include "runtime/log.h"
#include "supervisor/circuit_config.h"
#include "supervisor/circuit_helpers.h"
#include "supervisor/deliveries.h"
#include "supervisor/supervisor.h"

static void entry_free(struct circuits *circuits, struct circuit *circuit);

const char *circuit_state_to_string(enum circuit_state state)
{
    switch (state) {
    case CIRCUIT_PREPARING:
        return "preparing";
    case CIRCUIT_PREPARED:
        return "ready";
    case CIRCUIT_LOADING:
    case CIRCUIT_SHARING:
        return "loading";
    case CIRCUIT_LOADED:
        return "loaded";
    case CIRCUIT_FAILED:
        break;
    }
    return "failed";
}

/* A prepared circuit of the state folder. */
static void on_record(void *context, const struct circuit_record *record)
{
    struct supervisor *supervisor = context;
    if (record->is_configured && !circuit_config_names(&supervisor->config, record->name)) {
        log_info("circuit %s is no longer in the configuration: forgotten", record->name);
        circuit_store_forget(&supervisor->circuits.store, record->name);
        return;
    }
    struct circuit *circuit = circuits_create(supervisor, record->name);
    if (!circuit) {
        log_warn("circuit %s is left out: there are more than %d", record->name, CIRCUITS_MAX);
        return;
    }
    circuit->facts = record->facts;
    circuit->source = record->source;
    circuit->is_configured = record->is_configured;
    int fd = circuit_store_key_open(&supervisor->circuits.store, circuit->facts.key_digest);
    if (fd >= 0)
        close(fd);
    if (fd < 0) {
        circuit->state = CIRCUIT_FAILED;
        snprintf(
            circuit->error, sizeof circuit->error,
            "its prepared key %s.czk is gone from %s (%s): remove the circuit and add it again",
            circuit->facts.key_digest, supervisor->circuits.store.keys, strerror(-fd));
    } else {
        circuit_settle_prepared(circuit);
    }
    if (circuit->state == CIRCUIT_FAILED)
        log_warn("circuit %s cannot be used: %s", circuit->name, circuit->error);
}

int circuits_init(struct supervisor *supervisor)
{
    struct circuits *circuits = &supervisor->circuits;
    int r = circuit_store_open(&circuits->store, supervisor->config.state_directory,
                               supervisor->config.cache_directory);
    if (r < 0)
        return r;
    r = circuit_store_scan(&circuits->store, on_record, supervisor);
    if (r < 0) {
        log_error("cannot read %s: %s", circuits->store.records, strerror(-r));
        return r;
    }
    log_info("%u circuits are known from the state folder", circuits->count);
    return circuit_config_begin(supervisor);
}

uint64_t circuit_slab_bytes(const struct circuit *circuit)
{
    return facts_slab_bytes(&circuit->facts, !circuit->supervisor->config.device_evaluates);
}

void circuits_destroy(struct circuits *circuits)
{
    for (uint32_t key = 0; key < CIRCUITS_MAX; key++) {
        if (circuits->entries[key])
            entry_free(circuits, circuits->entries[key]);
    }
    circuit_store_close(&circuits->store);
}

struct circuit *circuits_find(const struct circuits *circuits, const char *name)
{
    for (uint32_t key = 0; key < CIRCUITS_MAX; key++) {
        struct circuit *circuit = circuits->entries[key];
        if (circuit && strcmp(circuit->name, name) == 0)
            return circuit;
    }
    return NULL;
}

struct circuit *circuits_create(struct supervisor *supervisor, const char *name)
{
    struct circuits *circuits = &supervisor->circuits;
    for (uint32_t i = 0; i < CIRCUITS_MAX; i++) {
        uint32_t key = (circuits->next_key + i) % CIRCUITS_MAX;
        if (circuits->entries[key] || !deliveries_key_is_gone(supervisor, key))
            continue;
        struct circuit *circuit = calloc(1, sizeof *circuit);
        if (!circuit)
            return NULL;
        circuit->supervisor = supervisor;
        circuit->key = key;
        circuit->memory.fd = circuit->shared_fd = circuit->zkey_fd = circuit->r1cs_fd = -1;
        snprintf(circuit->name, sizeof circuit->name, "%s", name);
        circuits->entries[key] = circuit;
        circuits->count++;
        circuits->next_key = (key + 1) % CIRCUITS_MAX;
        return circuit;
    }
    return NULL;
}

static void entry_free(struct circuits *circuits, struct circuit *circuit)
{
    circuit_helpers_abort(circuit);
    circuit_unload(circuit);
    CHECK(circuits->entries[circuit->key] == circuit && circuits->count > 0);
    circuits->entries[circuit->key] = NULL;
    circuits->count--;
    free(circuit);
}

int circuits_add(struct supervisor *supervisor, const char *name, int zkey_fd, int r1cs_fd,
                 struct circuit **ret)
{
    struct circuit *circuit = NULL;
    int r = -EEXIST;
    if (!circuits_find(&supervisor->circuits, name)) {
        circuit = circuits_create(supervisor, name);
        r = circuit ? 0 : -ENOSPC;
    }
    if (r < 0) {
        close(zkey_fd);
        if (r1cs_fd >= 0)
            close(r1cs_fd);
        return r;
    }
    circuit_prepare(circuit, zkey_fd, r1cs_fd); /* the next tick starts it */
    *ret = circuit;
    return 0;
}

bool circuits_use_digest(const struct circuits *circuits, const char *digest)
{
    for (uint32_t key = 0; key < CIRCUITS_MAX; key++) {
        const struct circuit *circuit = circuits->entries[key];
        if (circuit && strcmp(circuit->facts.key_digest, digest) == 0)
            return true;
    }
    return false;
}

int circuits_remove(struct supervisor *supervisor, struct circuit *circuit)
{
    struct circuits *circuits = &supervisor->circuits;
    char digest[FACTS_DIGEST_TEXT_BYTES];
    if (circuit->slot_count > 0 || circuit->state == CIRCUIT_PREPARING ||
        circuit->state == CIRCUIT_LOADING || circuit->state == CIRCUIT_SHARING)
        return -EBUSY;
    int r = circuit_store_forget(&circuits->store, circuit->name);
    if (r < 0)
        return r;
    log_info("circuit %s is removed", circuit->name);
    memcpy(digest, circuit->facts.key_digest, sizeof digest);
    deliveries_drop_key(supervisor, circuit->key);
    entry_free(circuits, circuit);
    if (digest[0] && !circuits_use_digest(circuits, digest))
        circuit_store_key_remove(&circuits->store, digest);
    return 0;
}

void circuits_load(struct supervisor *supervisor, struct circuit *circuit)
{
    CHECK(supervisor->circuits.loads_running < DISPATCH_LOADS_MAX);
    if (circuit->state == CIRCUIT_PREPARED)
        circuit_load(circuit);
    else /* it failed between the admission of a job and now */
        circuit_fail_jobs(circuit);
}

/* Shared once nobody holds an older key under the number; loaded once every worker has it. */
static void settle_shared(struct circuit *circuit)
{
    struct supervisor *supervisor = circuit->supervisor;
    if (!circuit->is_shared && deliveries_key_is_gone(supervisor, circuit->key)) {
        circuit->is_shared = true;
        deliveries_share_key(supervisor, circuit);
    }
    if (circuit->state != CIRCUIT_SHARING || !circuit->is_shared ||
        !deliveries_key_is_held(supervisor, circuit->key))
        return;
    supervisor->circuits.loads_running--;
    /* Slots leave the parking queue while the state still says where they are. */
    circuit->state = CIRCUIT_LOADED;
    slots_unpark(&supervisor->slots, circuit);
    log_info("circuit %s is loaded", circuit->name);
}

/* The last of its partitions is gone: nobody reads the key any more. */
static void settle_given_up(struct circuit *circuit)
{
    if (circuit->memory.fd < 0 || circuit->slot_count > 0)
        return;
    deliveries_drop_key(circuit->supervisor, circuit->key);
    circuit_unload(circuit);
    if (circuit->may_load_again)
        circuit->state = CIRCUIT_PREPARED;
}

void circuits_tick(struct supervisor *supervisor)
{
    struct circuits *circuits = &supervisor->circuits;
    for (uint32_t key = 0; key < CIRCUITS_MAX; key++) {
        struct circuit *circuit = circuits->entries[key];
        if (!circuit)
            continue;
        if (circuit->helper &&
            circuit->helper->heard_ns + CIRCUITS_SILENCE_S_MAX * UINT64_C(1000000000) <
                supervisor->now_ns)
            helper_kill(circuit->helper);
        if (circuit->state == CIRCUIT_PREPARING && !circuit->helper &&
            circuits->prepares_running < CIRCUITS_PREPARES_MAX)
            circuit_prepare_start(circuit);
        else if (circuit->state == CIRCUIT_SHARING)
            settle_shared(circuit);
        else if (circuit->state == CIRCUIT_FAILED)
            settle_given_up(circuit);
    }
}
