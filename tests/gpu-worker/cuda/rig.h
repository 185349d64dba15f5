/* The CUDA backend over the stub, as a worker drives it: opened on a device of given words, with a
 * random circuit and some partitions of it. One rig at a time. */
#pragma once

#include "tests/gpu-worker/circuit.h"
#include "tests/gpu-worker/stub/stub.h"
#include "tests/test.h"

enum {
    RIG_PARTITIONS = BACKEND_PARTITIONS_MAX,
    RIG_KEY = 7,
    RIG_TIMEOUT_MS = 60000,
};

struct rig {
    struct backend *backend;
    struct backend_device device;
    uint64_t random;
    struct circuit circuit;
    struct partition partitions[RIG_PARTITIONS];
    unsigned partition_count;
    unsigned lost; /* LOST events seen */
    struct backend_event last;
};

/* What open says when it fails; the reason in rig_text. */
extern char rig_text[BACKEND_TEXT_BYTES];
extern const struct backend_options rig_options;

/* A new device of these words; opens on it. */
int rig_try_open(struct rig *rig, const char *words, const struct backend_options *options);
/* Makes a circuit of 2^log2 rows or fewer and `count` partitions, on the witness alone or not. */
void rig_make(struct rig *rig, const struct curve *curve, unsigned log2, unsigned count);
/* Frees what rig_make made, closes the backend, and expects that nothing of it is left on the
 * device: memory, registrations. */
bool rig_close(struct rig *rig);

/* The next event as a worker gets it: polled, then waited for by bell or, with work in flight, the
 * device's interval. false: none within the time. */
bool rig_next(struct rig *rig, unsigned timeout_ms);
/* The next that is no PHASE_* and no UPLOADED, within RIG_TIMEOUT_MS; into rig->last. */
bool rig_event(struct rig *rig, enum backend_event_kind kind);
int rig_start(struct rig *rig, unsigned partition, uint64_t id);
/* Load, attach all, and the other way. */
bool rig_load(struct rig *rig);
bool rig_drop(struct rig *rig);
bool rig_attach(struct rig *rig);
bool rig_detach(struct rig *rig);
/* Starts every partition once and waits for all: right sums and nothing else. */
bool rig_prove(struct rig *rig);
