/* A supervisor without processes: real slots, jobs, slab rings, channels and couriers, and the test
 * plays every worker through the worker's end of its channel. */
#pragma once

#include "supervisor/supervisor.h"

enum {
    RIG_SYNTHS = 2,
    RIG_GPUS = 2,
    RIG_FINALIZERS = 2,
    RIG_WORKERS = RIG_SYNTHS + RIG_GPUS + RIG_FINALIZERS,
    RIG_SLABS = 3,
    RIG_PUBLIC = 2,
};

/* What the worker's process would know. */
struct rig_worker {
    int courier; /* its end */
    struct message held[GRANTS_HELD_MAX];
    bool is_uploaded[GRANTS_HELD_MAX], is_cancelled[GRANTS_HELD_MAX];
    unsigned held_count;
    bool is_told_to_stop;
    enum log_level log_level; /* as it was told */
};

struct rig {
    struct supervisor supervisor;
    struct rig_worker workers[RIG_WORKERS];
    struct circuit *circuit; /* "c", loaded */
    char folder[64];
};

void rig_open(struct rig *rig);
void rig_close(struct rig *rig);
/* A job of inline witnesses; 0 when it was refused. */
uint64_t rig_submit(struct rig *rig, uint32_t partitions, enum request_priority priority);
uint64_t rig_submit_to(struct rig *rig, const char *circuit, uint32_t partitions);
/* The policy, then every worker takes its grants. */
void rig_turn(struct rig *rig);
/* Takes what was granted to worker i, descriptors included. */
void rig_take(struct rig *rig, unsigned i);
/* An answer to held grant h, as a good worker would make it; the grant is held no longer (except
 * for UPLOADED). Not delivered until rig_deliver. */
struct message rig_answer_to(struct rig *rig, unsigned i, unsigned h, enum blame blame);
void rig_say(struct rig *rig, unsigned i, const struct message *message);
/* The supervisor hears worker i. */
void rig_deliver(struct rig *rig, unsigned i);
/* The process has ended; a new one comes up where one is wanted. Orders hear of both. */
void rig_end(struct rig *rig, unsigned i);
/* A new process of a worker that is down. */
void rig_start(struct rig *rig, unsigned i);
/* Death by SIGKILL, recovery, and a new process. */
void rig_kill(struct rig *rig, unsigned i);
