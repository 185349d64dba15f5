/* FIPS 180-4 over booleans. Sums are deferred: a round hands on the operands of a and e, and they
 * are added where the next round needs the words; the order of allocation follows from that. */
#include "filecoin/sha256_gadget.h"

#include "filecoin/piece.h"
#include "runtime/check.h"

struct word {
    struct boolean bit[32]; /* lowest first */
};

enum { OPERANDS_MAX = 8 };

/* Words whose sum is still to be made; of one it is that word. */
struct operands {
    struct word word[OPERANDS_MAX];
    unsigned count;
};

/* Equations of n-bit numbers put side by side until the field is full. */
struct multi_eq {
    struct cs *cs;
    unsigned used;
    struct cs_lc left, right;
};

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

static void multi_eq_init(struct multi_eq *eq, struct cs *cs)
{
    eq->cs = cs;
    eq->used = 0;
    cs_lc_init(&eq->left);
    cs_lc_init(&eq->right);
}

/* left | 1 | right */
static void multi_eq_flush(struct multi_eq *eq)
{
    static const struct cs_term one = {CS_ONE, CS_PLUS};
    struct cs_lc unit;

    if (eq->used == 0)
        return;
    if (cs_wants_rows(eq->cs)) {
        cs_lc_init(&unit);
        cs_lc_add(&unit, one.var, one.coefficient);
        cs_row_lc(eq->cs, &eq->left, &unit, &eq->right);
    } else {
        cs_skip_rows(eq->cs, 1);
    }
    multi_eq_init(eq, eq->cs);
}

static void word_constant(struct word *word, uint32_t value)
{
    for (unsigned i = 0; i < 32; i++)
        word->bit[i] = boolean_constant(value >> i);
}

/* The sum modulo 2^32. All bits of the full sum are allocated; its equation waits in eq. */
static void add_words(struct multi_eq *eq, const struct operands *operands, struct word *ret)
{
    struct cs *cs = eq->cs;
    const unsigned bits = 64 - (unsigned)__builtin_clzll(operands->count * UINT64_C(0xffffffff));
    bool is_constant = true;
    uint64_t total = 0;

    for (unsigned n = 0; n < operands->count; n++)
        for (unsigned i = 0; i < 32; i++) {
            total += (uint64_t)operands->word[n].bit[i].value << i;
            is_constant = is_constant && operands->word[n].bit[i].kind == BOOLEAN_CONSTANT;
        }
    if (is_constant) {
        word_constant(ret, (uint32_t)total);
        return;
    }
    /* The row of the equations before comes after the bits of this sum. */
    struct boolean sum[64];

    for (unsigned i = 0; i < bits; i++)
        sum[i] = boolean_alloc(cs, total >> i & 1);
    if (eq->used + bits >= FR_CAPACITY)
        multi_eq_flush(eq);
    for (unsigned n = 0; n < operands->count; n++)
        for (unsigned i = 0; i < 32; i++)
            boolean_add(cs, &eq->left, operands->word[n].bit[i], eq->used + i);
    for (unsigned i = 0; i < bits; i++)
        boolean_add(cs, &eq->right, sum[i], eq->used + i);
    eq->used += bits;
    memcpy(ret->bit, sum, sizeof ret->bit);
}

/* What deferred operands come to; a single word is itself. */
static void operands_settle(struct multi_eq *eq, const struct operands *operands, struct word *ret)
{
    if (operands->count == 1)
        *ret = operands->word[0];
    else
        add_words(eq, operands, ret);
}

static void operands_add(struct operands *operands, const struct word *word)
{
    CHECK(operands->count < OPERANDS_MAX);
    operands->word[operands->count++] = *word;
}

/* Rotations by r1 and r2, and rotation or shift by r3, xored from the left. */
static void sigma(struct cs *cs, const struct word *a, const unsigned r[3], bool is_shift,
                  struct word *ret)
{
    for (unsigned i = 0; i < 32; i++)
        ret->bit[i] = boolean_xor(cs, a->bit[(i + r[0]) % 32], a->bit[(i + r[1]) % 32]);
    for (unsigned i = 0; i < 32; i++)
        ret->bit[i] =
            boolean_xor(cs, ret->bit[i],
                        is_shift && i + r[2] >= 32 ? boolean_constant(0) : a->bit[(i + r[2]) % 32]);
}

static void expand(struct multi_eq *eq, const struct boolean block[512], struct word w[64])
{
    static const unsigned r0[] = {7, 18, 3}, r1[] = {17, 19, 10};

    for (unsigned i = 0; i < 16; i++)
        for (unsigned j = 0; j < 32; j++)
            w[i].bit[j] = block[32 * i + 31 - j];
    for (unsigned i = 16; i < 64; i++) {
        struct operands sum = {.count = 4};

        sum.word[0] = w[i - 16];
        sigma(eq->cs, &w[i - 15], r0, true, &sum.word[1]);
        sum.word[2] = w[i - 7];
        sigma(eq->cs, &w[i - 2], r1, true, &sum.word[3]);
        add_words(eq, &sum, &w[i]);
    }
}

/* Words b, c, d and f, g, h of the state are settled; a and e may still be sums. */
struct state {
    struct operands a, e;
    struct word b, c, d, f, g, h;
};

static void one_round(struct multi_eq *eq, struct state *s, uint32_t constant, const struct word *w)
{
    static const unsigned r0[] = {2, 13, 22}, r1[] = {6, 11, 25};
    struct cs *cs = eq->cs;
    struct operands t1 = {.count = 5}, next_a;
    struct word a, e;

    operands_settle(eq, &s->e, &e);
    t1.word[0] = s->h;
    sigma(cs, &e, r1, false, &t1.word[1]);
    for (unsigned i = 0; i < 32; i++)
        t1.word[2].bit[i] = boolean_choose(cs, e.bit[i], s->f.bit[i], s->g.bit[i]);
    word_constant(&t1.word[3], constant);
    t1.word[4] = *w;
    operands_settle(eq, &s->a, &a);
    next_a = t1;
    next_a.count = 7;
    sigma(cs, &a, r0, false, &next_a.word[5]);
    for (unsigned i = 0; i < 32; i++)
        next_a.word[6].bit[i] = boolean_majority(cs, a.bit[i], s->b.bit[i], s->c.bit[i]);
    s->h = s->g;
    s->g = s->f;
    s->f = e;
    s->e = t1;
    operands_add(&s->e, &s->d);
    s->d = s->c;
    s->c = s->b;
    s->b = a;
    s->a = next_a;
}

static void add_two(struct multi_eq *eq, struct word *to, const struct word *other)
{
    struct operands sum = {.count = 2};

    sum.word[0] = *to;
    sum.word[1] = *other;
    add_words(eq, &sum, to);
}

static void compress(struct cs *cs, const struct boolean block[512], struct word h[8])
{
    struct multi_eq eq;
    struct word w[64];
    struct state s = {.a = {.word = {h[0]}, .count = 1},
                      .e = {.word = {h[4]}, .count = 1},
                      .b = h[1],
                      .c = h[2],
                      .d = h[3],
                      .f = h[5],
                      .g = h[6],
                      .h = h[7]};

    multi_eq_init(&eq, cs);
    expand(&eq, block, w);
    for (unsigned i = 0; i < 64; i++)
        one_round(&eq, &s, round_constants[i], &w[i]);
    operands_add(&s.a, &h[0]);
    add_words(&eq, &s.a, &h[0]);
    add_two(&eq, &h[1], &s.b);
    add_two(&eq, &h[2], &s.c);
    add_two(&eq, &h[3], &s.d);
    operands_add(&s.e, &h[4]);
    add_words(&eq, &s.e, &h[4]);
    add_two(&eq, &h[5], &s.f);
    add_two(&eq, &h[6], &s.g);
    add_two(&eq, &h[7], &s.h);
    multi_eq_flush(&eq);
}

void sha256_gadget(struct cs *cs, const struct boolean *message, unsigned bit_count,
                   struct boolean ret[SHA256_BITS])
{
    const unsigned block_count = (bit_count + 1 + 64 + 511) / 512;
    struct word h[8];

    CHECK(bit_count <= SHA256_MESSAGE_BITS_MAX);
    for (unsigned i = 0; i < 8; i++)
        word_constant(&h[i], initial[i]);
    for (unsigned n = 0; n < block_count; n++) {
        struct boolean block[512];

        for (unsigned i = 0; i < 512; i++) {
            const unsigned at = 512 * n + i, from_end = 512 * block_count - 1 - at;

            if (at < bit_count)
                block[i] = message[at];
            else if (at == bit_count)
                block[i] = boolean_constant(1);
            else
                block[i] = boolean_constant(from_end < 32 ? bit_count >> from_end & 1 : 0);
        }
        compress(cs, block, h);
    }
    for (unsigned i = 0; i < 8; i++)
        for (unsigned j = 0; j < 32; j++)
            ret[32 * i + j] = h[i].bit[31 - j];
}

void sha256_flip(struct boolean *bits, unsigned count)
{
    CHECK(count % 8 == 0);
    for (unsigned i = 0; i < count; i += 8)
        for (unsigned j = 0; j < 4; j++) {
            const struct boolean swap = bits[i + j];

            bits[i + j] = bits[i + 7 - j];
            bits[i + 7 - j] = swap;
        }
}

static cs_var hash2_body(struct cs *cs, uint64_t kind, const cs_var *parameters)
{
    struct boolean message[2 * SHA256_BITS], digest[SHA256_BITS];

    (void)kind;
    for (unsigned n = 0; n < 2; n++) {
        struct boolean *bits = message + SHA256_BITS * n;

        boolean_bits_le(cs, parameters[n], bits);
        bits[FR_BITS] = boolean_constant(0);
        sha256_flip(bits, SHA256_BITS);
    }
    sha256_gadget(cs, message, 2 * SHA256_BITS, digest);
    sha256_flip(digest, SHA256_BITS);
    return boolean_pack(cs, digest, FR_CAPACITY);
}

cs_var sha256_hash2(struct cs *cs, cs_var left, cs_var right)
{
    return piece_place(cs, hash2_body, 0, (const cs_var[]){left, right}, 2);
}
