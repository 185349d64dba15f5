/* Gates on booleans; each has its rows beside it. */
#include "filecoin/boolean.h"

#include "runtime/check.h"

struct boolean boolean_alloc(struct cs *cs, unsigned value)
{
    const cs_var v = cs_alloc_word(cs, value);

    if (cs_wants_rows(cs))
        cs_row(cs, CS_TERMS({CS_ONE, CS_PLUS}, {v, CS_MINUS}), CS_TERMS({v, CS_PLUS}), CS_NONE);
    else
        cs_skip_rows(cs, 1);
    return (struct boolean){BOOLEAN_IS, (uint8_t)value, v};
}

/* a b | r of plain variables: row 2a | b | a + b - r. */
static struct boolean xor_variables(struct cs *cs, struct boolean a, struct boolean b)
{
    const unsigned value = (a.value ^ b.value) & 1;
    const cs_var r = cs_alloc_word(cs, value);

    if (cs_wants_rows(cs))
        cs_row(cs, CS_TERMS({a.var, CS_POWER(1)}), CS_TERMS({b.var, CS_PLUS}),
               CS_TERMS({a.var, CS_PLUS}, {b.var, CS_PLUS}, {r, CS_MINUS}));
    else
        cs_skip_rows(cs, 1);
    return (struct boolean){BOOLEAN_IS, (uint8_t)value, r};
}

struct boolean boolean_xor(struct cs *cs, struct boolean a, struct boolean b)
{
    if (boolean_is(a, 0))
        return b;
    if (boolean_is(b, 0))
        return a;
    if (boolean_is(a, 1))
        return boolean_not(b);
    if (boolean_is(b, 1))
        return boolean_not(a);
    if (a.kind == b.kind) { /* two negations cancel out */
        const uint8_t flip = a.kind == BOOLEAN_NOT;

        a.value ^= flip;
        b.value ^= flip;
        return xor_variables(cs, a, b);
    }
    if (a.kind == BOOLEAN_NOT)
        return boolean_not(xor_variables(cs, b, boolean_not(a)));
    return boolean_not(xor_variables(cs, a, boolean_not(b)));
}

/* The variable or its complement as a factor. */
static unsigned factor(struct boolean a, struct cs_term ret[2])
{
    if (a.kind == BOOLEAN_IS) {
        ret[0] = (struct cs_term){a.var, CS_PLUS};
        return 1;
    }
    ret[0] = (struct cs_term){CS_ONE, CS_PLUS};
    ret[1] = (struct cs_term){a.var, CS_MINUS};
    return 2;
}

/* Row a | b | r; of one variable and one negated, the variable comes first. */
struct boolean boolean_and(struct cs *cs, struct boolean a, struct boolean b)
{
    const unsigned value = a.value & b.value;
    cs_var r;

    if (boolean_is(a, 0) || boolean_is(b, 0))
        return boolean_constant(0);
    if (boolean_is(a, 1))
        return b;
    if (boolean_is(b, 1))
        return a;
    if (a.kind == BOOLEAN_NOT && b.kind == BOOLEAN_IS) {
        const struct boolean swap = a;

        a = b;
        b = swap;
    }
    r = cs_alloc_word(cs, value);
    if (cs_wants_rows(cs)) {
        struct cs_term left[2], right[2];
        const unsigned left_count = factor(a, left), right_count = factor(b, right);

        cs_row(cs, left, left_count, right, right_count, CS_TERMS({r, CS_PLUS}));
    } else {
        cs_skip_rows(cs, 1);
    }
    return (struct boolean){BOOLEAN_IS, (uint8_t)value, r};
}

/* terms += sign a, for the short rows below. */
static void add(struct cs_term *terms, unsigned *count, struct boolean a, bool is_negative)
{
    const uint32_t plus = is_negative ? CS_MINUS : CS_PLUS;

    if (a.kind == BOOLEAN_CONSTANT) {
        if (a.value)
            terms[(*count)++] = (struct cs_term){CS_ONE, plus};
    } else if (a.kind == BOOLEAN_IS) {
        terms[(*count)++] = (struct cs_term){a.var, plus};
    } else {
        terms[(*count)++] = (struct cs_term){CS_ONE, plus};
        terms[(*count)++] = (struct cs_term){a.var, plus ^ 1};
    }
}

/* Row b - c | a | r - c. */
struct boolean boolean_choose(struct cs *cs, struct boolean a, struct boolean b, struct boolean c)
{
    const unsigned value = a.value ? b.value : c.value;
    cs_var r;

    if (a.kind == BOOLEAN_CONSTANT && b.kind == BOOLEAN_CONSTANT && c.kind == BOOLEAN_CONSTANT)
        return boolean_constant(value);
    if (boolean_is(a, 0))
        return c;
    if (boolean_is(b, 0))
        return boolean_and(cs, boolean_not(a), c);
    if (boolean_is(c, 0))
        return boolean_and(cs, a, b);
    if (boolean_is(c, 1))
        return boolean_not(boolean_and(cs, a, boolean_not(b)));
    if (boolean_is(b, 1))
        return boolean_not(boolean_and(cs, boolean_not(a), boolean_not(c)));
    r = cs_alloc_word(cs, value);
    if (cs_wants_rows(cs)) {
        struct cs_term left[4], right[2], out[3] = {{r, CS_PLUS}};
        unsigned left_count = 0, right_count = 0, out_count = 1;

        add(left, &left_count, b, false);
        add(left, &left_count, c, true);
        add(right, &right_count, a, false);
        add(out, &out_count, c, true);
        cs_row(cs, left, left_count, right, right_count, out, out_count);
    } else {
        cs_skip_rows(cs, 1);
    }
    return (struct boolean){BOOLEAN_IS, (uint8_t)value, r};
}

/* bc = b and c, then row 2 bc - b - c | a | bc - r. */
struct boolean boolean_majority(struct cs *cs, struct boolean a, struct boolean b, struct boolean c)
{
    const unsigned value = (a.value & b.value) | (a.value & c.value) | (b.value & c.value);
    struct boolean bc;
    cs_var r;

    if (a.kind == BOOLEAN_CONSTANT && b.kind == BOOLEAN_CONSTANT && c.kind == BOOLEAN_CONSTANT)
        return boolean_constant(value);
    if (boolean_is(a, 0))
        return boolean_and(cs, b, c);
    if (boolean_is(b, 0))
        return boolean_and(cs, a, c);
    if (boolean_is(c, 0))
        return boolean_and(cs, a, b);
    if (boolean_is(c, 1))
        return boolean_not(boolean_and(cs, boolean_not(a), boolean_not(b)));
    if (boolean_is(b, 1))
        return boolean_not(boolean_and(cs, boolean_not(a), boolean_not(c)));
    if (boolean_is(a, 1))
        return boolean_not(boolean_and(cs, boolean_not(b), boolean_not(c)));
    r = cs_alloc_word(cs, value);
    bc = boolean_and(cs, b, c);
    if (cs_wants_rows(cs)) {
        struct cs_term left[8], right[2], out[3] = {{r, CS_MINUS}};
        unsigned left_count = 0, right_count = 0, out_count = 1;

        add(left, &left_count, bc, false);
        add(left, &left_count, bc, false);
        add(left, &left_count, b, true);
        add(left, &left_count, c, true);
        add(right, &right_count, a, false);
        add(out, &out_count, bc, false);
        cs_row(cs, left, left_count, right, right_count, out, out_count);
    } else {
        cs_skip_rows(cs, 1);
    }
    return (struct boolean){BOOLEAN_IS, (uint8_t)value, r};
}

void boolean_add(const struct cs *cs, struct cs_lc *lc, struct boolean a, unsigned power)
{
    fr one = fr_word(0);

    if (!cs_wants_rows(cs))
        return;
    CHECK(power < CS_POWERS);
    if (a.kind == BOOLEAN_NOT || boolean_is(a, 1)) {
        fr_set_bit(&one, power);
        bls12_381_fr_add(&lc->one, &lc->one, &one);
    }
    if (a.kind != BOOLEAN_CONSTANT)
        cs_lc_add(lc, a.var, a.kind == BOOLEAN_IS ? CS_POWER(power) : CS_NEG_POWER(power));
}

fr boolean_number(const struct boolean *bits, unsigned count)
{
    fr number = fr_word(0);

    for (unsigned i = 0; i < count; i++)
        if (bits[i].value)
            fr_set_bit(&number, i);
    return number;
}

/* sum 2^i bits[i] | 1 | var. */
static void sum_row(struct cs *cs, const struct boolean *bits, unsigned count, cs_var var)
{
    struct cs_lc lc;

    if (!cs_wants_rows(cs)) {
        cs_skip_rows(cs, 1);
        return;
    }
    cs_lc_init(&lc);
    for (unsigned i = 0; i < count; i++)
        boolean_add(cs, &lc, bits[i], i);
    cs_row_sum(cs, &lc, var);
}

cs_var boolean_pack(struct cs *cs, const struct boolean *bits, unsigned count)
{
    const fr number = boolean_number(bits, count);
    const cs_var x = cs_alloc(cs, &number);

    CHECK(count <= FR_CAPACITY);
    sum_row(cs, bits, count, x);
    return x;
}

cs_var boolean_pack_input(struct cs *cs, const struct boolean *bits, unsigned count)
{
    const fr number = boolean_number(bits, count);
    const cs_var x = cs_alloc_input(cs, &number);

    CHECK(count <= FR_CAPACITY);
    sum_row(cs, bits, count, x);
    return x;
}

static void alloc_bits(struct cs *cs, cs_var var, struct boolean *ret, unsigned count)
{
    /* A copy: the array of values may not move, but the compiler cannot know. */
    const fr value = cs_has_values(cs) ? *cs_value(cs, var) : fr_word(0);

    for (unsigned i = 0; i < count; i++)
        ret[i] = boolean_alloc(cs, fr_bit(&value, i));
}

void boolean_bits_le(struct cs *cs, cs_var var, struct boolean ret[FR_BITS])
{
    struct cs_lc lc;

    alloc_bits(cs, var, ret, FR_BITS);
    if (!cs_wants_rows(cs)) {
        cs_skip_rows(cs, 1);
        return;
    }
    cs_lc_init(&lc);
    for (unsigned i = 0; i < FR_BITS; i++)
        boolean_add(cs, &lc, ret[i], i);
    cs_lc_add(&lc, var, CS_MINUS);
    cs_row_lc(cs, NULL, NULL, &lc);
}

void boolean_bits_sum(struct cs *cs, cs_var var, struct boolean *ret, unsigned count)
{
    alloc_bits(cs, var, ret, count);
    sum_row(cs, ret, count, var);
}
