/* What client/libcuzk.h promises, case by case. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "client/input.h"
#include "client/libcuzk.h"
#include "tests/client/fake_server.h"
#include "tests/test.h"

static struct fake_server server;
static struct cuzk *cuzk;
static struct cuzk_error error;

static void begin(void (*serve)(struct fake *fake))
{
    fake_start(&server, serve);
    ASSERT_INT(cuzk_open(server.path, &cuzk, &error), CUZK_OK);
    cuzk_set_patience(cuzk, 20000);
}

static void end(void)
{
    cuzk_close(cuzk);
    ASSERT_INT(fake_end(&server), 0);
}

static void write_file(const char *path, size_t bytes, char fill)
{
    FILE *file = fopen(path, "w");
    ASSERT(file);
    for (size_t i = 0; i < bytes; i++)
        fputc(fill, file);
    fclose(file);
}

/* ---- submit ---- */

static void serve_submit(struct fake *fake)
{
    char content[70000];
    fake_expect(fake, REQUEST_SUBMIT);
    const struct request_submit *submit = &fake->request.submit;
    EXPECT(strcmp(submit->circuit, "mul") == 0);
    EXPECT(submit->priority == REQUEST_PRIORITY_HIGH);
    EXPECT(submit->input_count == 4 && fake->request.descriptor_count == 2);
    EXPECT(submit->inputs[0].byte_count == 65536);
    EXPECT(memcmp(submit->inputs[0].bytes, "aaaa", 4) == 0);
    EXPECT(submit->inputs[1].bytes == NULL);
    EXPECT(submit->inputs[2].byte_count == 3 && memcmp(submit->inputs[2].bytes, "xyz", 3) == 0);
    EXPECT(submit->inputs[3].bytes == NULL);
    EXPECT(pread(fake->descriptors[0], content, sizeof content, 0) == 65537);
    EXPECT(content[65536] == 'b');
    EXPECT(!(fcntl(fake->descriptors[0], F_GETFL) & O_NONBLOCK));
    EXPECT(pread(fake->descriptors[1], content, sizeof content, 0) == 10);
    EXPECT(content[0] == 'c');
    fake_job(fake, 41);
}

TEST(small_inputs_travel_inline_and_large_ones_as_descriptors)
{
    char a[128], b[128], c[128];
    uint64_t job = 0;
    begin(serve_submit);
    snprintf(a, sizeof a, "%s/a", server.folder);
    snprintf(b, sizeof b, "%s/b", server.folder);
    snprintf(c, sizeof c, "%s/c", server.folder);
    write_file(a, 65536, 'a');
    write_file(b, 65537, 'b');
    write_file(c, 10, 'c');
    int fd = open(c, O_RDONLY);
    struct cuzk_input inputs[4] = {
        {.path = a}, {.path = b}, {.bytes = "xyz", .byte_count = 3}, {.fd = fd}};
    ASSERT_INT(cuzk_submit(cuzk, "mul", CUZK_PRIORITY_HIGH, inputs, 4, &job, &error), CUZK_OK);
    ASSERT_INT(job, 41);
    ASSERT(fcntl(fd, F_GETFD) >= 0); /* the caller's stays open */
    close(fd);
    end();
}

static void serve_many(struct fake *fake)
{
    fake_expect(fake, REQUEST_SUBMIT);
    EXPECT(fake->request.submit.input_count == 128);
    EXPECT(fake->request.descriptor_count == 128 - 17); /* 17 of 60 KiB fit the frame */
    fake_job(fake, 1);
}

TEST(a_full_job_of_middling_files_fits_its_frame)
{
    static struct cuzk_input inputs[CUZK_INPUTS_MAX];
    char path[128];
    uint64_t job;
    begin(serve_many);
    snprintf(path, sizeof path, "%s/a", server.folder);
    write_file(path, 60000, 'a');
    for (int i = 0; i < CUZK_INPUTS_MAX; i++)
        inputs[i].path = path;
    ASSERT_INT(cuzk_submit(cuzk, "mul", CUZK_PRIORITY_NORMAL, inputs, 128, &job, &error), CUZK_OK);
    end();
}

static void serve_nothing(struct fake *fake)
{
    EXPECT(!fake_read(fake));
}

TEST(wrong_arguments_are_refused_before_anything_is_sent)
{
    static struct cuzk_input inputs[CUZK_INPUTS_MAX + 1];
    static char large[65537];
    struct cuzk_input input = {.bytes = large, .byte_count = sizeof large};
    uint64_t job = 7;
    begin(serve_nothing);
    ASSERT_INT(cuzk_submit(cuzk, "a/b", 1, &input, 1, &job, &error), CUZK_USAGE);
    ASSERT(strstr(error.message, "A-Z a-z 0-9"));
    ASSERT_INT(cuzk_submit(cuzk, NULL, 1, &input, 1, &job, &error), CUZK_USAGE);
    ASSERT_INT(cuzk_submit(cuzk, "mul", 9, &input, 1, &job, &error), CUZK_USAGE);
    ASSERT_INT(cuzk_submit(cuzk, "mul", 1, inputs, 0, &job, &error), CUZK_USAGE);
    ASSERT_INT(cuzk_submit(cuzk, "mul", 1, inputs, 129, &job, &error), CUZK_USAGE);
    ASSERT(strstr(error.message, "1 to 128"));
    ASSERT_INT(cuzk_submit(cuzk, "mul", 1, &input, 1, &job, &error), CUZK_USAGE);
    ASSERT(strstr(error.message, "65537") && strstr(error.message, "65536"));
    input = (struct cuzk_input){.fd = 1000};
    ASSERT_INT(cuzk_submit(cuzk, "mul", 1, &input, 1, &job, &error), CUZK_BAD_INPUT);
    ASSERT_INT(job, 7);
    ASSERT_INT(cuzk_jobs(cuzk, 1001, NULL, NULL, NULL), CUZK_USAGE);
    end();
}

TEST(only_regular_files_are_opened_and_nothing_hangs)
{
    char folder[] = "/tmp/test_input.XXXXXX", path[64], command[64];
    uint64_t bytes;
    int fd = -7;
    ASSERT(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x", folder);
    ASSERT_INT(input_open(path, "the witness", &fd, &bytes, &error), CUZK_BAD_INPUT);
    ASSERT(strstr(error.message, path) && strstr(error.message, "No such file"));
    ASSERT_INT(input_open(folder, "the witness", &fd, &bytes, &error), CUZK_BAD_INPUT);
    ASSERT(strstr(error.message, "is a directory"));
    ASSERT_INT(mkfifo(path, 0600), 0);
    ASSERT_INT(input_open(path, "the witness", &fd, &bytes, &error), CUZK_BAD_INPUT);
    ASSERT(strstr(error.message, "FIFO"));
    ASSERT_INT(input_open("/dev/zero", "the witness", &fd, &bytes, &error), CUZK_BAD_INPUT);
    ASSERT(strstr(error.message, "is a device"));
    unlink(path);
    write_file(path, 0, ' ');
    ASSERT_INT(input_open(path, "the witness", &fd, &bytes, &error), CUZK_BAD_INPUT);
    ASSERT(strstr(error.message, "is empty"));
    write_file(path, 5, 'x');
    ASSERT_INT(chmod(path, 0), 0);
    if (geteuid() != 0) {
        ASSERT_INT(input_open(path, "the witness", &fd, &bytes, &error), CUZK_BAD_INPUT);
        ASSERT(strstr(error.message, "Permission denied"));
    }
    ASSERT_INT(fd, -7);
    ASSERT_INT(chmod(path, 0600), 0);
    ASSERT_INT(input_open(path, "the witness", &fd, &bytes, &error), CUZK_OK);
    ASSERT_INT(bytes, 5);
    ASSERT_INT(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ASSERT_INT(system(command), 0);
}

/* ---- wait ---- */

static void serve_wait(struct fake *fake)
{
    fake_expect(fake, REQUEST_WAIT);
    EXPECT(fake->request.wait.job == 5 && fake->request.wait.timeout_ms == 60000);
    EXPECT(!fake->request.wait.has_seen);
    fake_state(fake, "running", 3, 1, 10);
    fake_expect(fake, REQUEST_WAIT);
    fake_state(fake, "done", 3, 3, 11);

    fake_expect(fake, REQUEST_WAIT);
    EXPECT(fake->request.wait.has_seen && fake->request.wait.seen == 11);
    fake_state(fake, "queued", 3, 0, 12);

    fake_expect(fake, REQUEST_WAIT);
    struct reply *reply = fake_begin(fake);
    reply_integer(reply, "job", 6);
    reply_string(reply, "state", "failed");
    reply_integer(reply, "partitions", 3);
    reply_integer(reply, "done", 1);
    reply_integer(reply, "version", 4);
    reply_map(reply, "error");
    reply_string(reply, "code", "bad_input");
    reply_string(reply, "message", "truncated witness");
    reply_integer(reply, "partition", 2);
    reply_close(reply);
    fake_finish(fake);
}

TEST(waiting_lasts_until_the_end_or_a_change)
{
    struct cuzk_job job;
    uint64_t seen = 11;
    begin(serve_wait);
    ASSERT_INT(cuzk_wait(cuzk, 5, CUZK_FOREVER, NULL, &job, &error), CUZK_OK);
    ASSERT_INT(job.state, CUZK_JOB_DONE);
    ASSERT_INT(job.version, 11);
    ASSERT_INT(job.done, 3);
    ASSERT_INT(job.failed_partition, -1);
    ASSERT_INT(cuzk_wait(cuzk, 5, 9000, &seen, &job, &error), CUZK_OK);
    ASSERT_INT(job.state, CUZK_JOB_QUEUED);
    ASSERT_INT(cuzk_wait(cuzk, 6, 9000, NULL, &job, &error), CUZK_OK);
    ASSERT_INT(job.state, CUZK_JOB_FAILED);
    ASSERT_INT(job.code, CUZK_BAD_INPUT);
    ASSERT_INT(job.failed_partition, 2);
    ASSERT_STR(job.message, "truncated witness");
    end();
}

static void serve_slow_wait(struct fake *fake)
{
    while (fake_read(fake)) {
        usleep(30000);
        fake_state(fake, "running", 1, 0, 3);
    }
}

TEST(a_timeout_is_no_error_of_wait)
{
    struct cuzk_job job;
    begin(serve_slow_wait);
    ASSERT_INT(cuzk_wait(cuzk, 5, 20, NULL, &job, &error), CUZK_OK);
    ASSERT_INT(job.state, CUZK_JOB_RUNNING);
    end();
}

static void on_alarm(int signal_number)
{
    (void)signal_number;
}

static void serve_interrupted(struct fake *fake)
{
    fake_expect(fake, REQUEST_WAIT);
    struct request late = fake->request;
    fake_expect(fake, REQUEST_CANCEL);
    struct request cancel = fake->request;
    fake->request = late;
    fake_state(fake, "cancelled", 1, 0, 9); /* the wait's answer comes late */
    fake->request = cancel;
    reply_string(fake_begin(fake), "outcome", "cancelled");
    fake_finish(fake);
}

TEST(an_interrupted_wait_leaves_the_connection_usable)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct cuzk_job job;
    begin(serve_interrupted);
    sigaction(SIGALRM, &action, NULL);
    ualarm(50000, 0);
    ASSERT_INT(cuzk_wait(cuzk, 5, CUZK_FOREVER, NULL, &job, &error), CUZK_INTERRUPTED);
    ASSERT_INT(cuzk_cancel(cuzk, 5, &error), CUZK_OK);
    end();
}

/* ---- results ---- */

static const char *const point[] = {"11", "22", "1"};

static void write_point(struct reply *reply, const char *key, unsigned count)
{
    reply_array(reply, key);
    for (unsigned i = 0; i < count; i++)
        reply_string(reply, NULL, point[i]);
    reply_close(reply);
}

/* Keys in another order than snarkjs's, and one more. */
static void write_proof(struct reply *reply)
{
    reply_map(reply, NULL);
    reply_string(reply, "curve", "bn128");
    reply_string(reply, "made_by", "cpu");
    write_point(reply, "pi_c", 3);
    write_point(reply, "pi_a", 3);
    reply_array(reply, "pi_b");
    for (int i = 0; i < 3; i++)
        write_point(reply, NULL, 2);
    reply_close(reply);
    reply_string(reply, "protocol", "groth16");
    reply_close(reply);
}

static void serve_result(struct fake *fake)
{
    for (int count = 1; count <= 2; count++) {
        fake_expect(fake, REQUEST_RESULT);
        struct reply *reply = fake_begin(fake);
        reply_integer(reply, "job", 5);
        reply_array(reply, "proofs");
        for (int i = 0; i < count; i++)
            write_proof(reply);
        reply_close(reply);
        fake_finish(fake);
    }
}

#define ONE_PROOF                                                                                  \
    "{\n \"pi_a\": [\n  \"11\",\n  \"22\",\n  \"1\"\n ],\n \"pi_b\": [\n  [\n   \"11\",\n   "      \
    "\"22\"\n  ],\n  [\n   \"11\",\n   \"22\"\n  ],\n  [\n   \"11\",\n   \"22\"\n  ]\n ],\n "      \
    "\"pi_c\": [\n  \"11\",\n  \"22\",\n  \"1\"\n ],\n \"protocol\": \"groth16\",\n \"curve\": "   \
    "\"bn128\"\n}"

TEST(proofs_have_snarkjs_form_to_the_byte)
{
    char *text;
    json_t *value;
    begin(serve_result);
    ASSERT_INT(cuzk_proof(cuzk, 5, &text, &error), CUZK_OK);
    ASSERT_STR(text, ONE_PROOF);
    cuzk_free(text);
    ASSERT_INT(cuzk_proof(cuzk, 5, &text, &error), CUZK_OK);
    value = json_loads(text, 0, NULL);
    ASSERT_INT(json_array_size(value), 2);
    ASSERT(strncmp(text, "[\n {\n  \"pi_a\": [\n   \"11\",", 25) == 0);
    json_decref(value);
    cuzk_free(text);
    end();
}

static void serve_public(struct fake *fake)
{
    static const uint32_t firsts[] = {0, 4096, 8192};
    char number[16];
    fake_expect(fake, REQUEST_WAIT);
    fake_state(fake, "done", 1, 1, 2);
    for (int i = 0; i < 3; i++) {
        fake_expect(fake, REQUEST_PUBLIC);
        EXPECT(fake->request.public.first == firsts[i] && fake->request.public.partition == 0);
        struct reply *reply = fake_begin(fake);
        reply_integer(reply, "total", 9000);
        reply_array(reply, "values");
        for (uint32_t k = firsts[i]; k < 9000 && k < firsts[i] + 4096; k++) {
            snprintf(number, sizeof number, "%u", k);
            reply_string(reply, NULL, number);
        }
        reply_close(reply);
        fake_finish(fake);
    }
    fake_expect(fake, REQUEST_WAIT);
    fake_state(fake, "done", 2, 2, 2);
    for (int i = 0; i < 2; i++) {
        fake_expect(fake, REQUEST_PUBLIC);
        EXPECT(fake->request.public.partition == (uint32_t)i);
        struct reply *reply = fake_begin(fake);
        reply_integer(reply, "total", 0);
        reply_array(reply, "values");
        reply_close(reply);
        fake_finish(fake);
    }
}

TEST(public_inputs_are_fetched_in_pieces)
{
    char *text;
    begin(serve_public);
    ASSERT_INT(cuzk_public(cuzk, 5, &text, &error), CUZK_OK);
    json_t *value = json_loads(text, 0, NULL);
    ASSERT_INT(json_array_size(value), 9000);
    ASSERT_STR(json_string_value(json_array_get(value, 8999)), "8999");
    ASSERT(strncmp(text, "[\n \"0\",\n \"1\",\n", 14) == 0);
    ASSERT_STR(text + strlen(text) - 9, " \"8999\"\n]");
    json_decref(value);
    cuzk_free(text);
    ASSERT_INT(cuzk_public(cuzk, 5, &text, &error), CUZK_OK);
    ASSERT_STR(text, "[\n [],\n []\n]");
    cuzk_free(text);
    end();
}

/* ---- a daemon that is none ---- */

static void serve_strange_results(struct fake *fake)
{
    static const char *const bad[] = {"1\n", "", "0x1", "-1", "1 "};
    for (int i = 0; i < 5; i++) {
        fake_expect(fake, REQUEST_WAIT);
        fake_state(fake, "done", 1, 1, 2);
        fake_expect(fake, REQUEST_PUBLIC);
        struct reply *reply = fake_begin(fake);
        reply_integer(reply, "total", 1);
        reply_array(reply, "values");
        reply_string(reply, NULL, bad[i]);
        reply_close(reply);
        fake_finish(fake);
    }
    /* Never the promised number of values. */
    fake_expect(fake, REQUEST_WAIT);
    fake_state(fake, "done", 1, 1, 2);
    fake_expect(fake, REQUEST_PUBLIC);
    reply_integer(fake_begin(fake), "total", 5);
    reply_array(&fake->reply, "values");
    reply_close(&fake->reply);
    fake_finish(fake);
    fake_expect(fake, REQUEST_WAIT);
    fake_state(fake, "done", 1000000, 1, 2);
    fake_expect(fake, REQUEST_WAIT);
    fake_state(fake, "asleep", 1, 1, 2);
    fake_expect(fake, REQUEST_RESULT);
    reply_array(fake_begin(fake), "proofs");
    reply_close(&fake->reply);
    fake_finish(fake);
}

TEST(replies_that_lack_what_they_should_have_are_refused)
{
    struct cuzk_job job;
    char *text;
    begin(serve_strange_results);
    for (int i = 0; i < 7; i++)
        ASSERT_INT(cuzk_public(cuzk, 5, &text, &error), CUZK_PROTOCOL);
    ASSERT_INT(cuzk_wait(cuzk, 5, 0, NULL, &job, &error), CUZK_PROTOCOL);
    ASSERT_INT(cuzk_proof(cuzk, 5, &text, &error), CUZK_PROTOCOL);
    ASSERT(strstr(error.message, "well-formed proofs"));
    end();
}

static void serve_garbage(struct fake *fake)
{
    fake_expect(fake, REQUEST_STATUS);
    fake_send(fake, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
}

static void serve_half(struct fake *fake)
{
    fake_expect(fake, REQUEST_STATUS);
    fake_send(fake, "\x94\x01\x01\xc0\x81", 5);
}

static void serve_end(struct fake *fake)
{
    fake_expect(fake, REQUEST_STATUS);
}

static void serve_request(struct fake *fake)
{
    fake_expect(fake, REQUEST_STATUS);
    fake_send(fake, "\x94\x00\x01\xa6status\x91\x80", 12);
}

static void serve_huge(struct fake *fake)
{
    fake_expect(fake, REQUEST_STATUS);
    fake_send(fake, "\x94\x01\x01\xc0\xdf\xff\xff\xff\xff", 9);
}

static void serve_text(struct fake *fake)
{
    fake_expect(fake, REQUEST_STATUS);
    fake_send(fake, "\x94\x01\x01\xc0\xa2hi", 7);
}

TEST(garbage_and_torn_replies_are_told_apart_from_errors)
{
    static const struct {
        void (*serve)(struct fake *fake);
        enum cuzk_code code;
    } cases[] = {
        {serve_garbage, CUZK_PROTOCOL}, {serve_half, CUZK_PROTOCOL}, {serve_end, CUZK_NO_DAEMON},
        {serve_request, CUZK_PROTOCOL}, {serve_huge, CUZK_PROTOCOL}, {serve_text, CUZK_PROTOCOL},
    };
    char *text;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin(cases[i].serve);
        ASSERT_INT(cuzk_status(cuzk, &text, &error), cases[i].code);
        end();
    }
}

static void serve_slow(struct fake *fake)
{
    static const char reply[] = "\x94\x01\x01\xc0\x81\xa7version\xa1x";
    fake_expect(fake, REQUEST_STATUS);
    for (size_t i = 0; i + 1 < sizeof reply; i++) {
        fake_send(fake, reply + i, 1);
        usleep(2000);
    }
}

TEST(replies_in_single_bytes_are_put_together)
{
    char *text;
    begin(serve_slow);
    ASSERT_INT(cuzk_status(cuzk, &text, &error), CUZK_OK);
    ASSERT_STR(text, "{\"version\":\"x\"}");
    cuzk_free(text);
    end();
}

static void serve_silence(struct fake *fake)
{
    fake_expect(fake, REQUEST_STATUS);
    EXPECT(!fake_read(fake));
}

TEST(a_silent_daemon_ends_in_a_timeout)
{
    char *text;
    begin(serve_silence);
    cuzk_set_patience(cuzk, 50);
    ASSERT_INT(cuzk_status(cuzk, &text, &error), CUZK_TIMEOUT);
    ASSERT(strstr(error.message, server.path));
    end();
}

static void serve_errors(struct fake *fake)
{
    for (int code = REPLY_USAGE; code < REPLY_CODE_COUNT; code++) {
        fake_expect(fake, REQUEST_STATUS);
        fake_error(fake, (enum reply_code)code, reply_code_to_string((enum reply_code)code),
                   code == REPLY_BUSY ? 1500 : 0);
    }
    fake_expect(fake, REQUEST_CANCEL);
    reply_string(fake_begin(fake), "outcome", "too_late");
    fake_finish(fake);
}

TEST(every_error_code_has_its_counterpart)
{
    char *text;
    begin(serve_errors);
    for (int code = REPLY_USAGE; code < REPLY_CODE_COUNT; code++) {
        int r = cuzk_status(cuzk, &text, &error);
        ASSERT_STR(cuzk_code_to_string((enum cuzk_code)r),
                   reply_code_to_string((enum reply_code)code));
        ASSERT_STR(error.message, reply_code_to_string((enum reply_code)code));
        ASSERT_INT(error.retry_after_ms, code == REPLY_BUSY ? 1500 : 0);
    }
    ASSERT_INT(cuzk_cancel(cuzk, 5, NULL), CUZK_TOO_LATE);
    end();
}

TEST(a_missing_daemon_is_explained)
{
    char folder[] = "/tmp/test_none.XXXXXX", path[64], command[64], longest[200];
    ASSERT(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x.sock", folder);
    ASSERT_INT(cuzk_open(path, &cuzk, &error), CUZK_NO_DAEMON);
    ASSERT(strstr(error.message, "cuzkd is not running"));
    write_file(path, 1, 'x');
    ASSERT_INT(cuzk_open(path, &cuzk, &error), CUZK_NO_DAEMON);
    memset(longest, 'a', sizeof longest);
    longest[199] = '\0';
    ASSERT_INT(cuzk_open(longest, &cuzk, &error), CUZK_USAGE);
    ASSERT_INT(cuzk_open_admin(longest, &cuzk, &error), CUZK_USAGE);
    setenv("CUZK_SOCKET", "/nowhere/env.sock", 1);
    ASSERT_INT(cuzk_open(NULL, &cuzk, &error), CUZK_NO_DAEMON);
    ASSERT(strstr(error.message, "/nowhere/env.sock"));
    ASSERT_INT(cuzk_open_admin(NULL, &cuzk, &error), CUZK_NO_DAEMON);
    ASSERT(strstr(error.message, "/nowhere/env-admin.sock"));
    snprintf(command, sizeof command, "rm -r %s", folder);
    ASSERT_INT(system(command), 0);
}

static void serve_circuit(struct fake *fake)
{
    char content[16];
    fake_expect(fake, REQUEST_CIRCUIT_ADD);
    EXPECT(fake->request.descriptor_count == 2 && fake->request.circuit.has_r1cs);
    EXPECT(pread(fake->descriptors[0], content, 16, 0) == 3 && content[0] == 'z');
    EXPECT(pread(fake->descriptors[1], content, 16, 0) == 4 && content[0] == 'r');
    reply_string(fake_begin(fake), "name", "mul");
    fake_finish(fake);
    fake_expect(fake, REQUEST_CIRCUIT_REMOVE);
    EXPECT(strcmp(fake->request.circuit.name, "mul") == 0);
    fake_error(fake, REPLY_NOT_FOUND, "no circuit mul", 0);
}

TEST(circuits_are_added_by_their_files)
{
    char zkey[128], r1cs[128], *text;
    begin(serve_circuit);
    snprintf(zkey, sizeof zkey, "%s/z", server.folder);
    snprintf(r1cs, sizeof r1cs, "%s/r", server.folder);
    write_file(zkey, 3, 'z');
    ASSERT_INT(cuzk_circuit_add(cuzk, "mul", zkey, r1cs, &text, &error), CUZK_BAD_INPUT);
    write_file(r1cs, 4, 'r');
    ASSERT_INT(cuzk_circuit_add(cuzk, "mul", zkey, r1cs, &text, &error), CUZK_OK);
    ASSERT_STR(text, "{\"name\":\"mul\"}");
    cuzk_free(text);
    ASSERT_INT(cuzk_circuit_remove(cuzk, "mul", &error), CUZK_NOT_FOUND);
    ASSERT_STR(error.message, "no circuit mul");
    end();
}

TEST_MAIN(CASE(small_inputs_travel_inline_and_large_ones_as_descriptors),
          CASE(a_full_job_of_middling_files_fits_its_frame),
          CASE(wrong_arguments_are_refused_before_anything_is_sent),
          CASE(only_regular_files_are_opened_and_nothing_hangs),
          CASE(waiting_lasts_until_the_end_or_a_change), CASE(a_timeout_is_no_error_of_wait),
          CASE(an_interrupted_wait_leaves_the_connection_usable),
          CASE(proofs_have_snarkjs_form_to_the_byte), CASE(public_inputs_are_fetched_in_pieces),
          CASE(replies_that_lack_what_they_should_have_are_refused),
          CASE(garbage_and_torn_replies_are_told_apart_from_errors),
          CASE(replies_in_single_bytes_are_put_together), CASE(a_silent_daemon_ends_in_a_timeout),
          CASE(every_error_code_has_its_counterpart), CASE(a_missing_daemon_is_explained),
          CASE(circuits_are_added_by_their_files))
