/* What protocol/request.h promises, case by case. */
#include <errno.h>

#include <msgpack.h>

#include "protocol/frame.h"
#include "protocol/request.h"
#include "tests/test.h"

static struct request request, decoded;
static struct request_fault fault;

static int decode(const void *bytes, size_t count)
{
    return request_decode(bytes, count, &decoded, &fault);
}

#define DECODE(text) decode(text, sizeof(text) - 1)

/* Encodes `request`, scans and decodes it into `decoded`. The bytes stay for inline inputs. */
static uint8_t *bytes;

static void round_trip(void)
{
    size_t count;
    struct frame frame;
    free(bytes);
    bytes = NULL;
    ASSERT_INT(request_encode(&request, &bytes, &count), 0);
    frame_init(&frame);
    ASSERT_INT(frame_scan(&frame, bytes, count), count);
    int r = decode(bytes, count);
    if (r < 0)
        fprintf(stderr, "fault: %s\n", fault.text);
    ASSERT_INT(r, 0);
    ASSERT_INT(decoded.method, request.method);
    ASSERT_INT(decoded.message_id, request.message_id);
    ASSERT_INT(decoded.descriptor_count, request.descriptor_count);
}

TEST(submissions_survive_the_round_trip)
{
    request = (struct request){.message_id = UINT32_MAX, .method = REQUEST_SUBMIT};
    strcpy(request.submit.circuit, "sha256.v1");
    request.submit.priority = REQUEST_PRIORITY_CRITICAL;
    request.submit.input_count = 3;
    request.submit.inputs[1] = (struct request_input){"wtns...", 7};
    request.descriptor_count = 2;
    round_trip();
    ASSERT_STR(decoded.submit.circuit, "sha256.v1");
    ASSERT_INT(decoded.submit.priority, REQUEST_PRIORITY_CRITICAL);
    ASSERT_INT(decoded.submit.input_count, 3);
    ASSERT(!decoded.submit.inputs[0].bytes && !decoded.submit.inputs[2].bytes);
    ASSERT_INT(decoded.submit.inputs[1].byte_count, 7);
    ASSERT(memcmp(decoded.submit.inputs[1].bytes, "wtns...", 7) == 0);
}

TEST(full_submissions_of_descriptors_fit)
{
    request = (struct request){.method = REQUEST_SUBMIT, .descriptor_count = JOB_PARTITIONS_MAX};
    strcpy(request.submit.circuit, "c");
    request.submit.input_count = JOB_PARTITIONS_MAX;
    round_trip();
}

TEST(frames_over_the_limit_are_not_encoded)
{
    static uint8_t input[INPUT_INLINE_BYTES_MAX];
    size_t count;
    uint8_t *out;
    request = (struct request){.method = REQUEST_SUBMIT};
    strcpy(request.submit.circuit, "c");
    for (request.submit.input_count = 0; request.submit.input_count < 15;)
        request.submit.inputs[request.submit.input_count++] =
            (struct request_input){input, sizeof input};
    round_trip();
    request.submit.inputs[request.submit.input_count++] =
        (struct request_input){input, sizeof input};
    ASSERT_INT(request_encode(&request, &out, &count), -EMSGSIZE);
}

TEST(every_other_method_survives_the_round_trip)
{
    request = (struct request){.message_id = 5, .method = REQUEST_WAIT};
    request.wait = (struct request_wait){UINT64_MAX, 60000, true, 17};
    round_trip();
    ASSERT(decoded.wait.job == UINT64_MAX && decoded.wait.has_seen);
    ASSERT_INT(decoded.wait.timeout_ms, 60000);
    ASSERT_INT(decoded.wait.seen, 17);
    request.wait.has_seen = false;
    round_trip();
    ASSERT(!decoded.wait.has_seen);

    request = (struct request){.method = REQUEST_PUBLIC};
    request.public = (struct request_public){3, 127, 65536};
    round_trip();
    ASSERT(decoded.public.job == 3 && decoded.public.partition == 127);
    ASSERT_INT(decoded.public.first, 65536);

    request = (struct request){.method = REQUEST_JOBS};
    request.jobs = (struct request_jobs){1000, true, REQUEST_JOB_FAILED};
    round_trip();
    ASSERT_INT(decoded.jobs.limit, 1000);
    ASSERT(decoded.jobs.has_state && decoded.jobs.state == REQUEST_JOB_FAILED);

    request = (struct request){.method = REQUEST_CIRCUIT_ADD, .descriptor_count = 2};
    strcpy(request.circuit.name, "x");
    request.circuit.has_r1cs = true;
    round_trip();
    ASSERT(decoded.circuit.has_r1cs);
    request = (struct request){.method = REQUEST_CIRCUIT_REMOVE};
    strcpy(request.circuit.name, "y");
    round_trip();
    ASSERT_STR(decoded.circuit.name, "y");

    static const enum request_method plain[] = {REQUEST_HELLO, REQUEST_STATUS, REQUEST_WORKERS,
                                                REQUEST_CIRCUIT_LIST, REQUEST_CHECK, REQUEST_RELOAD};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        request = (struct request){.method = plain[i]};
        round_trip();
    }
    for (int i = REQUEST_RESULT; i <= REQUEST_CANCEL; i += REQUEST_CANCEL - REQUEST_RESULT) {
        request = (struct request){.method = (enum request_method)i, .job = 9};
        round_trip();
        ASSERT_INT(decoded.job, 9);
    }
}

TEST(defaults_apply_to_what_is_left_out)
{
    ASSERT_INT(DECODE("\x94\x00\x01\xa4jobs\x91\x80"), 0);
    ASSERT_INT(decoded.jobs.limit, 100);
    ASSERT(!decoded.jobs.has_state);
    ASSERT_INT(DECODE("\x94\x00\x01\xa6submit\x91\x82\xa7"
                      "circuit\xa1"
                      "c\xa6inputs\x91\x81\xa6inline\xc4\x01w"),
               0);
    ASSERT_INT(decoded.submit.priority, REQUEST_PRIORITY_NORMAL);
    ASSERT_INT(decoded.descriptor_count, 0);
}

TEST(what_is_no_request_cannot_be_answered)
{
    static const struct {
        const char *bytes;
        size_t count;
    } bad[] = {
        {"\x90", 1},
        {"\x93\x02\xa4jobs\x91", 7},                          /* a notification */
        {"\x94\x01\x01\xa4jobs\x91\x80", 10},                 /* a reply */
        {"\x94\x00\xff\xa4jobs\x91\x80", 10},                 /* msgid -1 */
        {"\x94\x00\xa1x\xa4jobs\x91\x80", 11},                /* msgid a string */
        {"\x94\x00\xcf\0\0\0\1\0\0\0\0\xa4jobs\x91\x80", 18}, /* msgid 2^32 */
        {"\x95\x00\x01\xa4jobs\x91\x80\xc0", 11},
        {"\x94\x00\x01\xa4jobs\x91\x80\xc0", 11}, /* bytes behind it */
        {"\x94\x00\x01\xa4jobs\x91", 9},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ASSERT_INT(decode(bad[i].bytes, bad[i].count), -EBADMSG);
        ASSERT(!fault.has_message_id);
    }
}

/* Refused with message id 7 and this piece of text. */
static void refused(const void *frame, size_t count, const char *piece)
{
    ASSERT_INT(decode(frame, count), -EINVAL);
    ASSERT(fault.has_message_id);
    ASSERT_INT(fault.message_id, 7);
    if (!strstr(fault.text, piece))
        ASSERT_STR(fault.text, piece);
}

#define REFUSED(text, piece) refused(text, sizeof(text) - 1, piece)

TEST(unknown_and_missing_names_are_refused_with_a_suggestion)
{
    REFUSED("\x94\x00\x07\xa6"
            "submti\x91\x80",
            "unknown method \"submti\"; did you mean submit?");
    REFUSED("\x94\x00\x07\x05\x91\x80", "method is to be a string");
    REFUSED("\x94\x00\x07\xa4jobs\x90", "params");
    REFUSED("\x94\x00\x07\xa4jobs\x80", "params");
    REFUSED("\x94\x00\x07\xa4jobs\x91\x90", "params");
    REFUSED("\x94\x00\x07\xa4jobs\x91\x81\xa5limti\x01", "did you mean limit?");
    REFUSED("\x94\x00\x07\xa4jobs\x91\x81\x05\x01", "no parameter");
    REFUSED("\x94\x00\x07\xa4jobs\x91\x82\xa5limit\x01\xa5limit\x01", "limit is given twice");
    REFUSED("\x94\x00\x07\xa6"
            "cancel\x91\x80",
            "cancel needs the parameter job");
    REFUSED("\x94\x00\x07\xa6status\x91\x81\xa3job\x01", "status has no parameter");
}

TEST(types_and_ranges_are_checked)
{
    REFUSED("\x94\x00\x07\xa4jobs\x91\x81\xa5limit\x00", "1 to 1000");
    REFUSED("\x94\x00\x07\xa4jobs\x91\x81\xa5limit\xcd\x03\xe9", "1 to 1000");
    REFUSED("\x94\x00\x07\xa4jobs\x91\x81\xa5limit\xff", "1 to 1000");
    REFUSED("\x94\x00\x07\xa4jobs\x91\x81\xa5limit\xa1"
            "1",
            "integer from 1 to 1000");
    REFUSED("\x94\x00\x07\xa4jobs\x91\x81\xa5state\xa3"
            "odd",
            "queued, running");
    REFUSED("\x94\x00\x07\xa6"
            "cancel\x91\x81\xa3job\x00",
            "from 1");
    REFUSED("\x94\x00\x07\xa4wait\x91\x82\xa3job\x01\xaatimeout_ms\xcd\xea\x61", "0 to 60000");
    REFUSED("\x94\x00\x07\xa6public\x91\x83\xa3job\x01\xa9partition\xcc\x80\xa5"
            "first\x00",
            "0 to 127");
    REFUSED("\x94\x00\x07\xae"
            "circuit_remove\x91\x81\xa4name\xa3"
            "a/b",
            "A-Z a-z 0-9");
    REFUSED("\x94\x00\x07\xae"
            "circuit_remove\x91\x81\xa4name\xc4\x01"
            "a",
            "is to be a string");
}

#define SUBMIT                                                                                     \
    "\x94\x00\x07\xa6submit\x91\x83\xa7"                                                           \
    "circuit\xa1"                                                                                  \
    "c\xa3"                                                                                        \
    "fds"

TEST(inputs_are_checked_one_by_one)
{
    static uint8_t large[70100];
    REFUSED(SUBMIT "\x00\xa6inputs\x90", "inputs has 0 entries; allowed: 1 to 128");
    REFUSED(SUBMIT "\x00\xa6inputs\x05", "inputs is to be an array");
    REFUSED(SUBMIT "\x00\xa6inputs\x91\x80", "inputs[0]");
    REFUSED(SUBMIT "\x00\xa6inputs\x92\x81\xa6inline\xc4\x01w\x81\xa2"
                   "fd\xc2",
            "inputs[1]");
    REFUSED(SUBMIT "\x00\xa6inputs\x91\x81\xa6inline\xa1w", "inputs[0]");
    REFUSED(SUBMIT "\x00\xa6inputs\x91\x81\xa6inline\xc4\x00", "0 bytes; allowed: 1 to 65536");
    REFUSED(SUBMIT "\x01\xa6inputs\x91\x81\xa6inline\xc4\x01w", "takes 0 descriptors");
    ASSERT_INT(fault.descriptor_count, 1);
    REFUSED(SUBMIT "\x00\xa6inputs\x91\x81\xa2"
                   "fd\xc3",
            "takes 1 descriptors");
    REFUSED(SUBMIT "\xcc\x81\xa6inputs\x90", "0 to 128");
    ASSERT_INT(fault.descriptor_count, 0);

    size_t head = sizeof(SUBMIT) - 1;
    memcpy(large, SUBMIT, head);
    memcpy(large + head, "\x00\xa6inputs\x91\x81\xa6inline\xc6\x00\x01\x00\x01", 22);
    refused(large, head + 22 + 65537, "65537 bytes; allowed: 1 to 65536");
    large[head + 21] = 0;
    ASSERT_INT(decode(large, head + 22 + 65536), 0);

    memcpy(large + head, "\x00\xa6inputs\xdc\x00\x81", 11);
    for (int i = 0; i < 129; i++)
        memcpy(large + head + 11 + 5 * i,
               "\x81\xa2"
               "fd\xc3",
               5);
    refused(large, head + 11 + 5 * 129, "inputs has 129 entries; allowed: 1 to 128");
}

TEST(faults_are_printable_whatever_the_client_sends)
{
    REFUSED("\x94\x00\x07\xa4jobs\x91\x81\xa6\x00\x1b[2J\xff\x01", "no parameter");
    for (const char *c = fault.text; *c; c++)
        ASSERT(*c >= 0x20 && *c < 0x7f);
}

TEST(orders_to_workers_survive_the_round_trip)
{
    request = (struct request){.method = REQUEST_WORKER_RESTART};
    strcpy(request.worker.worker, "gpu-0");
    request.worker.is_now = true;
    round_trip();
    ASSERT_STR(decoded.worker.worker, "gpu-0");
    ASSERT(decoded.worker.is_now);
    for (int m = REQUEST_WORKER_DRAIN; m <= REQUEST_WORKER_TRIM; m++) {
        request = (struct request){.method = (enum request_method)m};
        strcpy(request.worker.worker, "all");
        round_trip();
        ASSERT_STR(decoded.worker.worker, "all");
        ASSERT(request_method_is_admin((enum request_method)m));
    }
    request = (struct request){.method = REQUEST_LOG_LEVEL};
    for (int level = LOG_LEVEL_ERROR; level <= LOG_LEVEL_DEBUG; level++) {
        request.worker.level = (enum log_level)level;
        round_trip();
        ASSERT_INT(decoded.worker.level, level);
        ASSERT_STR(decoded.worker.worker, "");
        enum log_level same;
        ASSERT_INT(request_level_from_string(request_level_to_string((enum log_level)level), &same),
                   0);
        ASSERT_INT(same, level);
    }
    REFUSED("\x94\x00\x07\xa9log_level\x91\x81\xa5level\xa4loud", "error, warn, info or debug");
    REFUSED("\x94\x00\x07\xa9log_level\x91\x80", "needs the parameter level");
    REFUSED("\x94\x00\x07\xaeworker_restart\x91\x82\xa6worker\xa5gpu-0\xa3now\x01",
            "true or false");
    REFUSED("\x94\x00\x07\xacworker_drain\x91\x80", "needs the parameter worker");
    free(bytes);
    bytes = NULL;
}

TEST(names_convert_both_ways)
{
    enum request_priority priority;
    enum request_job_state state;
    for (int i = 0; i < REQUEST_PRIORITY_COUNT; i++) {
        const char *name = request_priority_to_string((enum request_priority)i);
        ASSERT_INT(request_priority_from_string(name, &priority), 0);
        ASSERT_INT(priority, i);
    }
    for (int i = 0; i < REQUEST_JOB_STATE_COUNT; i++) {
        const char *name = request_job_state_to_string((enum request_job_state)i);
        ASSERT_INT(request_job_state_from_string(name, &state), 0);
        ASSERT_INT(state, i);
    }
    ASSERT_INT(request_priority_from_string("urgent", &priority), -EINVAL);
    ASSERT(request_method_is_admin(REQUEST_CIRCUIT_ADD) && !request_method_is_admin(REQUEST_JOBS));
    free(bytes);
    bytes = NULL;
}

TEST_MAIN(CASE(submissions_survive_the_round_trip), CASE(full_submissions_of_descriptors_fit),
          CASE(frames_over_the_limit_are_not_encoded),
          CASE(every_other_method_survives_the_round_trip),
          CASE(defaults_apply_to_what_is_left_out), CASE(what_is_no_request_cannot_be_answered),
          CASE(unknown_and_missing_names_are_refused_with_a_suggestion),
          CASE(types_and_ranges_are_checked), CASE(inputs_are_checked_one_by_one),
          CASE(faults_are_printable_whatever_the_client_sends), CASE(names_convert_both_ways),
          CASE(orders_to_workers_survive_the_round_trip))
