/* The constraints of a bellman circuit as a stream of rows, which is how its rows are digested: for
 * each row and each of A, B and C: u32 n, then n times u32 variable | 32 bytes coefficient, all
 * little-endian, variables rising. Inputs are numbered from 0 (the constant 1), others from 0 with
 * bit 31 set; the last rows are those of the inputs. For make_params and tests of keys. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bench/constraints.h"
#include "groth16/key/prepared_source.h"
#include "groth16/key/reason.h"

/* -EBADMSG with a place, -ENOMEM. The object wants constraints_destroy in any case. */
int row_stream_read(const uint8_t *bytes, size_t count, uint32_t input_count, uint32_t aux_count,
                    struct constraints *ret, struct reason *reason);

/* The constraints as a key maker wants them; borrows. */
struct prepared_circuit row_stream_circuit(const struct constraints *constraints, bool has_c);
