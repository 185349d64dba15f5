/* A sink that keeps no rows: digest, counts and densities of a circuit, in the conventions of
 * tests/fixtures/filecoin/README.md. Used by cuzk-bench circuit-digest, tests, and whoever
 * registers a circuit. */
#pragma once

#include <stdio.h>

#include "filecoin/cs.h"
#include "filecoin/occurrence.h"

enum { ROW_DIGEST_BYTES = 32, ROW_DIGEST_STEP = 65536 };

struct row_digest {
    struct cs_sink sink; /* first */
    const struct dictionary *dictionary;
    void *context; /* EVP_MD_CTX */
    uint8_t *buffer;
    size_t buffered;
    uint64_t row_count, entry_count[3];
    uint32_t widest[3];
    struct occurrence a_aux, b_in, b_aux;
    FILE *checkpoints; /* running digests each ROW_DIGEST_STEP rows go here; may be NULL */
    int error;
};

/* -ENOMEM, -EIO. On failure the object still wants row_digest_destroy. */
int row_digest_init(struct row_digest *digest, const struct dictionary *dictionary);
/* Accepts a zeroed object. */
void row_digest_destroy(struct row_digest *digest);
/* After cs_finish. */
int row_digest_finish(struct row_digest *digest, uint8_t ret[ROW_DIGEST_BYTES]);
