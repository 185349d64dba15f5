/* Any of Filecoin's circuits behind one face: what kind, which shape, how large. Called by tools
 * and synthesis. */
#pragma once

#include "filecoin/porep.h"
#include "filecoin/post.h"
#include "filecoin/snap.h"

enum circuit_kind {
    CIRCUIT_SNAP,
    CIRCUIT_WINNING,
    CIRCUIT_WINDOW,
    CIRCUIT_POREP,
    CIRCUIT_KIND_COUNT,
};

struct circuit {
    enum circuit_kind kind;
    const struct sector *sector;
    union {
        struct snap_shape snap;
        struct post_shape post;
        struct porep_shape porep;
    };
};

struct circuit_vanilla {
    enum circuit_kind kind;
    union {
        struct snap_vanilla snap;
        struct post_vanilla post;
        struct porep_vanilla porep;
    };
};

struct circuit_size {
    uint64_t row_count; /* input rows counted */
    uint32_t input_count, aux_count;
};

/* "snap", ...; NULL for no kind. */
const char *circuit_kind_to_string(enum circuit_kind kind);
/* -EINVAL with reason for an unknown kind or sector. */
int circuit_find(const char *kind, const char *sector, struct circuit *ret, struct reason *reason);
/* By running the circuit without rows and values; -ENOMEM. */
int circuit_measure(const struct circuit *circuit, struct circuit_size *ret);
/* With the input rows. Blank without vanilla. Returns cs->error. */
int circuit_synthesize(struct cs *cs, const struct circuit *circuit,
                       const struct circuit_vanilla *vanilla, const fr *public);
/* How many public inputs a request names, ONE not counted. */
uint32_t circuit_public_count(const struct circuit *circuit);

/* One partition in the encoding of the public implementation. -EBADMSG with reason, -ENOMEM. */
int circuit_vanilla_read(struct circuit_vanilla *ret, const struct circuit *circuit,
                         const uint8_t *data, size_t size, struct reason *reason);
/* Accepts a zeroed object. */
void circuit_vanilla_destroy(struct circuit_vanilla *vanilla);
