/* A circuit's constraints as rows in memory, for make_key: from an .r1cs file, or made
 * (synthetic.h). The rows are those of a prepared key, and the dictionary is numbered as
 * prepared_write numbers it, so that a key made from them is the same, byte for byte. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bench/scalar.h"
#include "groth16/curve/curve.h"
#include "groth16/key/dictionary.h"
#include "groth16/key/matrix_builder.h"
#include "groth16/key/reason.h"

struct constraints {
    const struct curve *curve;
    uint32_t variable_count; /* wires, with the constant 1 */
    uint32_t public_count;   /* without the constant 1 */
    uint32_t constraint_count;
    unsigned domain_log2;
    /* constraint_count + public_count + 1 rows in A and B, the last of which say that the public
     * wires are in A; constraint_count in C. Coefficients are scaled as in a .zkey. */
    struct matrix_rows a, b, c;
    struct dictionary dictionary;
    uint64_t one_scaled[4]; /* coefficient 1 */
};

static inline uint32_t constraints_row_count(const struct constraints *constraints)
{
    return constraints->constraint_count + constraints->public_count + 1;
}

/* Reads an .r1cs. -EBADMSG and friends with a reason; -EOVERFLOW when a curve has no domain of that
 * size. The object wants constraints_destroy in any case. */
int constraints_read(int r1cs_fd, struct constraints *ret, struct reason *reason);
/* Accepts a zeroed object. */
void constraints_destroy(struct constraints *constraints);

/* For those who fill one: the counts are there; chooses the domain and makes the dictionary. */
int constraints_begin(struct constraints *constraints, struct reason *reason);
/* Appends the rows of A that the public wires have, and empty ones of B. -ENOMEM. */
int constraints_add_public_rows(struct constraints *constraints);

/* The dictionary as plain scalars; the caller frees it. NULL: memory is short. */
struct scalar *constraints_plain_values(const struct constraints *constraints);
/* The constraints as an .r1cs of inputs only, into the empty file of fd. One thread. */
int constraints_write_r1cs(const struct constraints *constraints, int fd, struct reason *reason);
