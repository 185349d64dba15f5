/* What an operator, a reload or a limit asks of one worker: restart, drain, resume, remove. A
 * worker that is to end gets nothing more (it "drains"), is told to stop when it holds nothing, and
 * is then replaced or stays down. None of that costs a partition an attempt or makes it a suspect.
 * Called by answers.c and reload.c; workers.c tells of deaths and starts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct supervisor;
struct worker;

enum {
    WORKER_ORDERS_WHY_BYTES = 400,
    WORKER_ORDERS_RECYCLE_AGAIN_S = 60, /* after one that its program refused */
};

enum worker_order_kind {
    WORKER_ORDER_NONE,
    WORKER_ORDER_RESTART,
    WORKER_ORDER_RECYCLE, /* the same by RecycleAfter= or RecycleFragmentation= */
    WORKER_ORDER_DRAIN,
    WORKER_ORDER_RESUME,
    WORKER_ORDER_REMOVE, /* by workers_set_count() */
};

/* How far it is. The last three are ends. */
enum worker_order_state {
    WORKER_ORDER_PENDING,  /* another of its kind is being replaced first */
    WORKER_ORDER_CHECKING, /* whether its successor could start */
    WORKER_ORDER_DRAINING, /* finishing what it holds */
    WORKER_ORDER_STOPPING, /* told to stop, or killed */
    WORKER_ORDER_STARTING, /* its successor comes up */
    WORKER_ORDER_DONE,
    WORKER_ORDER_FAILED,  /* text says why */
    WORKER_ORDER_DROPPED, /* a later order took its place */
};

struct worker_order {
    uint64_t number; /* one counter for all orders; 0: none was ever given */
    enum worker_order_kind kind;
    enum worker_order_state state;
    bool is_now; /* restart without draining */
    uint64_t given_ns;
    char text[WORKER_ORDERS_WHY_BYTES];
};

const char *worker_order_kind_to_string(enum worker_order_kind kind);
const char *worker_order_state_to_string(enum worker_order_state state);
bool worker_order_is_open(const struct worker_order *order);

/* Each returns 0 (worker->order says what is under way) or negative errno with the reason in
 * ret_why (WORKER_ORDERS_WHY_BYTES). */
int worker_orders_restart(struct worker *worker, bool is_now, char *ret_why);
int worker_orders_drain(struct worker *worker, char *ret_why);
int worker_orders_resume(struct worker *worker, char *ret_why);
/* A recycle: like restart, by the supervisor's own limits. */
void worker_orders_recycle(struct worker *worker, const char *why);
/* The worker is not wanted any more: drained, then absent. Undone by worker_orders_keep. */
void worker_orders_remove(struct worker *worker);
void worker_orders_keep(struct worker *worker);

/* Moves every order on. Called once a turn, before grants. */
void worker_orders_tick(struct supervisor *supervisor);
/* The process is gone and taken apart. True: its end was asked for, so the next start is at once
 * (unless it stays down) and no back-off applies. */
bool worker_orders_ended(struct worker *worker);
/* The successor has everything it needs, or could not start (why). */
void worker_orders_started(struct worker *worker);
void worker_orders_start_failed(struct worker *worker, const char *why);
/* worker_check.c has found out whether its program could start; why not, in words. */
void worker_orders_checked(struct worker *worker, bool is_good, const char *why);
/* It is to run: neither drained nor removed. */
bool worker_orders_wants(const struct worker *worker);
