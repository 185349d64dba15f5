/* The life of one circuit's key: prepared by one disposable process, loaded by another, shared with
 * the workers, let go. Every call works on one circuit; the registry is circuits.h. */
#pragma once

#include <stdbool.h>

struct circuit;

/* PREPARING with these files; the process starts when there is room (circuit_prepare_start). */
void circuit_prepare(struct circuit *circuit, int zkey_fd, int r1cs_fd);
void circuit_prepare_start(struct circuit *circuit);
/* Its facts are known: PREPARED, or FAILED when no slab is large enough. */
void circuit_settle_prepared(struct circuit *circuit);

/* PREPARED to LOADING, or the jobs that wait for it fail. */
void circuit_load(struct circuit *circuit);
/* Loading came to nothing: PREPARED again (the next job tries again), and the waiting jobs fail. */
void circuit_load_failed(struct circuit *circuit, const char *why);
/* A key that is shared or loaded turns out to be one that no GPU worker takes: FAILED with the
 * reason, its jobs fail, and its memory is let go of when its last partition is gone. Then it is
 * PREPARED again where another try may go better. */
void circuit_give_up(struct circuit *circuit, const char *why, bool may_load_again);
/* Lets go of the key's memory. */
void circuit_unload(struct circuit *circuit);
/* Fails every job that waits for this circuit, with its error. */
void circuit_fail_jobs(struct circuit *circuit);
/* Ends a helper and closes what it was to read. */
void circuit_helpers_abort(struct circuit *circuit);
