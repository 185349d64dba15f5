/* See control_waits.h. Upstream: control.c; downstream: answers.c, admission.c. */
#include "supervisor/control_waits.h"

#include <string.h>

#include "protocol/reply.h"
#include "supervisor/admission.h"
#include "supervisor/answers.h"
#include "supervisor/job_answers.h"
#include "supervisor/supervisor.h"

static void remove_wait(struct control_client *client, uint32_t index)
{
    client->waits[index] = client->waits[--client->wait_count];
}

/* The submit that the ticket stood for has ended. */
static void on_submit_settled(struct admission_ticket *ticket,
                              const struct admission_outcome *outcome)
{
    struct control_client *client = ticket->context;
    struct reply reply = {0};
    for (uint32_t i = 0; i < client->wait_count; i++) {
        if (client->waits[i].kind == CONTROL_WAIT_SUBMIT && client->waits[i].ticket == ticket)
            remove_wait(client, i);
    }
    job_answers_submitted(outcome, ticket->message_id, &reply);
    control_send(client, ticket->message_id, &reply);
}

void control_waits_keep(struct control_client *client, const struct request *request,
                        const struct answers_later *later)
{
    struct control_wait *wait = &client->waits[client->wait_count++];
    *wait = (struct control_wait){
        .kind = later->kind,
        .message_id = request->message_id,
        .method = request->method,
        .job = later->job,
        .deadline_ns = UINT64_MAX,
    };
    if (request->method == REQUEST_WAIT) {
        memcpy(wait->client_key, request->wait.client_key, sizeof wait->client_key);
        wait->has_seen = request->wait.has_seen;
        wait->seen = request->wait.seen;
        wait->deadline_ns =
            client->supervisor->now_ns + (uint64_t)request->wait.timeout_ms * 1000000u;
    } else if (request->method == REQUEST_PUBLIC) {
        wait->partition = request->public.partition;
        wait->first = request->public.first;
    } else if (request->method == REQUEST_CIRCUIT_ADD) {
        memcpy(wait->circuit, request->circuit.name, sizeof wait->circuit);
    } else if (request->method == REQUEST_SUBMIT) {
        wait->ticket = later->ticket;
        wait->ticket->context = client;
        wait->ticket->message_id = request->message_id;
        wait->ticket->on_settled = on_submit_settled;
        admission_begin(wait->ticket); /* may answer at once */
    }
}

void control_waits_drop(struct control_client *client)
{
    for (uint32_t i = 0; i < client->wait_count; i++) {
        if (client->waits[i].kind == CONTROL_WAIT_SUBMIT)
            client->waits[i].ticket->on_settled = NULL; /* the job goes on */
    }
}

uint64_t control_waits_deadline(const struct control_client *client)
{
    uint64_t deadline_ns = UINT64_MAX;
    for (uint32_t i = 0; i < client->wait_count; i++) {
        if (client->waits[i].kind == CONTROL_WAIT_JOB && client->waits[i].deadline_ns < deadline_ns)
            deadline_ns = client->waits[i].deadline_ns;
    }
    return deadline_ns;
}

void control_waits_answer(struct control_client *client)
{
    const struct answers_caller caller = {client->supervisor, client->uid, client->is_admin};
    uint64_t now_ns = client->supervisor->now_ns;
    for (uint32_t i = 0; i < client->wait_count && !client->is_closing;) {
        const struct control_wait wait = client->waits[i];
        bool is_due = false;
        if (wait.kind == CONTROL_WAIT_JOB)
            is_due = now_ns >= wait.deadline_ns ||
                     job_answers_wait_is_due(&caller, wait.job, wait.has_seen, wait.seen);
        else if (wait.kind == CONTROL_WAIT_CANCEL)
            is_due = job_answers_cancel_is_due(&caller, wait.job);
        if (!is_due) {
            i++;
            continue;
        }
        struct reply reply = {0};
        remove_wait(client, i);
        if (wait.kind == CONTROL_WAIT_JOB)
            job_answers_waited(&caller, wait.message_id, wait.job, &reply);
        else
            job_answers_cancelled(wait.message_id, wait.job, &reply);
        control_send(client, wait.message_id, &reply);
    }
}

void control_waits_circuit_settled(struct supervisor *supervisor, struct circuit *circuit)
{
    durable_circuit_settled(supervisor, circuit->name);
    for (struct control_client *client = supervisor->control.clients; client;
         client = client->next) {
        for (uint32_t i = 0; i < client->wait_count;) {
            struct control_wait wait = client->waits[i];
            if (wait.kind != CONTROL_WAIT_CIRCUIT || strcmp(wait.circuit, circuit->name) != 0) {
                i++;
                continue;
            }
            struct reply reply = {0};
            remove_wait(client, i);
            answers_circuit(circuit, wait.message_id, &reply);
            control_send(client, wait.message_id, &reply);
        }
    }
    if (circuit->state == CIRCUIT_FAILED && !circuit->is_configured)
        circuits_remove(supervisor, circuit);
}

/* The request again, now that its job is here or known not to be. */
static void make_again(struct control_client *client, const struct control_wait *wait,
                       const struct control_waits_fetched *fetched)
{
    static struct request request; /* some KiB, and there is one thread */
    const struct answers_caller caller = {
        .supervisor = client->supervisor,
        .uid = client->uid,
        .is_admin = client->is_admin,
        .was_fetched = true,
        .fetch_result = fetched->result,
    };
    struct answers_later later = {0};
    struct reply reply = {0};
    uint64_t job = fetched->found ? fetched->found : fetched->number, now_ns;
    now_ns = client->supervisor->now_ns;
    memset(&request, 0, sizeof request);
    request.message_id = wait->message_id;
    request.method = wait->method;
    if (wait->method == REQUEST_WAIT) {
        request.wait.job = job;
        memcpy(request.wait.client_key, wait->client_key, sizeof wait->client_key);
        request.wait.has_seen = wait->has_seen;
        request.wait.seen = wait->seen;
        request.wait.timeout_ms =
            wait->deadline_ns > now_ns ? (uint32_t)((wait->deadline_ns - now_ns) / 1000000u) : 0;
    } else if (wait->method == REQUEST_PUBLIC) {
        request.public = (struct request_public){job, wait->partition, wait->first};
    } else {
        request.job = job;
    }
    if (answers_make(&caller, &request, NULL, &reply, &later) == ANSWERS_LATER)
        control_waits_keep(client, &request, &later);
    else
        control_send(client, wait->message_id, &reply);
}

void control_waits_fetched(struct supervisor *supervisor,
                           const struct control_waits_fetched *fetched)
{
    for (struct control_client *client = supervisor->control.clients; client;
         client = client->next) {
        for (uint32_t i = 0; i < client->wait_count && !client->is_closing;) {
            const struct control_wait wait = client->waits[i];
            bool is_same = fetched->number ? wait.job == fetched->number
                                           : wait.job == 0 && client->uid == fetched->uid &&
                                                 strcmp(wait.client_key, fetched->client_key) == 0;
            if (wait.kind != CONTROL_WAIT_FETCH || !is_same) {
                i++;
                continue;
            }
            remove_wait(client, i);
            make_again(client, &wait, fetched);
        }
    }
}
