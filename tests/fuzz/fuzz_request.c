/* Requests as the daemon takes them: scanned, then decoded. What decodes encodes again to something
 * that decodes the same. */
#include <stdlib.h>
#include <string.h>

#include "config/name.h"
#include "protocol/frame.h"
#include "protocol/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void expect(bool holds)
{
    if (!holds)
        __builtin_trap();
}

static void check_submit(const struct request_submit *a, const struct request_submit *b)
{
    expect(name_is_valid(a->circuit, strlen(a->circuit)) && strcmp(a->circuit, b->circuit) == 0);
    expect(a->priority == b->priority && a->input_count == b->input_count);
    expect(a->input_count >= 1 && a->input_count <= JOB_PARTITIONS_MAX);
    for (uint32_t i = 0; i < a->input_count; i++) {
        expect(a->inputs[i].byte_count == b->inputs[i].byte_count);
        if (a->inputs[i].bytes)
            expect(memcmp(a->inputs[i].bytes, b->inputs[i].bytes, a->inputs[i].byte_count) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static struct request request, again;
    struct request_fault fault;
    struct frame frame;
    uint8_t *encoded;
    size_t encoded_count;

    frame_init(&frame);
    int length = frame_scan(&frame, bytes, count);
    if (length <= 0)
        return 0;
    int r = request_decode(bytes, (size_t)length, &request, &fault);
    if (r < 0) {
        expect(memchr(fault.text, '\0', sizeof fault.text) != NULL);
        return 0;
    }
    r = request_encode(&request, &encoded, &encoded_count);
    if (r < 0) /* defaults written out may pass the limit of a frame */
        return 0;
    expect(request_decode(encoded, encoded_count, &again, &fault) == 0);
    expect(again.method == request.method && again.message_id == request.message_id &&
           again.descriptor_count == request.descriptor_count);
    if (request.method == REQUEST_SUBMIT)
        check_submit(&request.submit, &again.submit);
    free(encoded);
    return 0;
}
