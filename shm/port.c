/* See shm/port.h. */
#include "shm/port.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/log.h"
#include "shm/bell.h"
#include "shm/courier.h"
#include "shm/slab.h"

int port_open(struct port *port, int maps_slabs)
{
    static const int fds[] = {PORT_FD_CHANNEL, PORT_FD_BELL_IN, PORT_FD_BELL_OUT, PORT_FD_COURIER};
    static const struct rlimit no_core = {0, 0};
    int error;

    /* The witness lies in this process's memory: no cores, no ptrace, no /proc/PID/mem. */
    if (setrlimit(RLIMIT_CORE, &no_core) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
        return -errno;
    /* The signal first, then the check: a supervisor that dies in between is seen by one. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return -errno;
    error = port_attach(port, maps_slabs, fds);
    if (error < 0)
        return error;
    if (getppid() != port->channel.layout->header.supervisor_pid) {
        port_close(port);
        return -ESRCH;
    }
    return 0;
}

int port_attach(struct port *port, int maps_slabs, const int fds[4])
{
    int error;

    *port = (struct port){
        .channel.fd = -1,
        .bell_in = fds[1],
        .bell_out = fds[2],
        .courier = fds[3],
        .maps_slabs = maps_slabs > 0,
        .slabs_writable = maps_slabs == 2,
        .slabs_locked = true,
    };
    for (unsigned i = 0; i < 4; i++) {
        if (fcntl(fds[i], F_SETFD, FD_CLOEXEC) < 0)
            return -errno;
    }
    error = channel_attach(fds[0], &port->channel);
    if (error < 0)
        *port = (struct port){.bell_in = -1, .bell_out = -1, .courier = -1};
    return error;
}

static void input_drop(struct port_input *input)
{
    while (input->fd_count)
        close(input->fds[--input->fd_count]);
}

void port_close(struct port *port)
{
    if (!port->channel.layout)
        return;
    for (unsigned i = 0; i < SLABS_MAX; i++)
        slab_unmap(port->slabs[i].memory, port->slabs[i].bytes);
    for (unsigned i = 0; i < CIRCUITS_MAX; i++)
        slab_unmap(port->keys[i].memory, port->keys[i].bytes);
    for (unsigned i = 0; i < PORT_INPUTS_MAX; i++)
        input_drop(&port->inputs[i]);
    channel_destroy(&port->channel);
    close(port->bell_in);
    close(port->bell_out);
    close(port->courier);
    memset(port, 0, sizeof *port);
}

static int receive_slab(struct port *port, const struct courier_tag *tag, int fd, unsigned count)
{
    struct port_slab *slab;
    bool is_locked;
    int error;

    if (tag->index >= SLABS_MAX)
        return -EPROTO;
    slab = &port->slabs[tag->index];
    if (tag->bytes == 0)
        return port_drop_slab(port, tag->index);
    /* Replacing a mapping that a partition may be using is never meant. */
    if (count != 1 || slab->memory)
        return -EPROTO;
    if (!port->maps_slabs)
        return 0;
    error = slab_map(fd, tag->bytes, port->slabs_writable, &slab->memory, &is_locked);
    if (error < 0)
        return error;
    slab->bytes = tag->bytes;
    if (!is_locked && port->slabs_locked)
        log_warn("slabs on ordinary pages cannot be locked in memory (RLIMIT_MEMLOCK): a witness "
                 "may reach swap");
    port->slabs_locked &= is_locked;
    return 0;
}

static int receive_key(struct port *port, const struct courier_tag *tag, int fd, unsigned count)
{
    struct port_key *key;

    if (tag->index >= CIRCUITS_MAX)
        return -EPROTO;
    key = &port->keys[tag->index];
    if (tag->bytes == 0) {
        port_drop_key(port, tag->index);
        return 0;
    }
    if (count != 1 || key->memory)
        return -EPROTO;
    int error = slab_map_key(fd, tag->bytes, &key->memory);
    if (error == 0) {
        key->bytes = tag->bytes;
        key->serial = ++port->keys_received;
    }
    return error;
}

/* Keeps the descriptors for the grant that names them. Returns the count kept: the caller closes
 * the others. Of one slot only the latest generation counts; when no place is left, the oldest
 * grant's, which was dropped long ago, is given up. */
static unsigned receive_input(struct port *port, const struct courier_tag *tag, const int fds[2],
                              unsigned count)
{
    struct port_input *place = NULL;

    for (unsigned i = 0; i < PORT_INPUTS_MAX; i++) {
        struct port_input *input = &port->inputs[i];
        if (input->fd_count && input->slot == tag->index) {
            if (input->generation > tag->generation)
                return 0;
            place = input;
            break;
        }
        if (!place || (place->fd_count && !input->fd_count) ||
            (place->fd_count && input->generation < place->generation))
            place = input;
    }
    input_drop(place);
    *place = (struct port_input){
        .generation = tag->generation,
        .slot = tag->index,
        .fds = {fds[0], fds[1]},
        .fd_count = count,
    };
    return count;
}

int port_receive(struct port *port)
{
    struct courier_tag tag;
    int fds[2], received = 0, error;
    unsigned count, kept;

    while ((error = courier_receive(port->courier, &tag, fds, &count)) == 1) {
        kept = 0;
        switch (tag.kind) {
        case COURIER_SLAB:
            error = receive_slab(port, &tag, fds[0], count);
            break;
        case COURIER_INPUT:
            kept = receive_input(port, &tag, fds, count);
            break;
        case COURIER_KEY:
            error = receive_key(port, &tag, fds[0], count);
            break;
        default:
            error = -EPROTO;
        }
        while (count > kept)
            close(fds[--count]);
        if (error < 0)
            return error;
        received++;
    }
    return error < 0 ? error : received;
}

int port_take_grant(struct port *port, struct message *ret_grant)
{
    /* The ring first: what was sent before a grant that is seen here has arrived by now. The other
     * way round a grant could be taken whose descriptors are not. */
    int taken = channel_take_grant(&port->channel, ret_grant);
    int received = port_receive(port);

    if (taken < 0)
        return taken;
    return received < 0 ? received : taken;
}

unsigned port_take_input(struct port *port, const struct message *grant, int ret_fds[2])
{
    for (unsigned i = 0; i < PORT_INPUTS_MAX; i++) {
        struct port_input *input = &port->inputs[i];
        if (!input->fd_count || input->slot != grant->slot ||
            input->generation != grant->generation)
            continue;
        unsigned count = input->fd_count;
        memcpy(ret_fds, input->fds, count * sizeof input->fds[0]);
        input->fd_count = 0;
        return count;
    }
    return 0;
}

void port_complete(struct port *port, const struct message *completion)
{
    int error = channel_complete(&port->channel, completion);

    if (error == 0)
        error = bell_ring(port->bell_out);
    if (error == 0)
        return;
    /* The ring has room for every answer: the supervisor granted more than it may, or broke it. */
    log_error("the answer %s of slot %u cannot be handed over: %s",
              operation_to_string(completion->operation), completion->slot, strerror(-error));
    _exit(WORKER_EXIT_PROTOCOL);
}

void port_answer_init(struct message *answer, const struct message *grant)
{
    memset(answer, 0, sizeof *answer);
    answer->generation = grant->generation;
    answer->slot = grant->slot;
    answer->operation = grant->operation;
    answer->order_key = grant->order_key;
    memcpy(answer->numbers, grant->numbers, sizeof answer->numbers);
}

void port_answer_fail(struct message *answer, enum blame blame, int result, const char *text)
{
    size_t bytes = strlen(text);

    answer->blame = (uint16_t)blame;
    answer->result = result;
    answer->payload_bytes =
        (uint16_t)(bytes < MESSAGE_PAYLOAD_BYTES ? bytes : MESSAGE_PAYLOAD_BYTES);
    memcpy(answer->payload, text, answer->payload_bytes);
}

int port_drop_slab(struct port *port, uint64_t index)
{
    if (index >= SLABS_MAX)
        return -EPROTO;
    struct port_slab *slab = &port->slabs[index];
    if (slab->memory && port->before_unmap) {
        int error = port->before_unmap(port->before_unmap_context, (uint32_t)index);
        if (error < 0)
            return error;
    }
    slab_unmap(slab->memory, slab->bytes);
    *slab = (struct port_slab){0};
    return 0;
}

void port_drop_key(struct port *port, uint32_t index)
{
    struct port_key *key;

    if (index >= CIRCUITS_MAX)
        return;
    key = &port->keys[index];
    slab_unmap(key->memory, key->bytes);
    *key = (struct port_key){0};
}
