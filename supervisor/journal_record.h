/* What one job is in the journal: the row and its parts, as plain values. Made by durable.c, kept
 * and given back by journal.c; nothing here knows of slots or sockets. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/limits.h"
#include "protocol/request.h"
#include "shm/message.h"

enum {
    JOURNAL_DIGEST_BYTES = 32, /* SHA-256 */
    JOURNAL_KEY_DIGEST_TEXT_BYTES = 2 * JOURNAL_DIGEST_BYTES + 1,
    JOURNAL_ERROR_BYTES = 512,
    JOURNAL_CODE_BYTES = 24,
};

/* Where the witness of a partition lies. The numbers are kept on disk. */
enum journal_input_kind {
    JOURNAL_INPUT_INLINE = 0, /* in the journal */
    JOURNAL_INPUT_SPOOL = 1,  /* a file of the spool */
    JOURNAL_INPUT_DIRECT = 2, /* the client's own file: gone with the process */
    JOURNAL_INPUT_KIND_COUNT,
};

/* Memory that it points to is malloc'd and the record's. */
struct journal_partition {
    enum journal_input_kind kind;
    uint64_t bytes;                       /* of the witness */
    uint8_t sha256[JOURNAL_DIGEST_BYTES]; /* of the witness; filled in for inline ones */
    void *content;                        /* of an inline one; NULL once it is not needed */
    bool is_proved;
    size_t proof_bytes, public_bytes;
    uint8_t *proof, *publics;
    uint32_t phases_us[PHASE_COUNT];
};

struct journal_job {
    uint64_t number; /* 1 to JOURNAL_NUMBER_MAX */
    uint32_t uid;
    char client_key[CLIENT_KEY_BYTES_MAX + 1]; /* "" when none */
    uint8_t digest[JOURNAL_DIGEST_BYTES];      /* of circuit, key and all inputs in order */
    char circuit[NAME_BYTES_MAX + 1];
    char key_digest[JOURNAL_KEY_DIGEST_TEXT_BYTES];
    uint32_t curve; /* enum curve_id */
    enum request_priority priority;
    bool is_durable;
    uint32_t partition_count, public_count;
    int64_t admitted_ms, deadline_ms, finished_ms; /* since the epoch; 0: none, not yet */
    enum request_job_state state;                  /* QUEUED until it ends */
    char error_code[JOURNAL_CODE_BYTES];           /* as in the protocol; "" without an error */
    char error_text[JOURNAL_ERROR_BYTES];
    uint32_t error_partition; /* UINT32_MAX: none */
    uint64_t result_bytes;
    struct journal_partition *partitions; /* partition_count, or NULL: not asked for */
};

/* A row's key is number << 7 | partition and fits SQLite's 63 bits. */
#define JOURNAL_NUMBER_MAX ((UINT64_C(1) << 56) - 1)

/* NULL partitions become zeroed ones. False: memory is short. */
bool journal_job_allocate(struct journal_job *job);
/* Frees and overwrites what the partitions hold. Accepts a zeroed object. */
void journal_job_destroy(struct journal_job *job);
/* SHA-256 over circuit, key digest, and size and digest of every input in order. Fills in the
 * digests of inline inputs on the way. */
void journal_job_digest(struct journal_job *job);
