/* Whether an .r1cs and a key are of the same circuit, and C, which only the .r1cs has. Used by
 * prepared_write; one thread. */
#pragma once

#include "groth16/key/matrix_builder.h"
#include "groth16/key/r1cs.h"
#include "groth16/key/reason.h"
#include "groth16/key/zkey.h"

/* Compares A and B of every constraint as sums (order and repeated signals do not matter), then the
 * input-consistency rows, and keeps C in builder->c with its coefficients in the shared dictionary.
 * -EBADMSG names the first constraint that differs. */
int r1cs_match(const struct r1cs *r1cs, const struct zkey *zkey, struct matrix_builder *builder,
               struct matrix_progress *progress, struct reason *reason);
