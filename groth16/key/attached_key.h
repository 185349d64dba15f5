/* A worker's view of one prepared key: attached when a partition first needs it, and again when
 * another mapping took its place. Called by cuzk-synth and cuzk-finalizer, which receive their keys
 * from the supervisor as mappings, each with a serial number of its arrival. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "groth16/key/prepared.h"
#include "groth16/key/reason.h"

/* All zero: nothing attached. */
struct attached_key {
    uint64_t serial; /* the arrival that `prepared` points into, 0: none */
    struct prepared prepared;
};

/* The view of the mapping with this serial (> 0), or NULL with the reason when its bytes are
 * malformed (prepared_attach). The mapping is borrowed for as long as the view is used. */
const struct prepared *attached_key_use(struct attached_key *key, const void *memory, size_t bytes,
                                        uint64_t serial, struct reason *reason);
