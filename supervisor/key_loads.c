/* See key_loads.h. Upstream: completions.c, recovery.c; downstream: circuit_helpers.c. */
#include "supervisor/key_loads.h"

#include <stdio.h>

#include "runtime/log.h"
#include "supervisor/circuit_helpers.h"
#include "supervisor/supervisor.h"

/* Another card serves the circuit: then this worker is the one in trouble. */
static bool is_held_elsewhere(const struct worker *worker, uint32_t key)
{
    const struct workers *workers = &worker->supervisor->workers;
    for (uint32_t i = 0; i < workers->count; i++) {
        const struct worker *other = &workers->entries[i];
        if (other != worker && other->kind == WORKER_GPU && other->state == WORKER_RUNNING &&
            other->keys[key] == WORKER_KEY_HELD)
            return true;
    }
    return false;
}

void key_loads_answered(struct worker *worker, uint32_t key, bool is_loaded, const char *text)
{
    struct circuit *circuit = worker->supervisor->circuits.entries[key];
    char why[512];
    if (!circuit)
        return;
    if (is_loaded) {
        circuit->is_key_suspect = false;
        circuit->key_deaths = 0;
        snprintf(circuit->plans[worker->index], CIRCUITS_PLAN_BYTES, "%s", text);
        return;
    }
    snprintf(why, sizeof why, "%s: %s", worker->name, text);
    if (circuit->state == CIRCUIT_SHARING) {
        circuit_load_failed(circuit, why);
    } else if (circuit->state == CIRCUIT_LOADED) {
        if (!is_held_elsewhere(worker, key)) {
            circuit_give_up(circuit, why, true);
            return;
        }
        snprintf(why, sizeof why, "it cannot load the key of circuit %s: %s", circuit->name, text);
        workers_doom(worker, why);
    }
}

static void blame(struct worker *worker, struct circuit *circuit, const char *how)
{
    char why[768];
    circuit->key_deaths++;
    log_warn("%s died %u times while it loaded the key of circuit %s and did nothing else (%s)",
             worker->name, circuit->key_deaths, circuit->name, how);
    if (circuit->key_deaths < CIRCUITS_KEY_DEATHS_MAX || is_held_elsewhere(worker, circuit->key))
        return;
    snprintf(why, sizeof why,
             "loading its key ended the GPU worker %u times (%s); other circuits go on. Remove it "
             "and add it again, or restart cuzkd, to try once more",
             circuit->key_deaths, how);
    circuit_give_up(circuit, why, false);
}

void key_loads_worker_died(struct worker *worker, const char *how)
{
    struct circuits *circuits = &worker->supervisor->circuits;
    uint32_t asked = 0;
    for (uint32_t key = 0; key < CIRCUITS_MAX; key++)
        asked += worker->keys[key] == WORKER_KEY_ASKED;
    const bool is_alone = asked == 1 && worker->held_count == 0;
    for (uint32_t key = 0; asked > 0 && key < CIRCUITS_MAX; key++) {
        struct circuit *circuit = circuits->entries[key];
        if (worker->keys[key] != WORKER_KEY_ASKED || !circuit ||
            (circuit->state != CIRCUIT_SHARING && circuit->state != CIRCUIT_LOADED))
            continue;
        circuit->is_key_suspect = true;
        if (is_alone)
            blame(worker, circuit, how);
    }
}
