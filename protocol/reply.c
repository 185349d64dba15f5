/* Replies, written by the daemon: a thin layer over msgpack-c that counts elements itself. */
#include "protocol/reply.h"

#include <errno.h>
#include <string.h>

static const char *const code_names[REPLY_CODE_COUNT] = {
    [REPLY_OK] = "ok",
    [REPLY_USAGE] = "usage",
    [REPLY_BAD_INPUT] = "bad_input",
    [REPLY_NOT_FOUND] = "not_found",
    [REPLY_BUSY] = "busy",
    [REPLY_DENIED] = "denied",
    [REPLY_FAILED] = "failed",
    [REPLY_CANCELLED] = "cancelled",
    [REPLY_TIMEOUT] = "timeout",
    [REPLY_TOO_LATE] = "too_late",
    [REPLY_SHUTTING_DOWN] = "shutting_down",
    [REPLY_EXISTS] = "exists",
    [REPLY_KEY_CONFLICT] = "key_conflict",
    [REPLY_EXPIRED] = "expired",
    [REPLY_DEADLINE] = "deadline",
};

const char *reply_code_to_string(enum reply_code code)
{
    return code < REPLY_CODE_COUNT ? code_names[code] : "?";
}

int reply_code_from_string(const char *text, enum reply_code *ret)
{
    for (int i = 0; i < REPLY_CODE_COUNT; i++)
        if (strcmp(code_names[i], text) == 0) {
            *ret = (enum reply_code)i;
            return 0;
        }
    return -EINVAL;
}

static void fail(struct reply *reply, int error)
{
    if (reply->error == 0)
        reply->error = error;
}

static int write_bytes(void *context, const char *bytes, size_t count)
{
    struct reply *reply = context;

    if (reply->error < 0)
        return 0;
    if (reply->buffer.size + count > FRAME_BYTES_MAX)
        fail(reply, -EMSGSIZE);
    else if (msgpack_sbuffer_write(&reply->buffer, bytes, count) != 0)
        fail(reply, -ENOMEM);
    return 0;
}

static void pack_text(struct reply *reply, const char *text)
{
    size_t bytes = strlen(text);
    msgpack_pack_str(&reply->packer, bytes);
    msgpack_pack_str_body(&reply->packer, text, bytes);
}

static void begin(struct reply *reply, uint32_t message_id)
{
    *reply = (struct reply){0};
    msgpack_sbuffer_init(&reply->buffer);
    msgpack_packer_init(&reply->packer, reply, write_bytes);
    reply->elements = 4; /* the reply array and what stands around the one value */
    msgpack_pack_array(&reply->packer, 4);
    msgpack_pack_uint8(&reply->packer, 1);
    msgpack_pack_uint32(&reply->packer, message_id);
}

void reply_begin(struct reply *reply, uint32_t message_id)
{
    begin(reply, message_id);
    msgpack_pack_nil(&reply->packer);
}

/* Every value begins here: counts it in its container and writes its key. */
static void begin_value(struct reply *reply, const char *key)
{
    if (reply->depth > 0)
        reply->open[reply->depth - 1].count++;
    reply->elements += key ? 2 : 1;
    if (reply->elements > FRAME_ELEMENTS_MAX)
        fail(reply, -EMSGSIZE);
    if (key)
        pack_text(reply, key);
}

/* A 16-bit header whose count reply_close fills in. */
static void open_container(struct reply *reply, const char *key, char type)
{
    begin_value(reply, key);
    /* The reply itself is the first of FRAME_DEPTH_MAX levels. */
    if (reply->depth == FRAME_DEPTH_MAX - 1) {
        fail(reply, -EINVAL);
        return;
    }
    char header[3] = {type, 0, 0};
    reply->open[reply->depth].count_off = reply->buffer.size + 1;
    reply->open[reply->depth].count = 0;
    reply->depth++;
    write_bytes(reply, header, sizeof header);
}

void reply_map(struct reply *reply, const char *key)
{
    open_container(reply, key, (char)0xde);
}

void reply_array(struct reply *reply, const char *key)
{
    open_container(reply, key, (char)0xdc);
}

void reply_close(struct reply *reply)
{
    if (reply->depth == 0) {
        fail(reply, -EINVAL);
        return;
    }
    reply->depth--;
    uint32_t count = reply->open[reply->depth].count;
    if (count > UINT16_MAX)
        fail(reply, -EMSGSIZE);
    if (reply->error < 0)
        return;
    reply->buffer.data[reply->open[reply->depth].count_off] = (char)(count >> 8);
    reply->buffer.data[reply->open[reply->depth].count_off + 1] = (char)(count & 0xff);
}

void reply_string(struct reply *reply, const char *key, const char *value)
{
    begin_value(reply, key);
    if (value)
        pack_text(reply, value);
    else
        msgpack_pack_nil(&reply->packer);
}

void reply_integer(struct reply *reply, const char *key, uint64_t value)
{
    begin_value(reply, key);
    msgpack_pack_uint64(&reply->packer, value);
}

void reply_signed(struct reply *reply, const char *key, int64_t value)
{
    begin_value(reply, key);
    msgpack_pack_int64(&reply->packer, value);
}

void reply_real(struct reply *reply, const char *key, double value)
{
    begin_value(reply, key);
    msgpack_pack_double(&reply->packer, value);
}

void reply_bool(struct reply *reply, const char *key, bool value)
{
    begin_value(reply, key);
    if (value)
        msgpack_pack_true(&reply->packer);
    else
        msgpack_pack_false(&reply->packer);
}

int reply_finish(struct reply *reply, const uint8_t **ret_bytes, size_t *ret_count)
{
    if (reply->depth > 0)
        fail(reply, -EINVAL);
    if (reply->error < 0)
        return reply->error;
    *ret_bytes = (const uint8_t *)reply->buffer.data;
    *ret_count = reply->buffer.size;
    return 0;
}

void reply_destroy(struct reply *reply)
{
    msgpack_sbuffer_destroy(&reply->buffer);
    msgpack_sbuffer_init(&reply->buffer);
}

void reply_error(struct reply *reply, uint32_t message_id, enum reply_code code, const char *text,
                 uint32_t retry_after_ms)
{
    begin(reply, message_id);
    reply_map(reply, NULL);
    reply_string(reply, "code", reply_code_to_string(code));
    reply_string(reply, "message", text);
    if (retry_after_ms > 0)
        reply_integer(reply, "retry_after_ms", retry_after_ms);
    reply_close(reply);
    msgpack_pack_nil(&reply->packer);
}
