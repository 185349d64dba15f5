/* Requests of a connection that are answered later: until a job moves on or ends, a circuit is
 * prepared, a submit is on record, or the journal has found a job. Called by control.c, and by
 * those who have what is waited for. Nothing here blocks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/limits.h"
#include "protocol/request.h"

struct admission_ticket;
struct answers_later;
struct circuit;
struct control_client;
struct supervisor;

enum {
    CONTROL_WAITS_MAX = 32, /* unanswered requests of one connection */
};

enum control_wait_kind {
    CONTROL_WAIT_JOB,     /* wait */
    CONTROL_WAIT_CANCEL,  /* cancel: the end of its job goes to disk */
    CONTROL_WAIT_CIRCUIT, /* circuit_add */
    CONTROL_WAIT_SUBMIT,  /* a ticket of admission stands for it */
    CONTROL_WAIT_FETCH,   /* its job is being looked up; then it is made anew */
};

/* A request that is answered later. */
struct control_wait {
    enum control_wait_kind kind;
    uint32_t message_id;
    struct admission_ticket *ticket;
    enum request_method method; /* FETCH: of the request, and what it asked beside the job */
    char client_key[CLIENT_KEY_BYTES_MAX + 1];
    uint32_t partition, first;
    uint64_t job;
    bool has_seen;
    uint64_t seen;
    uint64_t deadline_ns;
    char circuit[NAME_BYTES_MAX + 1];
};

/* Keeps a request as answers.c said; there is room for it. A submit begins here, and may be
 * answered before this returns. */
void control_waits_keep(struct control_client *client, const struct request *request,
                        const struct answers_later *later);
/* Answers those that are due. */
void control_waits_answer(struct control_client *client);
/* When one is due at the latest without an event; UINT64_MAX: none. */
uint64_t control_waits_deadline(const struct control_client *client);
/* The connection ends: nobody is to answer it any more. Jobs go on. */
void control_waits_drop(struct control_client *client);

/* Preparing the circuit has ended, either way: answers who waits for it. A circuit that failed and
 * is not in the configuration is gone afterwards. */
void control_waits_circuit_settled(struct supervisor *supervisor, struct circuit *circuit);

/* The journal has said what it knows of a job that was asked for by number, or where that is 0 by
 * uid and client key. found: its number, 0 when there is none; result: 0 or why not. */
struct control_waits_fetched {
    uint64_t number;
    uid_t uid;
    const char *client_key;
    uint64_t found;
    int result;
};
void control_waits_fetched(struct supervisor *supervisor,
                           const struct control_waits_fetched *fetched);
