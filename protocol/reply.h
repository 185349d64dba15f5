/* Replies: [1, msgid, error, result]. The daemon writes them field by field, so that a new field
 * costs one line; the client turns any result into JSON without knowing its fields. The fields of
 * each method are listed in PROTOCOL.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>
#include <msgpack.h>

#include "config/limits.h"

enum reply_code {
    REPLY_OK,
    REPLY_USAGE,         /* the request is malformed or out of range */
    REPLY_BAD_INPUT,     /* the files or values it carries are */
    REPLY_NOT_FOUND,     /* no such job or circuit, or not yours */
    REPLY_BUSY,          /* try again after retry_after_ms */
    REPLY_DENIED,        /* needs the admin socket */
    REPLY_FAILED,        /* the job failed, or the daemon could not do it */
    REPLY_CANCELLED,     /* the job was cancelled */
    REPLY_TIMEOUT,       /* not finished yet */
    REPLY_TOO_LATE,      /* the job is already in a terminal state */
    REPLY_SHUTTING_DOWN, /* no new work */
    REPLY_EXISTS,        /* the name is taken */
    REPLY_KEY_CONFLICT,  /* the client key belongs to a job of other input */
    REPLY_EXPIRED,       /* its result is no longer kept */
    REPLY_DEADLINE,      /* the job's deadline passed */
    REPLY_CODE_COUNT,
};

const char *reply_code_to_string(enum reply_code code);
int reply_code_from_string(const char *text, enum reply_code *ret);

/* ---- writing (daemon) ---- */

/* reply_begin; exactly one value (a map, usually); reply_finish; reply_destroy. Counts of maps and
 * arrays are filled in by reply_close. `key` is NULL inside arrays and for the outermost value.
 * Failures are remembered and reported by reply_finish. The object must not move between begin and
 * destroy, and every begin needs its destroy. */
struct reply {
    msgpack_sbuffer buffer;
    msgpack_packer packer;
    uint32_t depth;
    struct {
        size_t count_off; /* where the 16-bit count is in the buffer */
        uint32_t count;
    } open[FRAME_DEPTH_MAX];
    uint32_t elements; /* written, as frame.h counts them */
    int error;         /* the first: -ENOMEM, -EMSGSIZE, -EINVAL for unbalanced calls */
};

void reply_begin(struct reply *reply, uint32_t message_id);
void reply_map(struct reply *reply, const char *key);
void reply_array(struct reply *reply, const char *key);
void reply_close(struct reply *reply); /* the innermost map or array */
void reply_string(struct reply *reply, const char *key, const char *value); /* NULL: nil */
void reply_integer(struct reply *reply, const char *key, uint64_t value);
void reply_signed(struct reply *reply, const char *key, int64_t value);
void reply_real(struct reply *reply, const char *key, double value);
void reply_bool(struct reply *reply, const char *key, bool value);
/* Borrowed bytes of the finished reply, valid until reply_destroy. -ENOMEM; -EMSGSIZE beyond
 * FRAME_BYTES_MAX or FRAME_ELEMENTS_MAX (the caller answers with an error instead). */
int reply_finish(struct reply *reply, const uint8_t **ret_bytes, size_t *ret_count);
void reply_destroy(struct reply *reply); /* accepts a zeroed object */

/* A whole error reply instead of begin ... ; then reply_finish. retry_after_ms 0: left out. */
void reply_error(struct reply *reply, uint32_t message_id, enum reply_code code, const char *text,
                 uint32_t retry_after_ms);

/* ---- reading (client) ---- */

struct reply_decoded {
    uint32_t message_id;
    enum reply_code code; /* REPLY_OK or the error's; codes unknown to this build: REPLY_FAILED */
    char text[1024];      /* the error's message, printable */
    uint32_t retry_after_ms;
    json_t *result; /* owned; NULL with an error. Integers beyond int64 become decimal strings */
};

/* `bytes` is one frame. -EBADMSG for what is no reply, -ENOMEM. */
int reply_decode(const uint8_t *bytes, size_t count, struct reply_decoded *ret);
void reply_decoded_destroy(struct reply_decoded *decoded);
