/* The two sockets and their connections: frames in, replies out; control_waits.h has the
 * requests whose answer comes later. One slow client never holds up another: nothing here blocks,
 * and what a client does not read or finish ends its connection, not the service. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/limits.h"
#include "protocol/request.h"
#include "protocol/stream.h"
#include "runtime/loop.h"
#include "supervisor/control_waits.h"

struct reply;
struct supervisor;

enum {
    CONTROL_ADMIN_CLIENTS_RESERVED = 16, /* of CLIENTS_MAX: an operator always gets in */
    CONTROL_IDLE_S_MAX = 600,            /* nothing asked, nothing awaited */
    CONTROL_STUCK_S_MAX = 30,            /* half a frame, or replies that are not read */
    CONTROL_HOLD_S_MAX = 300,            /* what a request waits for the start; then: busy */
    CONTROL_FRAMES_A_TURN = 8,           /* times CLIENTS_MAX: what an urgent request waits for */
    CONTROL_CONNECTIONS_A_TURN = 32,
    CONTROL_DESCRIPTORS_A_CLIENT = 4, /* at least so many of the limit for each connection */
    CONTROL_DESCRIPTORS_MAX = 1024,   /* received and not yet claimed by a request, of all */
};

struct control_client {
    struct supervisor *supervisor;
    struct stream stream;
    struct loop_watch watch;
    bool is_admin;
    bool is_closing;  /* freed at the end of the turn */
    bool has_backlog; /* more frames than one turn takes */
    bool is_held;     /* its next request waits until the slabs are there */
    uid_t uid;
    uint64_t active_ns; /* last byte in or out */
    struct control_wait waits[CONTROL_WAITS_MAX];
    uint32_t wait_count;
    struct control_client *next;
};

struct control_listener {
    struct supervisor *supervisor;
    struct loop_watch watch;
    const char *path;
    ino_t inode;              /* of the path, where we have made it */
    bool is_admin, is_paused; /* paused: descriptors are short */
    bool is_inherited;        /* the service manager's: it stays when we end */
};

struct control {
    struct control_listener listeners[2]; /* submit, admin */
    struct control_client *clients;
    uint32_t client_count;
    bool jobs_changed;        /* some job's version rose since the last tick */
    uint64_t resume_ns;       /* of a paused listener */
    uint64_t refusal_told_ns; /* not again before */
};

/* The sockets are those that the service manager handed over as "submit" and "admin"; what it did
 * not is opened here. */
int control_open(struct supervisor *supervisor);
/* Removes the sockets that are ours; connections stay. */
void control_stop_listening(struct supervisor *supervisor);
void control_close(struct supervisor *supervisor);
/* Answers waits that are due, ends connections that broke a deadline. */
void control_tick(struct supervisor *supervisor);
uint64_t control_deadline(const struct supervisor *supervisor);

/* Sends the reply, which is destroyed; a connection that cannot take it ends. */
void control_send(struct control_client *client, uint32_t message_id, struct reply *reply);
