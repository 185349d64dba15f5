/* See worker_rig.h. */
#include "tests/shm/worker_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "shm/bell.h"
#include "shm/courier.h"
#include "shm/port.h"

enum {
    RIG_ARGS_MAX = 32,
    RIG_HELPER_TIMEOUT_MS = 120000,
    RIG_STOP_TIMEOUT_MS = 60000,
};

static void rig_must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "the test rig cannot go on: %s: %s\n", what, strerror(errno));
    exit(99);
}

void rig_start(struct rig *rig, enum worker_kind kind, const char *program, const char *event_loop,
               const char *const *extra)
{
    const char *argv[RIG_ARGS_MAX] = {program,  "--index",      "0",        "--log-level",
                                      "debug",  "--event-loop", event_loop, "--malloc-trim",
                                      "always", "--parent-pid"};
    char parent[16];
    unsigned argc = 10;
    int courier[2];
    snprintf(parent, sizeof parent, "%d", (int)getpid());
    argv[argc++] = parent;
    while (extra && *extra && argc < RIG_ARGS_MAX - 1)
        argv[argc++] = *extra++;

    memset(rig, 0, sizeof *rig);
    rig_must(channel_create(kind, 0, &rig->channel) == 0, "channel");
    rig->bell_to = bell_create();
    rig->bell_from = bell_create();
    rig_must(rig->bell_to >= 0 && rig->bell_from >= 0, "bells");
    rig_must(courier_create(courier) == 0, "courier");
    rig->courier = courier[0];
    rig->log_fd = memfd_create("log", MFD_CLOEXEC);
    rig_must(rig->log_fd >= 0 && fcntl(rig->log_fd, F_SETFL, O_APPEND) == 0, "log");
    const struct child_fd fds[] = {
        {rig->log_fd, 2},
        {rig->channel.fd, PORT_FD_CHANNEL},
        {rig->bell_to, PORT_FD_BELL_IN},
        {rig->bell_from, PORT_FD_BELL_OUT},
        {courier[1], PORT_FD_COURIER},
    };
    const struct child_spec spec = {
        .path = program, .argv = (char *const *)argv, .fds = fds, .fd_count = 5};
    const int error = child_spawn(&spec, &rig->child);
    errno = -error;
    rig_must(error == 0, program);
    close(courier[1]);
}

struct message rig_start_ready(struct rig *rig, enum worker_kind kind, const char *program,
                               const char *event_loop, const char *const *extra)
{
    struct message ready = {0};
    rig_start(rig, kind, program, event_loop, extra);
    if (!rig_take(rig, &ready, 60000) || ready.operation != OPERATION_READY) {
        fprintf(stderr, "%s did not get ready:\n%s\n", program, rig_log(rig));
        exit(99);
    }
    return ready;
}

void rig_slab(struct rig *rig, unsigned index, uint64_t bytes)
{
    struct slab_fault fault;
    struct courier_tag tag = {.kind = COURIER_SLAB, .index = index};
    struct slab *slab = &rig->slabs[index];
    rig_must(slab_create("test", bytes, SLAB_PAGES_OFF, 0, slab, &fault) == 0, fault.text);
    void *memory = mmap(NULL, slab->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, slab->fd, 0);
    rig_must(memory != MAP_FAILED, "mapping a slab");
    memset(memory, 0xa5, slab->bytes);
    rig->slab_memory[index] = memory;
    tag.bytes = slab->bytes;
    rig_must(courier_send(rig->courier, &tag, &slab->fd, 1) == 0, "sending a slab");
}

void rig_send_key(struct rig *rig, uint32_t id, const struct rig_key *key)
{
    const struct courier_tag tag = {
        .kind = COURIER_KEY, .index = id, .generation = 1, .bytes = key->memory.bytes};
    rig_must(courier_send(rig->courier, &tag, &key->memory.fd, 1) == 0, "sending a key");
}

struct message rig_message(struct rig *rig, enum operation operation, uint32_t slot,
                           uint64_t number0, uint64_t number1)
{
    struct message grant = {
        .generation = ++rig->generation,
        .slot = slot,
        .operation = (uint16_t)operation,
        .order_key = rig->generation,
        .numbers = {number0, number1, 7, 1, clock_now_ns(), 0},
    };
    if (operation == OPERATION_SYNTHESIZE || operation == OPERATION_PROVE)
        grant.flags = MESSAGE_HAS_EVALUATIONS;
    return grant;
}

void rig_input(struct rig *rig, const struct message *grant, const int *fds, unsigned count)
{
    const struct courier_tag tag = {
        .kind = COURIER_INPUT, .index = grant->slot, .generation = grant->generation};
    rig_must(courier_send(rig->courier, &tag, fds, count) == 0, "sending an input");
}

void rig_grant(struct rig *rig, const struct message *grant)
{
    rig_must(channel_grant(&rig->channel, grant) == 0, "granting");
    bell_ring(rig->bell_to);
}

int rig_take(struct rig *rig, struct message *ret, int timeout_ms)
{
    const uint64_t deadline_ns = clock_now_ns() + (uint64_t)timeout_ms * 1000000;
    for (;;) {
        memset(ret, 0, sizeof *ret);
        bell_read(rig->bell_from);
        if (channel_take_completion(&rig->channel, ret) == 1)
            return 1;
        struct pollfd fds[2] = {{.fd = rig->bell_from, .events = POLLIN},
                                {.fd = rig->child.pidfd, .events = POLLIN}};
        const uint64_t now_ns = clock_now_ns();
        if (now_ns >= deadline_ns)
            return 0;
        poll(fds, 2, (int)((deadline_ns - now_ns) / 1000000) + 1);
        if (fds[1].revents && !fds[0].revents)
            return channel_take_completion(&rig->channel, ret) == 1;
    }
}

const char *rig_text(const struct message *answer)
{
    static char text[MESSAGE_PAYLOAD_BYTES + 1];
    memcpy(text, answer->payload, answer->payload_bytes);
    text[answer->payload_bytes] = 0;
    return text;
}

const char *rig_log(struct rig *rig)
{
    static char text[65536];
    const ssize_t count = pread(rig->log_fd, text, sizeof text - 1, 0);
    text[count > 0 ? count : 0] = 0;
    return text;
}

int rig_wait_end(struct rig *rig, int timeout_ms)
{
    struct pollfd fd = {.fd = rig->child.pidfd, .events = POLLIN};
    int status = -1;
    if (poll(&fd, 1, timeout_ms) == 1)
        child_reap(&rig->child, &status);
    return status;
}

int rig_stop(struct rig *rig)
{
    const struct message stop = rig_message(rig, OPERATION_STOP, 0, 0, 0);
    rig_grant(rig, &stop);
    const int status = rig_wait_end(rig, RIG_STOP_TIMEOUT_MS);
    if (status != 0)
        fprintf(stderr, "the worker's log:\n%s\n", rig_log(rig));
    rig_destroy(rig);
    return status;
}

void rig_destroy(struct rig *rig)
{
    child_destroy(&rig->child);
    for (unsigned i = 0; i < 4; i++) {
        if (!rig->slab_memory[i])
            continue;
        munmap(rig->slab_memory[i], rig->slabs[i].bytes);
        slab_destroy(&rig->slabs[i]);
    }
    channel_destroy(&rig->channel);
    close(rig->bell_to);
    close(rig->bell_from);
    close(rig->courier);
    close(rig->log_fd);
}

int rig_open(const char *path)
{
    char full[4096];
    snprintf(full, sizeof full, "%s/%s", FIXTURES, path);
    const int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    rig_must(fd >= 0, full);
    return fd;
}

int rig_helper(const char *program, const char *mode, int input_fd, int output_fd, int r1cs_fd,
               const char *digest, bool *ret_ok, const char **ret_line)
{
    static char text[65536];
    const char *argv[RIG_ARGS_MAX] = {program, mode, "--threads", "2"};
    unsigned argc = 4, bytes = 0;
    int result[2], status = -1;
    struct child child;
    if (r1cs_fd >= 0)
        argv[argc++] = "--r1cs";
    if (digest) {
        argv[argc++] = "--digest";
        argv[argc++] = digest;
    }
    rig_must(pipe2(result, O_CLOEXEC) == 0, "pipe");
    const struct child_fd fds[] = {
        {2, 2}, {input_fd, 3}, {output_fd, 4}, {result[1], 5}, {r1cs_fd, 6}};
    const struct child_spec spec = {
        .path = program, .argv = (char *const *)argv, .fds = fds, .fd_count = r1cs_fd >= 0 ? 5 : 4};
    rig_must(child_spawn(&spec, &child) == 0, program);
    close(result[1]);
    ssize_t count;
    while ((count = read(result[0], text + bytes, sizeof text - 1 - bytes)) > 0)
        bytes += (unsigned)count;
    text[bytes] = 0;
    close(result[0]);
    struct pollfd end = {.fd = child.pidfd, .events = POLLIN};
    poll(&end, 1, RIG_HELPER_TIMEOUT_MS);
    child_reap(&child, &status);
    child_destroy(&child);

    if (bytes && text[bytes - 1] == '\n')
        text[bytes - 1] = 0;
    const char *last = strrchr(text, '\n');
    *ret_line = last ? last + 1 : text;
    *ret_ok = strstr(*ret_line, "\"ok\":true") != NULL;
    return status;
}

void rig_key_make(struct rig_key *ret, const char *synth_program, const char *zkey,
                  const char *r1cs)
{
    const int zkey_fd = rig_open(zkey), r1cs_fd = r1cs ? rig_open(r1cs) : -1;
    const int out_fd = memfd_create("prepared", MFD_CLOEXEC);
    struct slab_fault fault;
    struct reason reason = {""};
    struct stat status;
    const char *line, *digest;
    bool ok;
    memset(ret, 0, sizeof *ret);
    rig_must(rig_helper(synth_program, "--prepare", zkey_fd, out_fd, r1cs_fd, NULL, &ok, &line) ==
                 0,
             line);
    digest = strstr(line, "\"key_digest\":\"");
    rig_must(ok && digest, line);
    char hex[65];
    snprintf(hex, sizeof hex, "%s", digest + strlen("\"key_digest\":\""));
    rig_must(fstat(out_fd, &status) == 0, "fstat");
    rig_must(slab_create_key("key", (size_t)status.st_size, SLAB_PAGES_OFF, 0, &ret->memory,
                             &fault) == 0,
             fault.text);
    rig_must(
        rig_helper(synth_program, "--load", out_fd, ret->memory.fd, -1, hex, &ok, &line) == 0 && ok,
        line);
    rig_must(slab_seal_key(&ret->memory) == 0, "sealing the key");
    rig_must(slab_map_key(ret->memory.fd, ret->memory.bytes, &ret->mapped) == 0, "mapping the key");
    rig_must(prepared_attach(ret->mapped, ret->memory.bytes, &ret->prepared, &reason) == 0,
             reason.text);
    close(out_fd);
    close(zkey_fd);
    if (r1cs_fd >= 0)
        close(r1cs_fd);
}

void rig_key_destroy(struct rig_key *key)
{
    slab_unmap(key->mapped, key->memory.bytes);
    slab_destroy(&key->memory);
}
