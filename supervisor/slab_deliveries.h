/* Slabs on their way to workers and back: the slab half of deliveries.c. Each worker that takes
 * part (finalizers map no slab) is brought to what memory.h says is there: those of the start over
 * the courier before it is ready, later ones by ADD_SLAB and DROP_SLAB, which it answers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct supervisor;
struct worker;
struct message;

/* What a worker knows of one slab. */
enum worker_slab_state {
    WORKER_SLAB_ABSENT,
    WORKER_SLAB_WANTED, /* to be sent before it is ready */
    WORKER_SLAB_ASKED,  /* ADD_SLAB is granted */
    WORKER_SLAB_HELD,
    WORKER_SLAB_REFUSED, /* it has it, and its device cannot read it */
    WORKER_SLAB_GOING,   /* DROP_SLAB is granted */
};

/* A process is about to start: how many slabs it gets before it is ready (gpu workers wait for
 * them). */
uint32_t slab_deliveries_begin(struct worker *worker);
/* The process is gone. */
void slab_deliveries_forget(struct worker *worker);
/* Sends what courier and ring take now. 0: nothing is left to send; -EBUSY: answers bring us back;
 * other negative: delayed_until_ns is set, or the worker ends. */
int slab_deliveries_flush(struct worker *worker);
/* It has exactly the slabs that are there. */
bool slab_deliveries_are_done(const struct worker *worker);
/* ADD_SLAB or DROP_SLAB was answered; NULL, or how the worker broke the contract. text: of a
 * refusal, as it may be shown. */
const char *slab_deliveries_answered(struct worker *worker, const struct message *message,
                                     const char *text);

/* Every worker that may be granted something has it. ret_refused: the worker whose device refuses
 * it, NULL when none does. */
bool slab_deliveries_is_held(const struct supervisor *supervisor, uint32_t slab,
                             const struct worker **ret_refused);
/* No process has it any more, or will be sent it. */
bool slab_deliveries_is_gone(const struct supervisor *supervisor, uint32_t slab);
