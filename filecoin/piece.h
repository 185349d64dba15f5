/* Gadgets that occur thousands of times with other inputs (a Poseidon, a SHA-256 of two nodes): the
 * rows are made once, blank, and then placed by renumbering. Values are made by the gadget itself
 * each time. Called by gadgets. */
#pragma once

#include "filecoin/cs.h"

/* Allocates and constrains; returns the result. `kind` says which of its variants. It may name
 * nothing but ONE, its parameters and what it allocates itself, and makes no inputs. */
typedef cs_var piece_body(struct cs *cs, uint64_t kind, const cs_var *parameters);

/* Runs `body` as if it were called here: same variables, same rows, same values. */
cs_var piece_place(struct cs *cs, piece_body *body, uint64_t kind, const cs_var *parameters,
                   uint32_t parameter_count);

/* Accepts NULL. */
void piece_free(struct cs_piece *piece);
