/* A constraint file (.r1cs, version 1) of circom: read once when a circuit is registered, to check
 * that it belongs to the key and to keep its C matrix, which a .zkey does not hold. Streams: memory
 * does not grow with the file. Custom gates (sections 4 and 5) are ignored. */
#pragma once

#include <stdint.h>

#include "groth16/key/container.h"
#include "groth16/key/reason.h"

struct curve;

struct r1cs {
    struct container file;
    const struct curve *curve;
    uint32_t wire_count; /* with the constant 1 */
    uint32_t public_output_count, public_input_count, private_input_count;
    uint64_t label_count;
    uint32_t constraint_count;
    struct section constraints;
};

enum r1cs_matrix {
    R1CS_A = 0,
    R1CS_B = 1,
    R1CS_C = 2,
};

/* What r1cs_read tells. A negative return ends the reading and is passed on. */
struct r1cs_sink {
    void *context;
    /* One term; value is plain, 4 limbs, < r; wire < wire_count. Terms come by constraint, then
     * matrix, in file order. */
    int (*term)(void *context, uint32_t constraint, enum r1cs_matrix matrix, uint32_t wire,
                const uint64_t *value);
    /* After the last term of each constraint. */
    int (*constraint_end)(void *context, uint32_t constraint);
};

/* Header only. fd stays the caller's and must stay open for r1cs_read. */
int r1cs_open(int fd, struct r1cs *ret, struct reason *reason);
int r1cs_open_memory(const void *bytes, size_t count, struct r1cs *ret, struct reason *reason);

/* Every constraint, blocking. -EBADMSG for an index or value out of range, or counts that do not
 * fill the section exactly. */
int r1cs_read(const struct r1cs *r1cs, const struct r1cs_sink *sink, struct reason *reason);
