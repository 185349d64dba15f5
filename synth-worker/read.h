/* The witness file into the slab: first its head, which says where the values are, then the values,
 * straight to the place where the backend reads them. Both through the loop; nothing is mapped,
 * since the file is a client's and may shrink. Used by the synthesis worker's loop. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "groth16/key/prepared.h"
#include "groth16/key/reason.h"
#include "groth16/key/wtns.h"
#include "runtime/loop.h"

enum read_state {
    READ_HEAD,
    READ_VALUES,
    READ_DONE,
    READ_FAILED, /* reason says why; the input is to blame */
};

struct read {
    enum read_state state;
    bool is_flying; /* the loop writes to head or to the slab */
    int fd;         /* owned */
    const struct prepared *key;
    void *witness; /* in the slab: key's variable_count scalars */
    struct loop *loop;
    struct loop_read request;
    int64_t result;
    uint64_t file_bytes;
    struct wtns wtns; /* known from READ_VALUES on */
    struct reason reason;
    uint8_t head[WTNS_HEAD_BYTES];
};

/* Takes fd over. Never fails by itself: a bad file shows as READ_FAILED. */
void read_start(struct read *read, struct loop *loop, int fd, const struct prepared *key,
                void *witness);
/* After the loop ran its callbacks: goes on to the next state. Returns 1 when it moved. */
int read_step(struct read *read);
/* Ends it in any state: afterwards nothing writes the slab, and fd is closed. */
void read_end(struct read *read);
