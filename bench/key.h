/* A key with known toxic waste and the three files that it can be written to. For make_key. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/constraints.h"
#include "bench/key_points.h"
#include "bench/setup.h"

#define KEY_UNSAFE_TEXT "UNSAFE: made from a known seed, anyone can forge proofs; tests only"

struct key {
    const struct constraints *constraints;
    const struct setup *setup;
    const struct key_points_maker *maker;
    void *maker_state;
    struct pool *pool;
    bool leaves_out_c; /* of a prepared key; its coefficients stay in the dictionary */
};

/* scalars[i] * generator, with a line on stderr of what took how long. */
int key_multiply(const struct key *key, const char *what, bool is_g2, const struct scalar *scalars,
                 size_t count, void *ret_points, struct reason *reason);

/* snarkjs's .zkey. A file that could not be written whole is removed, here and below. */
int key_zkey_write(const struct key *key, const char *path, struct reason *reason);
/* A prepared key (groth16/key/prepared.h): the bytes that prepared_write makes of that .zkey and
 * the .r1cs. */
int key_image_write(const struct key *key, const char *path, struct reason *reason);
/* The verification key in JSON, marked unsafe. */
int key_vkey_write(const struct key *key, const char *path, struct reason *reason);
