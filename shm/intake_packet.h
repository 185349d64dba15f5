/* What the supervisor and cuzk-intake say to each other: packets of one size over a SOCK_SEQPACKET
 * pair, the client's file with the order to copy it.
 *
 *   intake -> READY            once, when it can work
 *   -> COPY (descriptor)       copy `bytes` bytes into the spool file of job and partition
 *   intake -> PROGRESS ...     in between: so much is written, or everything and it is being synced
 *   intake -> COPIED | FAILED  the end of it; then the next COPY may come
 *
 * What an intake process says is input to the supervisor: it has handled a client's file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    INTAKE_PACKET_ABI = 1,
    INTAKE_FD_SOCKET = 3, /* numbers in the child */
    INTAKE_FD_FOLDER = 4, /* the spool */
    INTAKE_SHA256_BYTES = 32,
};

enum intake_kind {
    INTAKE_READY = 1,
    INTAKE_COPY,
    INTAKE_PROGRESS,
    INTAKE_COPIED,
    INTAKE_FAILED,
};

enum intake_phase {
    INTAKE_COPYING, /* it reads the client's file: a client may be to blame if it takes long */
    INTAKE_SYNCING, /* only the spool's disk is waited for */
    INTAKE_PHASE_COUNT,
};

enum intake_fault {
    INTAKE_FAULT_NONE,
    /* the client's file */
    INTAKE_FAULT_NO_FILE, /* it is not a regular file */
    INTAKE_FAULT_SHORTER, /* than it was when it was sent */
    INTAKE_FAULT_LONGER,
    INTAKE_FAULT_CHANGED,    /* while it was copied */
    INTAKE_FAULT_UNREADABLE, /* error: errno of fstat or read */
    /* ours */
    INTAKE_FAULT_SPOOL, /* error: errno of the spool's file system */
    INTAKE_FAULT_COUNT,
};

struct intake_packet {
    uint32_t abi;
    uint32_t kind;   /* enum intake_kind */
    uint64_t ticket; /* of the COPY; all answers to it repeat ticket, job and partition */
    uint64_t job;
    uint32_t partition;
    uint32_t phase; /* PROGRESS: enum intake_phase */
    uint64_t bytes; /* COPY: of the file; PROGRESS: written so far; COPIED: of the copy */
    uint32_t fault; /* FAILED: enum intake_fault */
    uint32_t error; /* FAILED: errno, 0 when there is none */
    uint8_t sha256[INTAKE_SHA256_BYTES]; /* COPIED: of what lies in the spool */
};

int intake_socket_create(int ret_fds[2]); /* [0] supervisor, [1] intake; [0] non-blocking */
/* fd -1: none. 0, -EAGAIN when the socket is full, negative errno. Does not block. */
int intake_packet_send(int socket, const struct intake_packet *packet, int fd);
/* 1 with the packet and a descriptor (the caller's, close-on-exec) or -1; 0 when none waits, -EPIPE
 * when the other end is closed, -EPROTO for a packet that is none (its descriptors are closed),
 * -EMFILE. Does not block unless the socket does. */
int intake_packet_receive(int socket, struct intake_packet *ret_packet, int *ret_fd);
/* Drops the packet that came first, with its descriptor, which is never opened here. */
void intake_packet_skip(int socket);

/* 0, or -EPROTO unless `answer` is one to the COPY `asked`, of which `progress` is the newest
 * PROGRESS so far (or `asked` itself, with 0 bytes, before the first). Reads nothing else. */
int intake_answer_check(const struct intake_packet *asked, const struct intake_packet *progress,
                        const struct intake_packet *answer);
/* "JOB-PARTITION", the name of a spool file, or "JOB-PARTITION.part" of one that is being written.
 */
enum {
    INTAKE_NAME_BYTES = 40,
};
void intake_name(uint64_t job, uint32_t partition, bool is_part, char ret[INTAKE_NAME_BYTES]);
/* The other way: 0, or -EINVAL for any other name. */
int intake_name_parse(const char *name, uint64_t *ret_job, uint32_t *ret_partition,
                      bool *ret_is_part);
