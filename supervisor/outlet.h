/* Where proofs leave: from a finalizer's answer into the job record, and from there into replies as
 * the decimal strings of snarkjs. */
#pragma once

#include <stdint.h>

#include "protocol/reply.h"

struct supervisor;
struct slot;
struct job;

/* Copies the proof, the public inputs that the finalizer wrote and the phases into the job. 0 also
 * when the job is gone. -EIO when the public inputs are not all there. */
int outlet_store(struct supervisor *supervisor, const struct slot *slot, const void *proof);
/* The value of `proofs` and of `phases_ms` of a finished job. */
void outlet_write_proofs(struct reply *reply, const struct job *job);
void outlet_write_phases(struct reply *reply, const struct job *job);
/* The value of `values`: up to count public inputs of one partition, from `first`. */
void outlet_write_public(struct reply *reply, const struct job *job, uint32_t partition,
                         uint32_t first, uint32_t count);
