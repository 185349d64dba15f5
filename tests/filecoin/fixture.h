/* Vanilla proofs and public inputs of tests/fixtures/filecoin. */
#pragma once

#include "filecoin/circuit.h"
#include "tests/test.h"

struct fixture {
    uint8_t *data;
    size_t size;
    fr *public;
    uint32_t public_count;
};

static inline uint8_t *fixture_file(const char *name, const char *suffix, size_t *ret_size)
{
    char path[512];
    uint8_t *data = malloc(1 << 20);
    FILE *in;

    snprintf(path, sizeof path, "%s/filecoin/%s.%s", FIXTURES, name, suffix);
    in = fopen(path, "rb");
    ASSERT(in && data);
    *ret_size = fread(data, 1, 1 << 20, in);
    fclose(in);
    return data;
}

static inline struct fixture fixture_load(const char *name, const char *vanilla_suffix)
{
    struct fixture fixture;
    size_t size;
    uint8_t *bytes = fixture_file(name, "pub", &size);

    fixture.data = fixture_file(name, vanilla_suffix, &fixture.size);
    fixture.public_count = (uint32_t)(size / FR_BYTES);
    fixture.public = malloc(size);
    ASSERT(fixture.public);
    for (uint32_t i = 0; i < fixture.public_count; i++)
        ASSERT(fr_read(&fixture.public[i], bytes + (size_t)i * FR_BYTES));
    free(bytes);
    return fixture;
}

static inline void fixture_free(struct fixture *fixture)
{
    free(fixture->data);
    free(fixture->public);
}

/* A circuit by kind and sector; PoSt with other counts where they are not 0. */
static inline struct circuit fixture_circuit(const char *kind, const char *sector,
                                             unsigned sector_count, unsigned challenge_count)
{
    struct circuit circuit;

    ASSERT_INT(circuit_find(kind, sector, &circuit, NULL), 0);
    if (sector_count)
        circuit.post.sector_count = sector_count;
    if (challenge_count)
        circuit.post.challenge_count = challenge_count;
    return circuit;
}
