/* Replies, read by the client: the envelope checked, the result turned into JSON as it is. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/reply.h"

static int decode_error(const msgpack_object *error, struct reply_decoded *ret);
static json_t *to_json(const msgpack_object *value);

int reply_decode(const uint8_t *bytes, size_t count, struct reply_decoded *ret)
{
    struct reply_decoded decoded = {0};
    msgpack_unpacked unpacked;
    size_t off = 0;
    int r = -EBADMSG;

    msgpack_unpacked_init(&unpacked);
    msgpack_unpack_return unpacking =
        msgpack_unpack_next(&unpacked, (const char *)bytes, count, &off);
    const msgpack_object_array *reply = &unpacked.data.via.array;
    if (unpacking == MSGPACK_UNPACK_NOMEM_ERROR)
        r = -ENOMEM;
    if (unpacking != MSGPACK_UNPACK_SUCCESS || off != count ||
        unpacked.data.type != MSGPACK_OBJECT_ARRAY || reply->size != 4)
        goto done;
    const msgpack_object *type = &reply->ptr[0], *message_id = &reply->ptr[1];
    if (type->type != MSGPACK_OBJECT_POSITIVE_INTEGER || type->via.u64 != 1 ||
        message_id->type != MSGPACK_OBJECT_POSITIVE_INTEGER || message_id->via.u64 > UINT32_MAX)
        goto done;
    decoded.message_id = (uint32_t)message_id->via.u64;
    if (reply->ptr[2].type != MSGPACK_OBJECT_NIL) {
        r = decode_error(&reply->ptr[2], &decoded);
    } else {
        decoded.result = to_json(&reply->ptr[3]);
        r = decoded.result ? 0 : -ENOMEM;
    }
    if (r == 0)
        *ret = decoded;
done:
    msgpack_unpacked_destroy(&unpacked);
    return r;
}

void reply_decoded_destroy(struct reply_decoded *decoded)
{
    json_decref(decoded->result);
    decoded->result = NULL;
}

static const msgpack_object *find(const msgpack_object *map, const char *key)
{
    for (uint32_t i = 0; i < map->via.map.size; i++) {
        const msgpack_object *at = &map->via.map.ptr[i].key;
        if (at->type == MSGPACK_OBJECT_STR && at->via.str.size == strlen(key) &&
            memcmp(at->via.str.ptr, key, at->via.str.size) == 0)
            return &map->via.map.ptr[i].val;
    }
    return NULL;
}

static void copy_text(const msgpack_object *value, char *ret, size_t bytes)
{
    size_t count = value->via.str.size < bytes - 1 ? value->via.str.size : bytes - 1;

    for (size_t i = 0; i < count; i++) {
        unsigned char c = (unsigned char)value->via.str.ptr[i];
        ret[i] = c < 0x20 || c >= 0x7f ? '?' : (char)c;
    }
    ret[count] = '\0';
}

static int decode_error(const msgpack_object *error, struct reply_decoded *ret)
{
    char code[32];

    if (error->type != MSGPACK_OBJECT_MAP)
        return -EBADMSG;
    const msgpack_object *name = find(error, "code"), *text = find(error, "message"),
                         *retry = find(error, "retry_after_ms");
    if (!name || name->type != MSGPACK_OBJECT_STR || !text || text->type != MSGPACK_OBJECT_STR)
        return -EBADMSG;
    copy_text(name, code, sizeof code);
    if (reply_code_from_string(code, &ret->code) < 0 || ret->code == REPLY_OK)
        ret->code = REPLY_FAILED;
    copy_text(text, ret->text, sizeof ret->text);
    if (retry && retry->type == MSGPACK_OBJECT_POSITIVE_INTEGER && retry->via.u64 <= UINT32_MAX)
        ret->retry_after_ms = (uint32_t)retry->via.u64;
    return 0;
}

/* JSON strings are UTF-8: what is not becomes '?'. */
static json_t *text_to_json(const char *text, size_t bytes)
{
    json_t *value = json_stringn(text, bytes);
    if (value)
        return value;
    char *copy = malloc(bytes + 1);
    if (!copy)
        return NULL;
    for (size_t i = 0; i < bytes; i++)
        copy[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
    value = json_stringn(copy, bytes);
    free(copy);
    return value;
}

static json_t *array_to_json(const msgpack_object_array *array)
{
    json_t *ret = json_array();
    for (uint32_t i = 0; ret && i < array->size; i++)
        if (json_array_append_new(ret, to_json(&array->ptr[i])) < 0) {
            json_decref(ret);
            return NULL;
        }
    return ret;
}

static json_t *map_to_json(const msgpack_object_map *map)
{
    json_t *ret = json_object();
    for (uint32_t i = 0; ret && i < map->size; i++) {
        const msgpack_object *key = &map->ptr[i].key;
        if (key->type != MSGPACK_OBJECT_STR) /* no field of ours */
            continue;
        json_t *name = text_to_json(key->via.str.ptr, key->via.str.size);
        json_t *value = to_json(&map->ptr[i].val);
        /* json_object_set_new drops the value when it fails. */
        int r = name ? json_object_set_new(ret, json_string_value(name), value) : -1;
        if (!name)
            json_decref(value);
        json_decref(name);
        if (r < 0) {
            json_decref(ret);
            return NULL;
        }
    }
    return ret;
}

static json_t *integer_to_json(uint64_t value)
{
    char text[24];

    if (value <= INT64_MAX)
        return json_integer((json_int_t)value);
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return json_string(text);
}

static json_t *real_to_json(double value)
{
    json_t *ret = json_real(value); /* NULL for what JSON cannot say */
    return ret ? ret : json_null();
}

/* Frames nest at most FRAME_DEPTH_MAX deep, so the recursion does. */
static json_t *to_json(const msgpack_object *value)
{
    switch (value->type) {
    case MSGPACK_OBJECT_BOOLEAN:
        return json_boolean(value->via.boolean);
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
        return integer_to_json(value->via.u64);
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
        return json_integer(value->via.i64);
    case MSGPACK_OBJECT_FLOAT32:
    case MSGPACK_OBJECT_FLOAT64:
        return real_to_json(value->via.f64);
    case MSGPACK_OBJECT_STR:
        return text_to_json(value->via.str.ptr, value->via.str.size);
    case MSGPACK_OBJECT_ARRAY:
        return array_to_json(&value->via.array);
    case MSGPACK_OBJECT_MAP:
        return map_to_json(&value->via.map);
    default: /* nil; bin and ext are not used in replies */
        return json_null();
    }
}
