/* public.json as snarkjs writes it: an array of decimal strings. Read by `cuzkctl verify`;
 * written by tests only (see proof_json.h). Scalars in memory are plain, 4 limbs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "groth16/curve/curve.h"
#include "groth16/key/reason.h"

/* *ret_text is malloc'd, NUL-terminated, the caller's to free. -ENOMEM. */
int public_json_write(const uint64_t *scalars, size_t count, char **ret_text, size_t *ret_bytes);
/* An array of `row_count` arrays of `count` scalars each, back to back in memory. */
int public_json_write_array(const uint64_t *scalars, size_t row_count, size_t count,
                            char **ret_text, size_t *ret_bytes);

/* Values must be < r. *ret_scalars is malloc'd (never NULL on success), the caller's to free. */
int public_json_read(const char *text, size_t bytes, const struct curve *curve,
                     uint64_t **ret_scalars, size_t *ret_count, struct reason *reason);
