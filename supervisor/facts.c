/* Facts of a prepared circuit: see facts.h. */
#include "supervisor/facts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/limits.h"
#include "groth16/key/slab_layout.h"

static int wrong(const char *field, char *ret_error, size_t error_bytes)
{
    snprintf(ret_error, error_bytes, "the description of the key lacks a valid \"%s\"", field);
    return -EBADMSG;
}

bool facts_digest_is_valid(const char *text)
{
    return strlen(text) == FACTS_DIGEST_TEXT_BYTES - 1 &&
           strspn(text, "0123456789abcdef") == FACTS_DIGEST_TEXT_BYTES - 1;
}

static bool get_integer(const json_t *object, const char *field, uint64_t max, uint64_t *ret)
{
    const json_t *value = json_object_get(object, field);
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > max)
        return false;
    *ret = (uint64_t)json_integer_value(value);
    return true;
}

static bool get_digest(const json_t *object, const char *field, char *ret)
{
    const char *text = json_string_value(json_object_get(object, field));
    if (!text || !facts_digest_is_valid(text))
        return false;
    memcpy(ret, text, FACTS_DIGEST_TEXT_BYTES);
    return true;
}

static const struct curve *curve_by_name(const char *name)
{
    static const uint32_t ids[] = {CURVE_BN254, CURVE_BLS12_381};
    for (size_t i = 0; name && i < sizeof ids / sizeof ids[0]; i++) {
        const struct curve *curve = curve_by_id(ids[i]);
        if (curve && strcmp(curve->name, name) == 0)
            return curve;
    }
    return NULL;
}

int facts_from_json(const json_t *object, struct facts *ret, char *ret_error, size_t error_bytes)
{
    struct facts facts = {0};
    uint64_t variables, publics, constraints, domain_log2;
    facts.curve = curve_by_name(json_string_value(json_object_get(object, "curve")));
    if (!facts.curve)
        return wrong("curve", ret_error, error_bytes);
    if (!get_integer(object, "variables", UINT32_MAX, &variables) || variables == 0)
        return wrong("variables", ret_error, error_bytes);
    if (!get_integer(object, "public", PUBLIC_INPUTS_MAX, &publics) || publics >= variables)
        return wrong("public", ret_error, error_bytes);
    if (!get_integer(object, "constraints", UINT32_MAX, &constraints))
        return wrong("constraints", ret_error, error_bytes);
    if (!get_integer(object, "domain_log2", facts.curve->two_adicity, &domain_log2))
        return wrong("domain_log2", ret_error, error_bytes);
    if (!get_integer(object, "slab_bytes", INT64_MAX, &facts.slab_bytes) ||
        facts.slab_bytes != slab_layout_make((uint32_t)variables, (unsigned)domain_log2).bytes)
        return wrong("slab_bytes", ret_error, error_bytes);
    if (!get_integer(object, "file_bytes", INT64_MAX, &facts.file_bytes) || facts.file_bytes == 0)
        return wrong("file_bytes", ret_error, error_bytes);
    if (!get_digest(object, "key_digest", facts.key_digest))
        return wrong("key_digest", ret_error, error_bytes);
    if (!get_digest(object, "vk_digest", facts.vk_digest))
        return wrong("vk_digest", ret_error, error_bytes);
    if (!json_is_boolean(json_object_get(object, "has_c")))
        return wrong("has_c", ret_error, error_bytes);
    facts.has_c = json_is_true(json_object_get(object, "has_c"));
    facts.variable_count = (uint32_t)variables;
    facts.public_count = (uint32_t)publics;
    facts.constraint_count = (uint32_t)constraints;
    facts.domain_log2 = (uint32_t)domain_log2;
    *ret = facts;
    return 0;
}

static void copy_printable(const char *text, char *ret, size_t room)
{
    size_t i = 0;
    for (; text[i] && i + 1 < room; i++)
        ret[i] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
    ret[i] = '\0';
}

int facts_from_result(const char *line, struct facts *ret, char *ret_error, size_t error_bytes)
{
    json_error_t fault;
    json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, &fault);
    int r = -EBADMSG;
    if (!json_is_object(object)) {
        snprintf(ret_error, error_bytes, "the helper process wrote no result");
    } else if (json_is_true(json_object_get(object, "ok"))) {
        r = facts_from_json(object, ret, ret_error, error_bytes);
    } else {
        const char *text = json_string_value(json_object_get(object, "error"));
        copy_printable(text ? text : "the helper process gave no reason", ret_error, error_bytes);
        if (json_is_true(json_object_get(object, "host")))
            r = -EIO;
    }
    json_decref(object);
    return r;
}

json_t *facts_to_json(const struct facts *facts)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:s, s:b}", "curve",
                     facts->curve->name, "variables", (json_int_t)facts->variable_count, "public",
                     (json_int_t)facts->public_count, "constraints",
                     (json_int_t)facts->constraint_count, "domain_log2",
                     (json_int_t)facts->domain_log2, "slab_bytes", (json_int_t)facts->slab_bytes,
                     "file_bytes", (json_int_t)facts->file_bytes, "key_digest", facts->key_digest,
                     "vk_digest", facts->vk_digest, "has_c", (int)facts->has_c);
}

uint64_t facts_slab_bytes(const struct facts *facts, bool has_evaluations)
{
    const struct slab_layout layout = slab_layout_make(facts->variable_count, facts->domain_log2);
    return slab_layout_used_bytes(&layout, has_evaluations);
}

static unsigned digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

void facts_vk_digest(const struct facts *facts, uint8_t ret[FACTS_DIGEST_BYTES])
{
    for (int i = 0; i < FACTS_DIGEST_BYTES; i++)
        ret[i] =
            (uint8_t)(digit(facts->vk_digest[2 * i]) << 4 | digit(facts->vk_digest[2 * i + 1]));
}
