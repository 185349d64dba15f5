/* What every worker must have before it can be granted anything: all slabs (slab_deliveries.h) and
 * the keys of all loaded circuits. Sent over its courier as far as that takes them; the rest waits
 * for the next tick. A cancel that did not fit the submission ring is retried here too. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct supervisor;
struct worker;
struct circuit;
struct courier_tag;

/* READY was heard: it wants everything else. */
void deliveries_begin(struct worker *worker);
/* Sends what the courier and the ring take now. Something is left: delayed_until_ns is set. */
void deliveries_flush(struct worker *worker);
/* For slab_deliveries.c. 0, or -EAGAIN when the courier is full or memory short for now, and
 * delayed_until_ns is set. After anything else nothing more is sent to the worker. */
int deliveries_send(struct worker *worker, const struct courier_tag *tag, int fd);
void deliveries_delay(struct worker *worker);
/* The circuit's key lies in memory: give it to every worker that runs. */
void deliveries_share_key(struct supervisor *supervisor, const struct circuit *circuit);
void deliveries_drop_key(struct supervisor *supervisor, uint32_t key);
/* Whoever has not been sent it yet will not be. */
void deliveries_unwant_key(struct supervisor *supervisor, uint32_t key);
/* Every worker that takes part holds it, a GPU worker among them. */
bool deliveries_key_is_held(const struct supervisor *supervisor, uint32_t key);
/* Nobody has it any more: the index may be used for another key. */
bool deliveries_key_is_gone(const struct supervisor *supervisor, uint32_t key);
/* LOAD_KEY or DROP_KEY was answered; -EPROTO when none was open. deliveries_flush goes on. */
int deliveries_key_call_ended(struct worker *worker);
/* DROP_KEY of this key was answered; -EPROTO when it was not asked. */
int deliveries_key_dropped(struct worker *worker, uint32_t key);
/* A gpu worker answered LOAD_KEY for this generation; -EPROTO when it was not asked. */
int deliveries_key_answered(struct worker *worker, uint32_t key, uint64_t generation,
                            bool is_loaded);
