/* From one decoded request to its reply. Answers know nothing of sockets: control.c hands them who
 * asks and takes the reply. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "protocol/reply.h"
#include "protocol/request.h"

struct supervisor;
struct job;
struct circuit;

struct answers_caller {
    struct supervisor *supervisor;
    uid_t uid;
    bool is_admin;
};

enum answers_when {
    ANSWERS_NOW,   /* the reply is made */
    ANSWERS_LATER, /* `wait` and `circuit_add`: keep it and ask again */
};

/* descriptors: request->descriptor_count of them, taken over. */
enum answers_when answers_make(const struct answers_caller *caller, const struct request *request,
                               int *descriptors, struct reply *reply);
/* A wait that has come due, for the job as it is now; the job may be gone. */
void answers_wait(const struct answers_caller *caller, uint32_t message_id, uint64_t job,
                  struct reply *reply);
/* Whether a wait with this `seen` can be answered before its deadline. */
bool answers_wait_is_due(const struct answers_caller *caller, uint64_t job, bool has_seen,
                         uint64_t seen);
/* Whether the caller may hear of this job. */
bool answers_may_see(const struct answers_caller *caller, uint64_t job);
/* The end of circuit_add. */
void answers_circuit(const struct circuit *circuit, uint32_t message_id, struct reply *reply);
