/* Upstream: the supervisor execs the job; downstream: it parses the lines, as input. */
#include "synth-worker/helper.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "shm/worker.h"

static int helper_write(json_t *document)
{
    char *text = json_dumps(document, JSON_COMPACT);
    int error = text ? 0 : -ENOMEM;
    json_decref(document);
    if (text) {
        size_t bytes = strlen(text), done = 0;
        text[bytes++] = '\n';
        while (done < bytes && error == 0) {
            const ssize_t count = write(HELPER_FD_RESULT, text + done, bytes - done);
            if (count >= 0)
                done += (size_t)count;
            else if (errno != EINTR)
                error = -errno;
        }
        free(text);
    }
    return error;
}

static int helper_on_progress(void *context, uint64_t done_bytes, uint64_t total_bytes)
{
    struct helper *helper = context;
    const uint64_t now_ns = clock_now_ns();
    if (now_ns - helper->reported_ns < HELPER_PROGRESS_INTERVAL_NS || total_bytes == 0)
        return 0;
    helper->reported_ns = now_ns;
    return helper_write(json_pack("{s:f}", "progress", (double)done_bytes / (double)total_bytes));
}

static int helper_digest(const char *text, uint8_t ret[PREPARED_DIGEST_BYTES])
{
    if (strspn(text, "0123456789abcdef") != 2 * PREPARED_DIGEST_BYTES ||
        text[2 * PREPARED_DIGEST_BYTES])
        return -EINVAL;
    for (unsigned i = 0; i < PREPARED_DIGEST_BYTES; i++) {
        const char pair[3] = {text[2 * i], text[2 * i + 1], 0};
        ret[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return 0;
}

/* Takes the job's own options out of argv; the rest is every worker's. */
static int helper_options(int argc, char **argv, struct helper *ret)
{
    struct worker_options options;
    char *rest[64];
    int rest_count = 0;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--prepare") == 0 || strcmp(argv[i], "--load") == 0)
            continue;
        if (strcmp(argv[i], "--r1cs") == 0) {
            ret->has_r1cs = true;
        } else if (strcmp(argv[i], "--digest") == 0 && i + 1 < argc) {
            if (helper_digest(argv[++i], ret->digest) < 0)
                return -EINVAL;
            ret->has_digest = true;
        } else if (rest_count < 63) {
            rest[rest_count++] = argv[i];
        }
    }
    rest[rest_count] = NULL;
    const int error = worker_options_parse(rest_count, rest, &options);
    if (error < 0)
        return error;
    ret->threads = options.threads;
    ret->sandbox = options.sandbox;
    if (options.parent_pid && getppid() != options.parent_pid)
        return -ESRCH;
    return 0;
}

static int helper_no_sandbox(int error)
{
    char text[SANDBOX_TEXT_BYTES], line[SANDBOX_TEXT_BYTES + 128];
    sandbox_probe(text);
    snprintf(line, sizeof line,
             "the sandbox that [Supervisor] Sandbox=require asks for is not to "
             "be had: %s",
             text[0] ? text : strerror(-error));
    log_error("%s", line);
    helper_fail(line);
    return error;
}

int helper_open(int argc, char **argv, const char *name, struct helper *ret)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 0);
    log_init(name, LOG_LEVEL_INFO);
    memset(ret, 0, sizeof *ret);
    int error = helper_options(argc, argv, ret);
    if (error == 0 && ret->sandbox != SANDBOX_OFF) {
        const int refused = sandbox_limit_files(SANDBOX_CLOSED, NULL);
        if (refused < 0 && ret->sandbox == SANDBOX_REQUIRE)
            return helper_no_sandbox(refused);
    }
    if (error == 0)
        error = pool_create(ret->threads, &ret->pool);
    if (error == 0 && ret->sandbox != SANDBOX_OFF) {
        const int refused = sandbox_limit_calls(SANDBOX_CLOSED, NULL);
        if (refused < 0 && ret->sandbox == SANDBOX_REQUIRE)
            return helper_no_sandbox(refused);
    }
    if (error < 0) {
        log_error("cannot start: %s", strerror(-error));
        helper_fail(error == -EAGAIN ? "no threads can be made: raise the limit on tasks"
                                     : "the helper process was started with wrong options");
        return error;
    }
    ret->reported_ns = clock_now_ns();
    ret->progress = (struct prepared_progress){.context = ret, .report = helper_on_progress};
    return 0;
}

void helper_close(struct helper *helper)
{
    if (helper->pool)
        pool_free(helper->pool);
    helper->pool = NULL;
}

static void helper_hex(const uint8_t *bytes, size_t count, char *ret)
{
    for (size_t i = 0; i < count; i++)
        snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

int helper_succeed(const struct prepared *key, uint64_t file_bytes)
{
    char key_digest[2 * PREPARED_DIGEST_BYTES + 1], vk_digest[65];
    helper_hex(key->digest, PREPARED_DIGEST_BYTES, key_digest);
    helper_hex(key->verify_key_digest, sizeof key->verify_key_digest, vk_digest);
    json_t *document = json_pack(
        "{s:b, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:s, s:b}", "ok", 1, "curve",
        key->curve->name, "variables", (json_int_t)key->shape.variable_count, "public",
        (json_int_t)key->shape.public_count, "constraints", (json_int_t)key->shape.constraint_count,
        "domain_log2", (json_int_t)key->shape.domain_log2, "slab_bytes",
        (json_int_t)key->shape.slab_bytes, "file_bytes", (json_int_t)file_bytes, "key_digest",
        key_digest, "vk_digest", vk_digest, "has_c", key->has_c || key->shape.c_entry_count);
    const int error = helper_write(document);
    if (error < 0)
        log_error("the result cannot be told: %s", strerror(-error));
    return error < 0 ? WORKER_EXIT_START : WORKER_EXIT_STOPPED;
}

static int helper_fail_by(const char *text, bool is_host)
{
    const int error =
        helper_write(json_pack("{s:b, s:b, s:s}", "ok", 0, "host", (int)is_host, "error", text));
    if (error < 0)
        log_error("%s", text);
    return WORKER_EXIT_START;
}

int helper_fail(const char *text)
{
    return helper_fail_by(text, true);
}

int helper_fail_reason(const char *what, int error, const struct reason *reason)
{
    char text[sizeof reason->text + 64];
    snprintf(text, sizeof text, "%s: %s", what, reason->text[0] ? reason->text : strerror(-error));
    const bool is_file = error == -EBADMSG || error == -EINVAL || error == -EISDIR;
    return helper_fail_by(text, !is_file);
}
