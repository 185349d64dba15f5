/* A proving key as Filecoin's .params files have it (bellman's Parameters): read once, when a
 * circuit is registered, and turned into a prepared key.
 *
 *   vk | h | l | a | b_g1 | b_g2      each a u32 count, big-endian, then points, uncompressed
 *
 * h is the monomial basis without its top; l has a point for every aux variable; a, b_g1 and b_g2
 * only for variables that occur in the circuit's A and B (all inputs do in A). The circuit itself
 * is not in the file. Nothing in it is trusted and no size decides an allocation; files of 60 GB
 * are streamed with a few MiB. The descriptor is the caller's and stays open while params are used.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filecoin/vk.h"
#include "groth16/key/container.h"
#include "groth16/key/prepared_source.h"
#include "groth16/key/reason.h"

struct pool;

enum params_section {
    PARAMS_H,
    PARAMS_L,
    PARAMS_A,
    PARAMS_B_G1,
    PARAMS_B_G2,
    PARAMS_SECTION_COUNT,
};

struct params {
    struct container file;
    struct vk vk;
    struct {
        uint64_t off; /* of the points, behind the count */
        uint32_t count;
    } sections[PARAMS_SECTION_COUNT];
};

/* The counts that a circuit's key has, and the size of its file. */
struct params_counts {
    uint32_t ic, points[PARAMS_SECTION_COUNT];
    uint64_t bytes;
};

enum {
    PARAMS_DIGEST_BYTES = 16,
};

/* Verifying key, counts and the exact length of the file; points other than the vk's are not read.
 * Blocking, bounded time. -EBADMSG with the place. params_destroy only after success. */
int params_open(int fd, struct params *ret, struct reason *reason);
int params_open_memory(const void *bytes, size_t count, struct params *ret, struct reason *reason);
/* Accepts a zeroed object. */
void params_destroy(struct params *params);

/* "h", "l", "a", "b_g1", "b_g2". */
const char *params_section_to_string(enum params_section section);
/* Bytes of the whole file with these counts. */
uint64_t params_counts_bytes(const struct params_counts *counts);

/* Whether a .vk file is, byte for byte, what the params begin with. -EBADMSG when not. */
int params_compare_vk(const struct params *params, int vk_fd, struct reason *reason);
/* Whether the counts are those of a circuit. -EBADMSG, naming the first that is not. */
int params_compare_counts(const struct params *params, const struct params_counts *expected,
                          struct reason *reason);

/* Streams one section in pieces of a few MiB in the encoding of curve.h: every point canonical, on
 * the curve, not at infinity and, if `subgroup`, in the subgroup; spread over the pool (NULL: the
 * calling thread). */
int params_read_points(const struct params *params, enum params_section section, bool subgroup,
                       struct pool *pool, prepared_sink *sink, void *context,
                       struct reason *reason);

/* The digest that parameters.json has: the first 16 bytes of BLAKE2b-512 of the file. Reads all of
 * it. progress may be NULL. -ECANCELED from progress. */
int params_digest(const struct params *params, const struct prepared_progress *progress,
                  uint8_t ret[PARAMS_DIGEST_BYTES], struct reason *reason);

/* What is to become of params_prepare's circuit: what its key must count. Allocates two bit vectors
 * for the time of the call. -ENOMEM. */
int params_expect(const struct prepared_circuit *circuit, struct params_counts *ret,
                  struct reason *reason);

struct params_prepare_options {
    bool skips_subgroup; /* of h, l, a and b: trust the digest instead, which was checked */
};

/* Makes the prepared key (layout PREPARED_LAYOUT_BELLMAN) of params and the circuit that they
 * belong to; their counts are compared. out_fd, pool, progress and errors as prepared_write. */
int params_prepare(const struct params *params, const struct prepared_circuit *circuit,
                   const struct params_prepare_options *options, int out_fd, struct pool *pool,
                   const struct prepared_progress *progress,
                   uint8_t ret_digest[PREPARED_DIGEST_BYTES], struct reason *reason);
