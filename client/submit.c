/* Submitting a job: small inputs into the request, large ones as descriptors beside it. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/connection.h"
#include "client/failure.h"
#include "client/input.h"
#include "client/libcuzk.h"
#include "config/name.h"

/* What the inputs of one submission have become. */
struct submission {
    struct request request;
    int descriptors[JOB_PARTITIONS_MAX];
    bool is_own[JOB_PARTITIONS_MAX]; /* to be closed here */
    void *bytes[JOB_PARTITIONS_MAX]; /* contents read from small files */
    uint32_t bytes_count;
    size_t inline_total;
};

static void submission_destroy(struct submission *submission)
{
    for (uint32_t i = 0; i < submission->request.descriptor_count; i++)
        if (submission->is_own[i])
            close(submission->descriptors[i]);
    for (uint32_t i = 0; i < submission->bytes_count; i++)
        free(submission->bytes[i]);
}

/* Inline inputs leave room for names, headers and the entries of descriptors. */
static bool fits_inline(const struct submission *submission, uint64_t bytes)
{
    return bytes <= INPUT_INLINE_BYTES_MAX &&
           submission->inline_total + bytes <= FRAME_BYTES_MAX - (16 << 10);
}

static void add_bytes(struct submission *submission, const void *bytes, size_t count)
{
    struct request_submit *submit = &submission->request.submit;
    submit->inputs[submit->input_count++] = (struct request_input){bytes, (uint32_t)count};
    submission->inline_total += count;
}

static void add_descriptor(struct submission *submission, int fd, bool is_own)
{
    struct request_submit *submit = &submission->request.submit;
    submit->inputs[submit->input_count++] = (struct request_input){0};
    submission->is_own[submission->request.descriptor_count] = is_own;
    submission->descriptors[submission->request.descriptor_count++] = fd;
}

/* Reads a small file. A file that changes its size meanwhile is left to the daemon to judge. */
static int read_small(int fd, size_t bytes, void **ret)
{
    uint8_t *content = malloc(bytes);
    size_t done = 0;

    while (content && done < bytes) {
        ssize_t count = pread(fd, content + done, bytes - done, (off_t)done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            free(content);
            return count < 0 ? -errno : -EAGAIN;
        }
        done += (size_t)count;
    }
    *ret = content;
    return content ? 0 : -ENOMEM;
}

static int add_file(struct submission *submission, const char *path, struct cuzk_error *ret_error)
{
    uint64_t bytes;
    void *content;
    int fd;
    int r = input_open(path, "the witness", &fd, &bytes, ret_error);

    if (r != CUZK_OK)
        return r;
    if (!fits_inline(submission, bytes)) {
        add_descriptor(submission, fd, true);
        return CUZK_OK;
    }
    r = read_small(fd, (size_t)bytes, &content);
    if (r == -EAGAIN) {
        add_descriptor(submission, fd, true);
        return CUZK_OK;
    }
    close(fd);
    if (r < 0)
        return failure(ret_error, r == -ENOMEM ? CUZK_NO_MEMORY : CUZK_BAD_INPUT,
                       "the witness %s cannot be read: %s", path, strerror(-r));
    submission->bytes[submission->bytes_count++] = content;
    add_bytes(submission, content, (size_t)bytes);
    return CUZK_OK;
}

static int add_input(struct submission *submission, const struct cuzk_input *input, size_t index,
                     struct cuzk_error *ret_error)
{
    if (input->path)
        return add_file(submission, input->path, ret_error);
    if (input->bytes) {
        if (input->byte_count == 0 || input->byte_count > INPUT_INLINE_BYTES_MAX)
            return failure(ret_error, CUZK_USAGE,
                           "input %zu has %zu bytes; allowed in memory: 1 to %d; give larger ones "
                           "as files",
                           index, input->byte_count, INPUT_INLINE_BYTES_MAX);
        add_bytes(submission, input->bytes, input->byte_count);
        return CUZK_OK;
    }
    add_descriptor(submission, input->fd, false);
    return CUZK_OK;
}

static int describe(struct request_submit *submit, const struct cuzk_submission *from,
                    struct cuzk_error *ret_error)
{
    const char *key = from->client_key;

    if (from->input_count == 0 || from->input_count > JOB_PARTITIONS_MAX)
        return failure(ret_error, CUZK_USAGE, "%zu inputs; a job takes 1 to %d", from->input_count,
                       JOB_PARTITIONS_MAX);
    if ((unsigned)from->priority > CUZK_PRIORITY_CRITICAL)
        return failure(ret_error, CUZK_USAGE, "%d is no priority", (int)from->priority);
    if (key && !client_key_is_valid(key, strlen(key)))
        return failure(ret_error, CUZK_USAGE,
                       "a client key is 1 to %d printable ASCII characters without spaces",
                       CLIENT_KEY_BYTES_MAX);
    if (key && from->not_durable)
        return failure(ret_error, CUZK_USAGE,
                       "a client key needs a durable job: what is not kept cannot be found again");
    if (from->deadline_ms > DEADLINE_MS_MAX)
        return failure(ret_error, CUZK_USAGE, "a deadline may be %d ms ahead, not more",
                       DEADLINE_MS_MAX);
    submit->priority = (enum request_priority)from->priority;
    submit->is_durable = !from->not_durable;
    submit->deadline_ms = from->deadline_ms;
    snprintf(submit->client_key, sizeof submit->client_key, "%s", key ? key : "");
    return input_name(submit->circuit, from->circuit, ret_error);
}

int cuzk_submit_job(struct cuzk *cuzk, const struct cuzk_submission *from, uint64_t *ret_job,
                    struct cuzk_error *ret_error)
{
    struct submission submission = {.request.method = REQUEST_SUBMIT};
    json_t *result = NULL;

    int r = describe(&submission.request.submit, from, ret_error);
    for (size_t i = 0; i < from->input_count && r == CUZK_OK; i++)
        r = add_input(&submission, &from->inputs[i], i, ret_error);
    if (r == CUZK_OK)
        r = connection_call(cuzk, &submission.request, submission.descriptors, 0, &result,
                            ret_error);
    submission_destroy(&submission);
    if (r == CUZK_OK && connection_integer(result, "job", ret_job) < 0)
        r = connection_strange(ret_error, "submit", "job");
    json_decref(result);
    return r;
}

int cuzk_submit(struct cuzk *cuzk, const char *circuit, enum cuzk_priority priority,
                const struct cuzk_input *inputs, size_t input_count, uint64_t *ret_job,
                struct cuzk_error *ret_error)
{
    const struct cuzk_submission submission = {
        .circuit = circuit,
        .priority = priority,
        .inputs = inputs,
        .input_count = input_count,
    };
    return cuzk_submit_job(cuzk, &submission, ret_job, ret_error);
}

int cuzk_find(struct cuzk *cuzk, const char *client_key, uint64_t *ret_job,
              struct cuzk_error *ret_error)
{
    struct request request = {.method = REQUEST_WAIT};
    json_t *result;

    if (!client_key_is_valid(client_key, strlen(client_key)))
        return failure(ret_error, CUZK_USAGE,
                       "a client key is 1 to %d printable ASCII characters without spaces",
                       CLIENT_KEY_BYTES_MAX);
    strcpy(request.wait.client_key, client_key);
    int r = connection_call(cuzk, &request, NULL, 0, &result, ret_error);
    if (r != CUZK_OK)
        return r;
    if (connection_integer(result, "job", ret_job) < 0)
        r = connection_strange(ret_error, "wait", "job");
    json_decref(result);
    return r;
}
