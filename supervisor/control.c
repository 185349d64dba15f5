/* The two sockets: see control.h. Upstream: clients; downstream: answers.c. */
#include "supervisor/control.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/reply.h"
#include "protocol/request.h"
#include "runtime/close_later.h"
#include "runtime/log.h"
#include "supervisor/answers.h"
#include "supervisor/listener.h"
#include "supervisor/supervisor.h"

static void on_connect(struct loop_watch *watch, uint32_t events);
static void on_client(struct loop_watch *watch, uint32_t events);
static bool may_take_frames(const struct control_client *client);
static void take_frames(struct control_client *client);

static int open_listener(struct control_listener *listener)
{
    const struct config *config = &listener->supervisor->config;
    struct activation *activation = &listener->supervisor->activation;
    int fd = activation_take(activation, listener->is_admin ? "admin" : "submit");
    if (fd < 0)
        return listener->is_admin ? listener_open(listener->path, config->admin_socket_mode,
                                                  config->admin_socket_group, &listener->inode)
                                  : listener_open(listener->path, config->socket_mode,
                                                  config->socket_group, &listener->inode);
    int r = listener_adopt(fd, listener->path);
    if (r < 0)
        close(fd);
    listener->is_inherited = r >= 0;
    return r;
}

int control_open(struct supervisor *supervisor)
{
    struct control *control = &supervisor->control;
    const char *paths[2] = {supervisor->config.socket_path, supervisor->config.admin_socket_path};
    for (int i = 0; i < 2; i++)
        control->listeners[i].watch.fd = -1;
    for (int i = 0; i < 2; i++) {
        struct control_listener *listener = &control->listeners[i];
        listener->supervisor = supervisor;
        listener->path = paths[i];
        listener->is_admin = i == 1;
        int fd = open_listener(listener);
        if (fd < 0)
            return fd;
        listener->watch = (struct loop_watch){.fd = fd, .events = POLLIN, .on_ready = on_connect};
        int r = loop_add(supervisor->loop, &listener->watch);
        if (r < 0) {
            listener->watch.on_ready = NULL;
            return r;
        }
    }
    return 0;
}

void control_stop_listening(struct supervisor *supervisor)
{
    for (int i = 0; i < 2; i++) {
        struct control_listener *listener = &supervisor->control.listeners[i];
        if (listener->watch.on_ready)
            loop_remove(supervisor->loop, &listener->watch);
        if (listener->is_inherited && listener->watch.fd >= 0)
            close(listener->watch.fd);
        else if (listener->path)
            listener_close(listener->watch.fd, listener->path, listener->inode);
        listener->watch = (struct loop_watch){.fd = -1};
    }
}

static void client_free(struct control_client *client)
{
    control_waits_drop(client);
    if (client->watch.on_ready)
        loop_remove(client->supervisor->loop, &client->watch);
    stream_destroy(&client->stream);
    free(client);
}

void control_close(struct supervisor *supervisor)
{
    struct control *control = &supervisor->control;
    control_stop_listening(supervisor);
    while (control->clients) {
        struct control_client *client = control->clients;
        control->clients = client->next;
        stream_flush(&client->stream);
        client_free(client);
    }
    control->client_count = 0;
}

/* Connections take a part of the descriptors only, or nothing else could be opened. */
static uint32_t connections_max(const struct control_listener *listener)
{
    uint32_t max = listener->supervisor->descriptors_max / CONTROL_DESCRIPTORS_A_CLIENT;
    max = max < CLIENTS_MAX ? max : CLIENTS_MAX;
    uint32_t reserved =
        max / 4 < CONTROL_ADMIN_CLIENTS_RESERVED ? max / 4 : CONTROL_ADMIN_CLIENTS_RESERVED;
    return listener->is_admin ? max : max - reserved;
}

static void tell_refusal(struct supervisor *supervisor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A client that tries again and again is not to fill the log. */
static void tell_refusal(struct supervisor *supervisor, const char *format, ...)
{
    struct control *control = &supervisor->control;
    char text[160];
    va_list arguments;
    if (supervisor->now_ns < control->refusal_told_ns)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    log_warn("connections are refused: %s; idle ones end after %d s", text, CONTROL_IDLE_S_MAX);
    control->refusal_told_ns = supervisor->now_ns + UINT64_C(10000000000);
}

/* One user leaves as many places free as he takes: whoever comes next gets in. Operators do. */
static bool has_share(const struct control_client *newcomer)
{
    const struct control *control = &newcomer->supervisor->control;
    const struct control_listener *listener = &control->listeners[newcomer->is_admin];
    uint32_t max = connections_max(listener), own = 0;
    if (newcomer->is_admin)
        return true;
    for (const struct control_client *client = control->clients; client; client = client->next)
        own += !client->is_admin && client->uid == newcomer->uid;
    return own < max - control->client_count;
}

static int client_create(struct control_listener *listener, int fd)
{
    struct supervisor *supervisor = listener->supervisor;
    struct control *control = &supervisor->control;
    struct control_client *client = calloc(1, sizeof *client);
    if (!client) {
        close(fd);
        return -ENOMEM;
    }
    client->supervisor = supervisor;
    client->is_admin = listener->is_admin;
    client->active_ns = supervisor->now_ns;
    client->stream.fd = -1;
    int r = listener_peer_uid(fd, &client->uid);
    if (r < 0) {
        close(fd);
        free(client);
        return r;
    }
    if (!has_share(client)) {
        tell_refusal(supervisor, "user %u has as many open as there are left for others",
                     (unsigned)client->uid);
        close(fd);
        free(client);
        return 0;
    }
    r = stream_init(&client->stream, fd);
    if (r == 0) {
        client->stream.close_descriptor = close_later;
        client->watch = (struct loop_watch){.fd = fd, .events = POLLIN, .on_ready = on_client};
        r = loop_add(supervisor->loop, &client->watch);
        if (r < 0)
            client->watch.on_ready = NULL;
    }
    if (r < 0) {
        client_free(client);
        return r;
    }
    client->next = control->clients;
    control->clients = client;
    control->client_count++;
    return 0;
}

/* False when no more connections wait, or none can be taken. */
static bool take_connection(struct control_listener *listener)
{
    struct supervisor *supervisor = listener->supervisor;
    struct control *control = &supervisor->control;
    int fd = listener_accept(listener->watch.fd);
    if (fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS || fd == -ENOMEM) {
        /* The connection stays in the backlog; polling on would spin. */
        log_warn("cannot take a connection: %s; trying again in a second", strerror(-fd));
        loop_modify(supervisor->loop, &listener->watch, 0);
        listener->is_paused = true;
        control->resume_ns = supervisor->now_ns + 1000000000u;
        return false;
    }
    if (fd < 0)
        return false;
    if (control->client_count >= connections_max(listener)) {
        tell_refusal(supervisor, "%u are open, the most that may be", control->client_count);
        close(fd);
        return true;
    }
    int r = client_create(listener, fd);
    if (r < 0)
        log_warn("cannot serve a connection: %s", strerror(-r));
    return true;
}

static void on_connect(struct loop_watch *watch, uint32_t events)
{
    struct control_listener *listener =
        (struct control_listener *)((char *)watch - offsetof(struct control_listener, watch));
    (void)events;
    supervisor_take_time(listener->supervisor);
    /* Several a turn: a turn is long when many clients talk, and the backlog is short. */
    for (int i = 0; i < CONTROL_CONNECTIONS_A_TURN && take_connection(listener); i++)
        continue;
}

static void client_close(struct control_client *client, const char *why)
{
    if (!client->is_closing)
        log_debug("a connection of uid %u ends: %s", (unsigned)client->uid, why);
    client->is_closing = true;
}

static void watch_again(struct control_client *client)
{
    uint32_t events = client->is_closing ? 0 : stream_events(&client->stream);
    if (client->has_backlog)
        events &= ~(uint32_t)POLLIN; /* what came first is taken first: bounds the input */
    if (events != client->watch.events &&
        loop_modify(client->supervisor->loop, &client->watch, events) < 0)
        client_close(client, "it cannot be watched");
}

void control_send(struct control_client *client, uint32_t message_id, struct reply *reply)
{
    const uint8_t *bytes;
    size_t count;
    int r = reply_finish(reply, &bytes, &count);
    if (r < 0) {
        reply_destroy(reply);
        reply_error(reply, message_id, REPLY_FAILED,
                    r == -EMSGSIZE ? "the answer is larger than a frame" : "memory is short", 0);
        r = reply_finish(reply, &bytes, &count);
    }
    client->active_ns = client->supervisor->now_ns;
    if (r == 0)
        r = stream_send(&client->stream, bytes, count, NULL, 0);
    reply_destroy(reply);
    if (r == 0)
        r = stream_flush(&client->stream);
    if (r < 0 && r != -EAGAIN)
        client_close(client, strerror(-r));
    watch_again(client);
}

static void close_all(const int *descriptors, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        close_later(descriptors[i]);
}

/* Descriptors of a request that cannot be served are closed, so that the next request's are not
 * taken for them. */
static void drop_descriptors(struct control_client *client, uint32_t count)
{
    int descriptors[STREAM_DESCRIPTORS_MAX];
    if (count > client->stream.descriptor_count)
        count = client->stream.descriptor_count;
    if (count > 0 && stream_take(&client->stream, descriptors, count) == 0)
        close_all(descriptors, count);
}

/* A client can send descriptors and keep back the request that they belong to. Beyond the bound
 * the connection that holds most of them ends. */
static void bound_descriptors(struct supervisor *supervisor)
{
    struct control_client *most = NULL;
    uint32_t sum = 0, max = supervisor->descriptors_max / 8;
    max = max < CONTROL_DESCRIPTORS_MAX ? max : CONTROL_DESCRIPTORS_MAX;
    for (struct control_client *client = supervisor->control.clients; client;
         client = client->next) {
        if (client->is_closing)
            continue;
        sum += client->stream.descriptor_count;
        if (!most || client->stream.descriptor_count > most->stream.descriptor_count)
            most = client;
    }
    if (sum <= max)
        return;
    client_close(most, "it holds descriptors without a request, and too many are open");
    drop_descriptors(most, STREAM_DESCRIPTORS_MAX); /* now: the turn may bring more */
}

static void on_client(struct loop_watch *watch, uint32_t events)
{
    struct control_client *client =
        (struct control_client *)((char *)watch - offsetof(struct control_client, watch));
    if (client->is_closing)
        return;
    supervisor_take_time(client->supervisor);
    client->active_ns = client->supervisor->now_ns;
    if (events & POLLOUT) {
        int r = stream_flush(&client->stream);
        if (r < 0 && r != -EAGAIN)
            client_close(client, strerror(-r));
    }
    if (events & (POLLIN | POLLHUP | POLLERR) && !client->is_closing) {
        int r = stream_receive(&client->stream);
        if (r == 0)
            client_close(client, "it was closed by the client");
        else if (r < 0 && r != -EAGAIN)
            client_close(client, strerror(-r));
        take_frames(client);
        if (client->stream.descriptor_count > 0)
            bound_descriptors(client->supervisor);
    }
    watch_again(client);
}

static void refuse(struct control_client *client, uint32_t message_id, enum reply_code code,
                   const char *text)
{
    struct reply reply = {0};
    reply_error(&reply, message_id, code, text, 0);
    control_send(client, message_id, &reply);
}

/* NULL, or why the request cannot be served; then the descriptors taken with it are closed. */
static const char *take_descriptors(struct control_client *client, const struct request *request,
                                    int *ret_descriptors)
{
    struct stream *stream = &client->stream;
    if (stream_take(stream, ret_descriptors, request->descriptor_count) < 0)
        return "fewer descriptors came than the request says";
    /* What is left and has no frame behind it belongs to nothing. */
    bool has_more = stream->input_end - stream->input_begin > stream->frame_bytes;
    if (stream->descriptor_count == 0 || has_more)
        return NULL;
    close_all(ret_descriptors, request->descriptor_count);
    return "more descriptors came than the request says";
}

static void serve(struct control_client *client, const struct request *request)
{
    const struct answers_caller caller = {client->supervisor, client->uid, client->is_admin};
    int descriptors[JOB_PARTITIONS_MAX];
    struct reply reply = {0};
    const char *why = take_descriptors(client, request, descriptors);
    if (why) {
        refuse(client, request->message_id, REPLY_USAGE, why);
        client_close(client, "its descriptors do not fit its request");
        return;
    }
    if (answers_may_wait(request->method) && client->wait_count == CONTROL_WAITS_MAX) {
        close_all(descriptors, request->descriptor_count);
        refuse(client, request->message_id, REPLY_BUSY,
               "too many unanswered requests on this connection");
        return;
    }
    struct answers_later later = {0};
    if (answers_make(&caller, request, descriptors, &reply, &later) == ANSWERS_LATER)
        control_waits_keep(client, request, &later);
    else
        control_send(client, request->message_id, &reply);
}

static bool must_hold(const struct control_client *client)
{
    const struct supervisor *supervisor = client->supervisor;
    return supervisor->phase == SUPERVISOR_PREPARING &&
           supervisor->now_ns < supervisor->started_ns + CONTROL_HOLD_S_MAX * UINT64_C(1000000000);
}

/* While the slabs are being made there is neither a circuit nor a job to ask for: what is asked
 * then waits in its connection, bounded, and is neither refused nor answered wrongly. */
static bool hold(struct control_client *client, const struct request *request)
{
    const struct supervisor *supervisor = client->supervisor;
    if (supervisor->phase != SUPERVISOR_PREPARING || request->method == REQUEST_HELLO ||
        request->method == REQUEST_STATUS)
        return false;
    if (must_hold(client)) {
        client->is_held = true;
        stream_put_back(&client->stream);
        return true;
    }
    drop_descriptors(client, request->descriptor_count);
    refuse(client, request->message_id, REPLY_BUSY, "the daemon is still making its slabs");
    return true;
}

/* One frame; what cannot be answered at all ends the connection. */
static void take_frame(struct control_client *client, const uint8_t *bytes, size_t count)
{
    static struct request request; /* some KiB, and there is one thread */
    struct request_fault fault = {0};
    int r = request_decode(bytes, count, &request, &fault);
    if (r == 0 && hold(client, &request))
        return;
    if (r == 0) {
        serve(client, &request);
    } else if (fault.has_message_id) {
        drop_descriptors(client, fault.descriptor_count);
        refuse(client, fault.message_id, r == -ENOMEM ? REPLY_FAILED : REPLY_USAGE, fault.text);
        if (client->stream.descriptor_count > 0)
            client_close(client, "its descriptors do not fit its request");
    } else {
        client_close(client, "it sent what is no request");
    }
}

/* Requests that are not answered yet wait until the client has read the answers it has. */
static bool may_take_frames(const struct control_client *client)
{
    return !client->is_closing && !client->is_held && !stream_is_congested(&client->stream);
}

static void take_frames(struct control_client *client)
{
    const uint8_t *bytes;
    size_t count;
    client->has_backlog = false;
    for (int i = 0; i < CONTROL_FRAMES_A_TURN && may_take_frames(client); i++) {
        int r = stream_frame(&client->stream, &bytes, &count);
        if (r == 0)
            return;
        if (r < 0) {
            client_close(client, r == -EMSGSIZE ? "a frame is too large" : "it broke the framing");
            return;
        }
        take_frame(client, bytes, count);
    }
    client->has_backlog = !client->is_closing;
}

/* How long the client may still go on like this. */
static uint64_t client_deadline(const struct control_client *client)
{
    const struct stream *stream = &client->stream;
    if (client->is_held)
        return UINT64_MAX;
    bool is_stuck =
        stream->output_bytes > 0 || stream_is_torn(stream) || stream->descriptor_count > 0;
    if (is_stuck)
        return client->active_ns + CONTROL_STUCK_S_MAX * UINT64_C(1000000000);
    if (client->wait_count > 0)
        return UINT64_MAX;
    return client->active_ns + CONTROL_IDLE_S_MAX * UINT64_C(1000000000);
}

void control_tick(struct supervisor *supervisor)
{
    struct control *control = &supervisor->control;
    uint64_t now_ns = supervisor->now_ns;
    for (int i = 0; i < 2; i++) {
        struct control_listener *listener = &control->listeners[i];
        if (listener->is_paused && now_ns >= control->resume_ns) {
            listener->is_paused = false;
            loop_modify(supervisor->loop, &listener->watch, POLLIN);
        }
    }
    control->jobs_changed = false;
    for (struct control_client **link = &control->clients; *link;) {
        struct control_client *client = *link;
        if (client->is_held && !must_hold(client))
            client->is_held = false;
        if (client->has_backlog && may_take_frames(client)) {
            take_frames(client);
            watch_again(client);
        }
        if (client->wait_count > 0)
            control_waits_answer(client);
        if (now_ns >= client_deadline(client))
            client_close(client, "it was idle or stuck for too long");
        if (!client->is_closing) {
            link = &client->next;
            continue;
        }
        *link = client->next;
        control->client_count--;
        client_free(client);
    }
}

uint64_t control_deadline(const struct supervisor *supervisor)
{
    const struct control *control = &supervisor->control;
    uint64_t deadline_ns = UINT64_MAX;
    if (control->jobs_changed)
        return 0;
    for (int i = 0; i < 2; i++) {
        if (control->listeners[i].is_paused && control->resume_ns < deadline_ns)
            deadline_ns = control->resume_ns;
    }
    for (const struct control_client *client = control->clients; client; client = client->next) {
        if (client->is_closing || (client->has_backlog && may_take_frames(client)))
            return 0;
        uint64_t end_ns = client_deadline(client), due_ns = control_waits_deadline(client);
        end_ns = due_ns < end_ns ? due_ns : end_ns;
        deadline_ns = end_ns < deadline_ns ? end_ns : deadline_ns;
    }
    return deadline_ns;
}
