/* The header of a witness file. Above: the synthesis worker's witness source. */
#include "groth16/key/wtns.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "groth16/curve/curve.h"
#include "groth16/key/container.h"

enum {
    WTNS_VERSION_MAX = 2,
    SECTION_HEADER = 1,
    SECTION_VALUES = 2,
    HEADER_BYTES = 4 + CURVE_FR_BYTES + 4,
};

static int read_header(const struct container *file, struct wtns *ret, struct reason *reason)
{
    struct section header, values;
    struct wtns wtns = {0};
    uint8_t bytes[HEADER_BYTES];
    uint64_t prime[4];
    uint32_t n8;
    int error = container_section(file, SECTION_HEADER, "header", &header, reason);

    if (error == 0)
        error = container_section(file, SECTION_VALUES, "witness values", &values, reason);
    if (error)
        return error;
    if (header.bytes != HEADER_BYTES)
        return reason_set(reason, -EBADMSG,
                          "section 1 (header) at byte %" PRIu64 " has %" PRIu64
                          " bytes instead of %d: not a witness for a 32-byte field",
                          header.off, header.bytes, HEADER_BYTES);
    error = container_read(file, header.off, bytes, sizeof bytes, reason);
    if (error)
        return error;
    n8 = container_u32(bytes);
    if (n8 != CURVE_FR_BYTES)
        return reason_set(reason, -EBADMSG,
                          "section 1 (header) at byte %" PRIu64 ": values of %" PRIu32
                          " bytes, only 32 is supported",
                          header.off, n8);
    for (int i = 0; i < 4; i++)
        prime[i] = container_u64(bytes + 4 + 8 * i);
    wtns.curve = curve_by_fr_modulus(prime);
    if (!wtns.curve)
        return reason_set(reason, -EBADMSG,
                          "section 1 (header) at byte %" PRIu64 ": the prime is neither that of "
                          "bn254 (bn128) nor of bls12-381",
                          header.off + 4);
    wtns.value_count = container_u32(bytes + 4 + CURVE_FR_BYTES);
    if (wtns.value_count == 0)
        return reason_set(reason, -EBADMSG, "the witness has no values, not even the constant 1");
    if (wtns.value_count * CURVE_FR_BYTES != values.bytes)
        return reason_set(reason, -EBADMSG,
                          "the header counts %" PRIu64 " values, %" PRIu64
                          " bytes, but section 2 (witness values) has %" PRIu64
                          " bytes: the witness file is damaged",
                          wtns.value_count, wtns.value_count * CURVE_FR_BYTES, values.bytes);
    wtns.data_off = values.off;
    wtns.data_bytes = values.bytes;
    *ret = wtns;
    return 0;
}

int wtns_open(int fd, struct wtns *ret, struct reason *reason)
{
    struct container file;
    int error = container_open(fd, "wtns", WTNS_VERSION_MAX, &file, reason);

    return error ? error : read_header(&file, ret, reason);
}

int wtns_parse(const void *head, size_t head_bytes, uint64_t file_bytes, struct wtns *ret,
               struct reason *reason)
{
    struct container file;
    int error = container_open_memory(head, head_bytes, file_bytes, "wtns", WTNS_VERSION_MAX, &file,
                                      reason);

    return error ? error : read_header(&file, ret, reason);
}

int wtns_match(const struct wtns *wtns, const struct curve *curve, uint64_t variable_count,
               struct reason *reason)
{
    if (wtns->curve->id != curve->id)
        return reason_set(reason, -EBADMSG,
                          "the witness is over %s but the proving key is over %s: compute it with "
                          "the circuit compiled for that curve",
                          wtns->curve->name, curve->name);
    if (wtns->value_count != variable_count)
        return reason_set(reason, -EBADMSG,
                          "the witness has %" PRIu64 " values but the circuit has %" PRIu64
                          " wires: it belongs to another circuit or version",
                          wtns->value_count, variable_count);
    return 0;
}
