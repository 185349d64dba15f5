/* Streams the constraints of an .r1cs file. Above: prepared_write, which compares them with the key
 * and keeps C; bench/make_key, which makes a key of them. */
#include "groth16/key/r1cs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "groth16/curve/curve.h"

enum {
    R1CS_VERSION_MAX = 1,
    SECTION_HEADER = 1,
    SECTION_CONSTRAINTS = 2,
    HEADER_BYTES = 4 + CURVE_FR_BYTES + 4 * 4 + 8 + 4,
    TERM_BYTES = 4 + CURVE_FR_BYTES,
    BUFFER_BYTES = 1 << 20,
};

static int read_header(struct r1cs *r1cs, struct reason *reason);

int r1cs_open(int fd, struct r1cs *ret, struct reason *reason)
{
    struct r1cs r1cs = {0};
    int error = container_open(fd, "r1cs", R1CS_VERSION_MAX, &r1cs.file, reason);

    if (error == 0)
        error = read_header(&r1cs, reason);
    if (error == 0)
        *ret = r1cs;
    return error;
}

int r1cs_open_memory(const void *bytes, size_t count, struct r1cs *ret, struct reason *reason)
{
    struct r1cs r1cs = {0};
    int error =
        container_open_memory(bytes, count, count, "r1cs", R1CS_VERSION_MAX, &r1cs.file, reason);

    if (error == 0)
        error = read_header(&r1cs, reason);
    if (error == 0)
        *ret = r1cs;
    return error;
}

static int read_header(struct r1cs *r1cs, struct reason *reason)
{
    struct section header;
    uint8_t bytes[HEADER_BYTES], *p = bytes;
    uint64_t prime[4], named;
    int error = container_section(&r1cs->file, SECTION_HEADER, "header", &header, reason);

    if (error == 0)
        error = container_section(&r1cs->file, SECTION_CONSTRAINTS, "constraints",
                                  &r1cs->constraints, reason);
    if (error)
        return error;
    if (header.bytes != HEADER_BYTES)
        return reason_set(reason, -EBADMSG,
                          "section 1 (header) at byte %" PRIu64 " has %" PRIu64
                          " bytes instead of %d: not an .r1cs for a 32-byte field",
                          header.off, header.bytes, HEADER_BYTES);
    error = container_read(&r1cs->file, header.off, bytes, sizeof bytes, reason);
    if (error)
        return error;
    if (container_u32(p) != CURVE_FR_BYTES)
        return reason_set(reason, -EBADMSG,
                          "section 1 (header) at byte %" PRIu64 ": values of %" PRIu32
                          " bytes, only 32 is supported",
                          header.off, container_u32(p));
    for (int i = 0; i < 4; i++)
        prime[i] = container_u64(p + 4 + 8 * i);
    r1cs->curve = curve_by_fr_modulus(prime);
    if (!r1cs->curve)
        return reason_set(reason, -EBADMSG,
                          "section 1 (header) at byte %" PRIu64 ": the prime is neither that of "
                          "bn254 (bn128) nor of bls12-381",
                          header.off + 4);
    p += 4 + CURVE_FR_BYTES;
    r1cs->wire_count = container_u32(p);
    r1cs->public_output_count = container_u32(p + 4);
    r1cs->public_input_count = container_u32(p + 8);
    r1cs->private_input_count = container_u32(p + 12);
    r1cs->label_count = container_u64(p + 16);
    r1cs->constraint_count = container_u32(p + 24);
    named = 1 + (uint64_t)r1cs->public_output_count + r1cs->public_input_count +
            r1cs->private_input_count;
    if (named > r1cs->wire_count)
        return reason_set(reason, -EBADMSG,
                          "section 1 (header) at byte %" PRIu64 ": %" PRIu32
                          " wires cannot hold the constant 1 and %" PRIu64 " inputs and outputs",
                          header.off, r1cs->wire_count, named - 1);
    /* Three counts a constraint are the least: bounds the loop over constraints by the file. */
    if (r1cs->constraint_count > r1cs->constraints.bytes / 12)
        return reason_set(reason, -EBADMSG,
                          "the header counts %" PRIu32
                          " constraints, section 2 (constraints) has only %" PRIu64 " bytes",
                          r1cs->constraint_count, r1cs->constraints.bytes);
    return 0;
}

/* Sequential reads of one section through a buffer. */
struct reader {
    const struct container *file;
    uint8_t *buffer;
    size_t begin, end; /* unread bytes of the buffer */
    uint64_t next_off; /* of the file, after the buffer */
    uint64_t end_off;  /* of the section */
};

static uint64_t reader_off(const struct reader *reader)
{
    return reader->next_off - (reader->end - reader->begin);
}

static uint64_t reader_left(const struct reader *reader)
{
    return reader->end_off - reader_off(reader);
}

/* The next `bytes` (small, not beyond the section), contiguous; NULL with *ret_error. */
static const uint8_t *reader_take(struct reader *reader, size_t bytes, int *ret_error,
                                  struct reason *reason)
{
    const uint8_t *p;

    if (reader->end - reader->begin < bytes) {
        size_t kept = reader->end - reader->begin, room = BUFFER_BYTES - kept;
        uint64_t left = reader->end_off - reader->next_off;

        memmove(reader->buffer, reader->buffer + reader->begin, kept);
        if (left < room)
            room = (size_t)left;
        *ret_error =
            container_read(reader->file, reader->next_off, reader->buffer + kept, room, reason);
        if (*ret_error)
            return NULL;
        reader->begin = 0;
        reader->end = kept + room;
        reader->next_off += room;
    }
    p = reader->buffer + reader->begin;
    reader->begin += bytes;
    return p;
}

/* One of the three linear combinations of a constraint. */
static int read_combination(const struct r1cs *r1cs, struct reader *reader, uint32_t constraint,
                            enum r1cs_matrix matrix, const struct r1cs_sink *sink,
                            struct reason *reason)
{
    const uint8_t *p;
    uint32_t count;
    int error = 0;

    if (reader_left(reader) < 4)
        return reason_set(reason, -EBADMSG,
                          "section 2 (constraints) ends at byte %" PRIu64 " in constraint %" PRIu32
                          " of %" PRIu32,
                          reader->end_off, constraint, r1cs->constraint_count);
    p = reader_take(reader, 4, &error, reason);
    if (!p)
        return error;
    count = container_u32(p);
    if (count > reader_left(reader) / TERM_BYTES)
        return reason_set(reason, -EBADMSG,
                          "section 2 (constraints): constraint %" PRIu32 " at byte %" PRIu64
                          " claims %" PRIu32 " terms in %c, more than the section holds",
                          constraint, reader_off(reader) - 4, count, "ABC"[matrix]);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value[4];
        uint32_t wire;

        p = reader_take(reader, TERM_BYTES, &error, reason);
        if (!p)
            return error;
        wire = container_u32(p);
        for (int j = 0; j < 4; j++)
            value[j] = container_u64(p + 4 + 8 * j);
        if (wire >= r1cs->wire_count)
            return reason_set(reason, -EBADMSG,
                              "section 2 (constraints): constraint %" PRIu32
                              ", %c, at byte %" PRIu64 " names wire %" PRIu32 " of %" PRIu32,
                              constraint, "ABC"[matrix], reader_off(reader) - TERM_BYTES, wire,
                              r1cs->wire_count);
        if (!r1cs->curve->scalar_is_reduced(value))
            return reason_set(reason, -EBADMSG,
                              "section 2 (constraints): constraint %" PRIu32
                              ", %c, at byte %" PRIu64 ": the coefficient is not below the prime",
                              constraint, "ABC"[matrix], reader_off(reader) - TERM_BYTES + 4);
        error = sink->term ? sink->term(sink->context, constraint, matrix, wire, value) : 0;
        if (error < 0)
            return error;
    }
    return 0;
}

int r1cs_read(const struct r1cs *r1cs, const struct r1cs_sink *sink, struct reason *reason)
{
    struct reader reader = {
        .file = &r1cs->file,
        .buffer = malloc(BUFFER_BYTES),
        .next_off = r1cs->constraints.off,
        .end_off = r1cs->constraints.off + r1cs->constraints.bytes,
    };
    int error = 0;

    if (!reader.buffer)
        return reason_set(reason, -ENOMEM, "no memory to read the constraints");
    for (uint32_t i = 0; i < r1cs->constraint_count && error >= 0; i++) {
        for (enum r1cs_matrix m = R1CS_A; m <= R1CS_C && error >= 0; m++)
            error = read_combination(r1cs, &reader, i, m, sink, reason);
        if (error >= 0 && sink->constraint_end)
            error = sink->constraint_end(sink->context, i);
    }
    if (error >= 0 && reader_left(&reader) != 0)
        error = reason_set(reason, -EBADMSG,
                           "section 2 (constraints) goes on for %" PRIu64
                           " bytes after the last of %" PRIu32 " constraints: the file is damaged",
                           reader_left(&reader), r1cs->constraint_count);
    free(reader.buffer);
    return error < 0 ? error : 0;
}
