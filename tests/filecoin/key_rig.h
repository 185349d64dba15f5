/* Golden circuits with key, witness and proof, for tests of Filecoin's keys. */
#pragma once

#include "bench/row_stream.h"
#include "filecoin/params.h"
#include "groth16/pool.h"
#include "tests/groth16/key_fixture.h"

/* tests/fixtures/filecoin/NAME. */
struct bytes golden_read(const char *name);
/* The plain values of a .wit: u32 inputs, u32 others, a class byte a value (0, 1, 2: explicit),
 * then the explicit values. */
uint64_t *golden_witness(const char *name, uint32_t *ret_inputs, uint32_t *ret_aux);

/* A circuit's rows and witness. */
struct golden {
    const char *name;
    struct bytes rows;
    struct constraints constraints;
    uint64_t *witness;
    uint32_t inputs, aux;
};

void golden_open(struct golden *golden, const char *name);
void golden_close(struct golden *golden);

/* A prepared key in memory. */
struct image {
    int fd;
    void *memory;
    size_t bytes;
    struct prepared prepared;
};

int image_prepare(const struct constraints *constraints, const struct params *params, bool has_c,
                  struct pool *pool, struct image *ret, struct reason *reason);
void image_close(struct image *image);

/* The params that the secrets of the golden keys give, in a file that is gone when it is closed. */
FILE *params_make(const struct constraints *constraints, struct pool *pool);
/* SHA-256 of all bytes of a file, in hexadecimal. */
void file_digest(FILE *file, char ret[65]);

/* The proof of a witness with the golden r and s, as the CPU backend and the finalizer make it, in
 * the chain's encoding and in that of curve.h. */
void golden_prove(const uint64_t *witness, const struct prepared *key, struct pool *pool,
                  uint8_t ret_bytes[192], uint64_t *ret_proof);
