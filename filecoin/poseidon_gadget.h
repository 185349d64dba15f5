/* Poseidon as rows: neptune's legacy gadget, which Filecoin's circuits use. Between S-boxes the
 * state is linear combinations that grow through the partial rounds; only what enters an S-box is
 * allocated. 311, 377, 505, 598 and 761 rows for arity 2, 4, 8, 11 and 16. */
#pragma once

#include "filecoin/cs.h"
#include "filecoin/poseidon.h"

/* `inputs`: `arity` variables, all different or not in one row (they never are). */
cs_var poseidon_gadget(struct cs *cs, unsigned arity, enum poseidon_use use, const cs_var *inputs);
