/* Bytes to vanilla proofs, refusing all that is not as it must be. */
#include "filecoin/bincode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void bincode_init(struct bincode *in, const uint8_t *data, size_t size, uint64_t size_wanted,
                  const char *what, struct reason *reason)
{
    *in = (struct bincode){.data = data, .size = size, .reason = reason};
    if (size != size_wanted)
        in->error = reason_set(reason, -EBADMSG,
                               "%s has %zu bytes, one of this kind and sector size has %" PRIu64
                               ": it is cut, of another sector size or of another kind",
                               what, size, size_wanted);
}

void bincode_place(struct bincode *in, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (vsnprintf(in->place, sizeof in->place, format, args) < 0)
        in->place[0] = '\0';
    va_end(args);
}

void bincode_refuse(struct bincode *in, const char *format, ...)
{
    char text[200];
    va_list args;

    if (in->error != 0)
        return;
    va_start(args, format);
    if (vsnprintf(text, sizeof text, format, args) < 0)
        text[0] = '\0';
    va_end(args);
    in->error = reason_set(in->reason, -EBADMSG, "%s: %s (offset %zu of the vanilla proof)",
                           in->place[0] ? in->place : "header", text, in->at);
}

static bool take(struct bincode *in, void *ret, size_t bytes)
{
    memset(ret, 0, bytes);
    if (in->error != 0)
        return false;
    if (in->size - in->at < bytes) {
        bincode_refuse(in, "the file ends here");
        return false;
    }
    memcpy(ret, in->data + in->at, bytes);
    in->at += bytes;
    return true;
}

uint32_t bincode_u32(struct bincode *in)
{
    uint32_t value;

    take(in, &value, sizeof value);
    return value;
}

uint64_t bincode_u64(struct bincode *in)
{
    uint64_t value;

    take(in, &value, sizeof value);
    return value;
}

void bincode_fr(struct bincode *in, const char *what, fr *ret)
{
    uint8_t bytes[FR_BYTES];

    *ret = fr_word(0);
    if (!take(in, bytes, sizeof bytes) || fr_read(ret, bytes))
        return;
    in->at -= FR_BYTES;
    bincode_refuse(in, "%s is not below the modulus of the field", what);
}

void bincode_count(struct bincode *in, const char *what, uint64_t wanted)
{
    const uint64_t count = bincode_u64(in);

    if (in->error == 0 && count != wanted) {
        in->at -= sizeof count;
        bincode_refuse(in, "%" PRIu64 " %s where %" PRIu64 " belong", count, what, wanted);
    }
}

static void read_level(struct bincode *in, const struct merkle_shape *shape, unsigned level,
                       unsigned shift, struct merkle_proof *ret, fr **siblings)
{
    const unsigned arity = shape->arity[level];
    uint64_t index;

    bincode_count(in, "siblings", arity - 1);
    for (unsigned i = 1; i < arity && in->error == 0; i++) {
        bincode_fr(in, "a sibling", *siblings);
        ++*siblings;
    }
    index = bincode_u64(in);
    if (in->error == 0 && index >= arity) {
        in->at -= sizeof index;
        bincode_refuse(in, "index %" PRIu64 " in level %u, whose arity is %u", index, level, arity);
    }
    ret->index |= index << shift;
}

void bincode_merkle_proof(struct bincode *in, const struct merkle_shape *shape,
                          struct merkle_proof *ret, fr **siblings)
{
    static const char *const tags[] = {"single", "sub", "top"};
    const uint32_t tag = bincode_u32(in);
    unsigned level = 0, shift = 0;

    *ret = (struct merkle_proof){.siblings = *siblings};
    if (in->error == 0 && tag != shape->part_count - 1u) {
        in->at -= sizeof tag;
        bincode_refuse(in, "tree kind %" PRIu32 " where %u (%s) belongs", tag,
                       shape->part_count - 1u, tags[shape->part_count - 1]);
    }
    if (shape->part_count == 1) { /* before the path, and behind it in the other two */
        bincode_fr(in, "the root", &ret->root);
        bincode_fr(in, "the leaf", &ret->leaf);
    }
    for (unsigned part = 0; part < shape->part_count && in->error == 0; part++) {
        const unsigned count = part == 0 ? shape->base_count : 1;

        bincode_count(in, "levels", count);
        for (unsigned i = 0; i < count && in->error == 0; i++, level++) {
            read_level(in, shape, level, shift, ret, siblings);
            shift += merkle_arity_bits(shape->arity[level]);
        }
    }
    if (shape->part_count > 1) {
        bincode_fr(in, "the root", &ret->root);
        bincode_fr(in, "the leaf", &ret->leaf);
    }
}

int bincode_finish(struct bincode *in)
{
    if (in->error == 0 && in->at != in->size)
        bincode_refuse(in, "%zu bytes are left over", in->size - in->at);
    return in->error;
}

unsigned merkle_sibling_count(const struct merkle_shape *shape)
{
    unsigned count = 0;

    for (unsigned level = 0; level < shape->level_count; level++)
        count += shape->arity[level] - 1u;
    return count;
}

uint64_t bincode_merkle_bytes(const struct merkle_shape *shape)
{
    return 4 + 2 * FR_BYTES + 8u * shape->part_count + 16u * shape->level_count +
           (uint64_t)FR_BYTES * merkle_sibling_count(shape);
}
