/* The bytes shown in PROTOCOL.md are what this program's own code takes. */
#include <errno.h>

#include "protocol/frame.h"
#include "protocol/reply.h"
#include "protocol/request.h"
#include "tests/test.h"

enum {
    FRAMES_MAX = 32,
};

static struct {
    uint8_t bytes[1024];
    size_t count;
} frames[FRAMES_MAX];
static size_t frame_count;

/* A line of two-digit hex numbers, or nothing. */
static size_t hex_line(const char *line, uint8_t *ret)
{
    size_t count = 0;
    for (; line[0] && line[0] != '\n'; line += line[2] == ' ' ? 3 : 2) {
        if (strspn(line, "0123456789abcdef") != 2 || (line[2] != ' ' && line[2] != '\n'))
            return 0;
        ret[count++] = (uint8_t)strtoul((char[]){line[0], line[1], '\0'}, NULL, 16);
    }
    return count;
}

/* Blocks of hex lines, ended by any other line. */
static void read_frames(void)
{
    char line[4096];
    uint8_t bytes[2048];
    FILE *file = fopen(SOURCE_ROOT "/protocol/PROTOCOL.md", "r");
    ASSERT(file);
    while (fgets(line, sizeof line, file)) {
        size_t count = hex_line(line, bytes);
        if (count == 0 && frames[frame_count].count > 0)
            frame_count++;
        ASSERT(frame_count < FRAMES_MAX &&
               frames[frame_count].count + count <= sizeof frames[0].bytes);
        memcpy(frames[frame_count].bytes + frames[frame_count].count, bytes, count);
        frames[frame_count].count += count;
    }
    fclose(file);
}

TEST(examples_of_the_document_decode)
{
    static struct request request;
    struct request_fault fault;
    struct reply_decoded reply;
    struct frame frame;
    size_t requests = 0;

    read_frames();
    ASSERT(frame_count >= 9);
    for (size_t i = 0; i < frame_count; i++) {
        frame_init(&frame);
        ASSERT_INT(frame_scan(&frame, frames[i].bytes, frames[i].count), frames[i].count);
        if (frames[i].bytes[1] == 0) {
            ASSERT_INT(request_decode(frames[i].bytes, frames[i].count, &request, &fault), 0);
            requests++;
        } else {
            ASSERT_INT(reply_decode(frames[i].bytes, frames[i].count, &reply), 0);
            reply_decoded_destroy(&reply);
        }
    }
    ASSERT_INT(requests, 5);
}

/* Names of methods, codes, states and priorities that the code knows and the document not. */
TEST(every_name_of_the_code_is_in_the_document)
{
    static char text[1 << 18];
    char wanted[64];
    FILE *file = fopen(SOURCE_ROOT "/protocol/PROTOCOL.md", "r");
    ASSERT(file);
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    ASSERT(bytes > 0 && bytes < sizeof text - 1);
    fclose(file);
    for (int i = 0; i < REQUEST_METHOD_COUNT; i++) {
        snprintf(wanted, sizeof wanted, "\n### %s",
                 request_method_to_string((enum request_method)i));
        ASSERT(strstr(text, wanted));
    }
    for (int i = REPLY_USAGE; i < REPLY_CODE_COUNT; i++) {
        snprintf(wanted, sizeof wanted, "\n| `%s` |", reply_code_to_string((enum reply_code)i));
        ASSERT(strstr(text, wanted));
    }
    for (int i = 0; i < REQUEST_JOB_STATE_COUNT; i++) {
        snprintf(wanted, sizeof wanted, "`%s`",
                 request_job_state_to_string((enum request_job_state)i));
        ASSERT(strstr(text, wanted));
    }
}

TEST_MAIN(CASE(examples_of_the_document_decode), CASE(every_name_of_the_code_is_in_the_document))
