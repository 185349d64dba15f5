/* Which variables occur: a bit a variable, in words of 64, bit 0 first. Used by whoever takes rows
 * (row_digest.c). */
#pragma once

#include <stdint.h>

enum { OCCURRENCE_DIGEST_BYTES = 32 };

struct occurrence {
    uint64_t *words;
    uint64_t word_count; /* grows; bits behind it are 0 */
    uint64_t set_count;
};

/* -ENOMEM. */
int occurrence_set(struct occurrence *occurrence, uint32_t index);
/* SHA-256 over the words of the first `count` variables. -ENOMEM, -EIO. */
int occurrence_digest(const struct occurrence *occurrence, uint64_t count,
                      uint8_t ret[OCCURRENCE_DIGEST_BYTES]);
/* Accepts a zeroed object. */
void occurrence_destroy(struct occurrence *occurrence);
