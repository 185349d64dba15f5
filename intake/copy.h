/* One client's file into the spool: copied (by reference where the file system can), digested,
 * durable under its name. Upstream: main.c. Blocks as long as the files do: the supervisor has the
 * clock, hears of the progress and ends the process that makes none. */
#pragma once

#include <stdint.h>

#include "shm/intake_packet.h"

struct copier {
    int socket; /* for PROGRESS */
    int folder; /* the spool */
    uint8_t *buffer;
    void *digest; /* EVP_MD_CTX */
};

/* 0 or -ENOMEM. */
int copier_init(struct copier *copier, int socket, int folder);
void copier_destroy(struct copier *copier);
/* Takes file over. *ret_answer is COPIED or FAILED; then nothing is left of it. */
void copier_run(struct copier *copier, const struct intake_packet *asked, int file,
                struct intake_packet *ret_answer);
