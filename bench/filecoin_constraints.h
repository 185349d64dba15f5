/* The constraints of one of Filecoin's circuits, for make_key. */
#pragma once

#include "bench/constraints.h"
#include "filecoin/circuit.h"
#include "groth16/key/reason.h"

/* Records them, C too. The object wants constraints_destroy in any case. -ENOMEM. */
int filecoin_constraints(const struct circuit *circuit, struct constraints *ret,
                         struct reason *reason);
