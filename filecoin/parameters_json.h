/* parameters.json, the network's list of its key files: name -> cid, digest, sector size. Called
 * when a key is registered with it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "filecoin/params.h"
#include "groth16/key/reason.h"

struct parameters_json_entry {
    uint8_t digest[PARAMS_DIGEST_BYTES]; /* params_digest() of the file */
    uint64_t sector_bytes;
};

/* The entry of the file `name` ("v28-....params") in the text of a parameters.json. Nothing but
 * JSON objects of strings and one integer is accepted there. -ENOENT when the file is not listed,
 * -EBADMSG for a malformed list, -ENOMEM. */
int parameters_json_find(const char *text, size_t bytes, const char *name,
                         struct parameters_json_entry *ret, struct reason *reason);

/* Compares the digest of params with the entry's: reads the whole file. -EBADMSG when it differs.
 */
int parameters_json_check(const struct parameters_json_entry *entry, const struct params *params,
                          const struct prepared_progress *progress, struct reason *reason);
