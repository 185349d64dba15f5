/* A circuit's rows as a key is prepared with: recorded from the code, since the files do not have
 * them. Called when a key is registered, and by tools. */
#pragma once

#include "filecoin/record.h"
#include "groth16/key/prepared_source.h"
#include "groth16/key/reason.h"

struct circuit_key {
    struct record record;
    struct matrix matrices[3];
    struct prepared_circuit circuit; /* borrows from the two above */
};

/* Records; minutes and some GB for the largest circuits. -ENOMEM. circuit_key_destroy only after
 * success. */
int circuit_key_make(const struct circuit *circuit, bool has_c, struct circuit_key *ret,
                     struct reason *reason);
void circuit_key_destroy(struct circuit_key *key);
