/* Witness files of made circuits. */
#include <string.h>

#include "bench/scalar.h"
#include "bench/synthetic_rows.h"
#include "groth16/key/image_writer.h"
#include "groth16/pool.h"

enum {
    WTNS_HEAD = 4 + 4 + 4 + (12 + 4 + CURVE_FR_BYTES + 4) + 12, /* before the values */
};

struct witness {
    const struct synthetic *synthetic;
    uint64_t seed;
    struct scalar public_value;
    uint32_t constraint_count;
    int fd, error; /* error: set by any thread */
};

/* splitmix64. */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform below r. */
static struct scalar random_scalar(const struct curve *curve, uint64_t *state)
{
    struct scalar r;

    do {
        for (int i = 0; i < 4; i++)
            r.l[i] = random_next(state);
        r.l[3] >>= __builtin_clzll(curve->fr_modulus[3]);
    } while (!curve->scalar_is_reduced(r.l));
    return r;
}

static void chain_values(const struct witness *witness, uint64_t state, uint32_t count,
                         struct scalar *ret)
{
    const struct curve *curve = witness->synthetic->curve;

    ret[0] = random_scalar(curve, &state);
    for (uint32_t i = 1; i < count; i++)
        ret[i] =
            scalar_mul(curve, ret[i - 1], scalar_add(curve, ret[i - 1], witness->public_value));
}

static void sha_values(uint64_t state, uint32_t count, struct scalar *ret)
{
    uint32_t word = 0;

    memset(ret, 0, count * sizeof ret[0]);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i % SYNTHETIC_SHA_WIRES;

        if (at == 0)
            word = (uint32_t)random_next(&state);
        if (at < SYNTHETIC_SHA_BITS)
            ret[i].l[0] = word >> at & 1;
        else if (at < SYNTHETIC_SHA_WIRES - 1)
            ret[i].l[0] = (word ^ word >> 1) >> (at - SYNTHETIC_SHA_BITS) & 1;
        else
            ret[i].l[0] = word;
    }
}

static void write_block(void *context, size_t block)
{
    struct witness *witness = context;
    uint32_t begin = (uint32_t)(block * SYNTHETIC_BLOCK);
    uint32_t count = synthetic_block_end(witness->constraint_count, block) - begin;
    uint64_t state = witness->seed ^ (block + 1) * 0xd1342543de82ef95u;
    struct scalar values[SYNTHETIC_BLOCK];
    uint64_t off = WTNS_HEAD + (SYNTHETIC_WIRE_FIRST + (uint64_t)begin) * sizeof values[0];
    struct reason reason;
    int error;

    if (witness->synthetic->kind == SYNTHETIC_CHAIN)
        chain_values(witness, state, count, values);
    else
        sha_values(state, count, values);
    error = image_writer_write_at(witness->fd, off, values, count * sizeof values[0], &reason);
    if (error)
        __atomic_store_n(&witness->error, error, __ATOMIC_RELAXED);
}

static uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t count)
{
    memcpy(at, bytes, count);
    return at + count;
}

static uint8_t *put_u32(uint8_t *at, uint32_t value)
{
    return put_bytes(at, &value, sizeof value);
}

static uint8_t *put_u64(uint8_t *at, uint64_t value)
{
    return put_bytes(at, &value, sizeof value);
}

int synthetic_write_witness(const struct synthetic *synthetic, uint64_t number, struct pool *pool,
                            int fd, struct reason *reason)
{
    struct witness witness = {
        .synthetic = synthetic,
        .seed = number,
        .constraint_count = synthetic_constraint_count(synthetic),
        .fd = fd,
    };
    const uint64_t one[4] = {1};
    uint32_t value_count = SYNTHETIC_WIRE_FIRST + witness.constraint_count;
    uint8_t head[WTNS_HEAD + 2 * CURVE_FR_BYTES], *at = head;

    witness.seed = random_next(&witness.seed);
    witness.public_value = random_scalar(synthetic->curve, &witness.seed);
    at = put_bytes(at, "wtns", 4);
    at = put_u32(put_u32(at, 2), 2);
    at = put_u64(put_u32(at, 1), 4 + CURVE_FR_BYTES + 4);
    at = put_u32(at, CURVE_FR_BYTES);
    at = put_bytes(at, synthetic->curve->fr_modulus, CURVE_FR_BYTES);
    at = put_u32(at, value_count);
    at = put_u64(put_u32(at, 2), (uint64_t)value_count * CURVE_FR_BYTES);
    at = put_bytes(at, one, sizeof one);
    put_bytes(at, witness.public_value.l, sizeof witness.public_value);
    witness.error = image_writer_write_at(fd, 0, head, sizeof head, reason);
    if (witness.error == 0)
        pool_run(pool, synthetic_block_count(witness.constraint_count), write_block, &witness);
    return witness.error ? reason_set(reason, witness.error, "writing a witness failed: %s",
                                      strerror(-witness.error))
                         : 0;
}
