/* Booleans of a circuit: constants, variables and negated variables, folded as bellperson folds
 * them. The order in which the constant cases are tried decides the rows, so it is part of the
 * format. Called by the SHA-256 and Merkle gadgets and the circuits. */
#pragma once

#include "filecoin/cs.h"

enum boolean_kind {
    BOOLEAN_CONSTANT,
    BOOLEAN_IS,
    BOOLEAN_NOT,
};

struct boolean {
    uint8_t kind;
    uint8_t value; /* of the boolean, not of the variable; 0 in a blank circuit unless constant */
    cs_var var;
};

static inline struct boolean boolean_constant(unsigned value)
{
    return (struct boolean){BOOLEAN_CONSTANT, (uint8_t)(value & 1), 0};
}

static inline struct boolean boolean_not(struct boolean a)
{
    static const uint8_t kinds[] = {BOOLEAN_CONSTANT, BOOLEAN_NOT, BOOLEAN_IS};

    return (struct boolean){kinds[a.kind], a.value ^ 1, a.var};
}

static inline bool boolean_is(struct boolean a, unsigned value)
{
    return a.kind == BOOLEAN_CONSTANT && a.value == value;
}

/* A new variable that is 0 or 1: row 1 - v | v | 0. */
struct boolean boolean_alloc(struct cs *cs, unsigned value);
struct boolean boolean_xor(struct cs *cs, struct boolean a, struct boolean b);
struct boolean boolean_and(struct cs *cs, struct boolean a, struct boolean b);
/* a ? b : c, and the majority of three. */
struct boolean boolean_choose(struct cs *cs, struct boolean a, struct boolean b, struct boolean c);
struct boolean boolean_majority(struct cs *cs, struct boolean a, struct boolean b,
                                struct boolean c);

/* lc += 2^power a. Nothing when no rows are wanted. */
void boolean_add(const struct cs *cs, struct cs_lc *lc, struct boolean a, unsigned power);

/* The number whose bits these are, the first the lowest; at most 255, below r if rows hold. */
fr boolean_number(const struct boolean *bits, unsigned count);
/* A new variable x: row sum 2^i bits[i] | 1 | x. At most 254 bits; none gives 0. */
cs_var boolean_pack(struct cs *cs, const struct boolean *bits, unsigned count);
/* The same with a new input. */
cs_var boolean_pack_input(struct cs *cs, const struct boolean *bits, unsigned count);
/* The 255 bits of a variable, low first, by 255 rows and 0 | 0 | sum - var. */
void boolean_bits_le(struct cs *cs, cs_var var, struct boolean ret[FR_BITS]);
/* The low bits by row sum | 1 | var; count at most 255. */
void boolean_bits_sum(struct cs *cs, cs_var var, struct boolean *ret, unsigned count);
