/* From one decoded request to its reply. Answers know nothing of sockets: control.c hands them who
 * asks and takes the reply. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "protocol/reply.h"
#include "protocol/request.h"
#include "supervisor/control_waits.h"

struct admission_ticket;
struct circuit;
struct supervisor;

struct answers_caller {
    struct supervisor *supervisor;
    uid_t uid;
    bool is_admin;
    bool was_fetched; /* the journal has been asked for the request's job: with this result */
    int fetch_result;
};

enum answers_when {
    ANSWERS_NOW,   /* the reply is made */
    ANSWERS_LATER, /* keep it, as struct answers_later says */
};

struct answers_later {
    enum control_wait_kind kind;
    uint64_t job;
    struct admission_ticket *ticket; /* to be begun once its on_settled is set */
};

/* Whether answers_make may say ANSWERS_LATER to it. */
bool answers_may_wait(enum request_method method);

/* descriptors: request->descriptor_count of them, taken over. */
enum answers_when answers_make(const struct answers_caller *caller, const struct request *request,
                               int *descriptors, struct reply *reply,
                               struct answers_later *ret_later);
/* The end of circuit_add. */
void answers_circuit(const struct circuit *circuit, uint32_t message_id, struct reply *reply);
