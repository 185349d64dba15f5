/* The public inputs of a partition, w[1] to w[public_count], read again from the client's witness
 * file: what a proof states is never taken from what a worker wrote. Blocking: a few small preads.
 */
#pragma once

#include <stdint.h>

#include "groth16/key/prepared.h"
#include "groth16/key/reason.h"

/* ret_scalars: key's public_count * 4 limbs, each value checked < r. 0; -EBADMSG or an error of
 * reading, with the reason. */
int public_read(int fd, const struct prepared *key, uint64_t *ret_scalars, struct reason *reason);
/* To the memfd that the supervisor made for them, at offset 0. 0 or negative errno. */
int public_write(int fd, const uint64_t *scalars, uint64_t count);
