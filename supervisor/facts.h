/* What is known of a prepared circuit: the result document of `cuzk-synth --prepare`, and the same
 * facts as kept in the state folder. Both are input: one comes from a process that has read a
 * client's file, the other from a disk. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "groth16/curve/curve.h"

enum {
    FACTS_DIGEST_BYTES = 32,
    FACTS_DIGEST_TEXT_BYTES = 2 * FACTS_DIGEST_BYTES + 1, /* in hex */
};

struct facts {
    const struct curve *curve;
    uint32_t variable_count, public_count, constraint_count, domain_log2;
    uint64_t slab_bytes; /* with evaluations: the most that a partition can take of a slab */
    uint64_t file_bytes;
    bool has_c;
    char key_digest[FACTS_DIGEST_TEXT_BYTES], vk_digest[FACTS_DIGEST_TEXT_BYTES];
};

/* One line. 0 with the facts, or a sentence: -EBADMSG when the file that the helper read is at
 * fault or its document is wrong, -EIO when the helper says that the host is (no space, no memory).
 */
int facts_from_result(const char *line, struct facts *ret, char *ret_error, size_t error_bytes);
/* The object form of both. -EBADMSG names the field that is missing or out of range. */
int facts_from_json(const json_t *object, struct facts *ret, char *ret_error, size_t error_bytes);
json_t *facts_to_json(const struct facts *facts); /* NULL: memory is short */
/* 64 lower-case hex digits: it becomes part of a file name and of arguments. */
bool facts_digest_is_valid(const char *text);
/* Bytes of a slab that one partition takes, with or without evaluations in it. */
uint64_t facts_slab_bytes(const struct facts *facts, bool has_evaluations);
/* The digest of the verifying key as bytes. */
void facts_vk_digest(const struct facts *facts, uint8_t ret[FACTS_DIGEST_BYTES]);
