/* Digests for tests of circuits: of bytes, as text. */
#pragma once

#include <openssl/evp.h>

#include "tests/test.h"

struct digest_text {
    char text[65];
};

static inline struct digest_text digest_to_text(const uint8_t bytes[32])
{
    struct digest_text text;

    for (int i = 0; i < 32; i++)
        snprintf(text.text + 2 * i, 3, "%02x", bytes[i]);
    return text;
}

static inline struct digest_text digest_of(const void *data, size_t size)
{
    uint8_t bytes[32];

    ASSERT(EVP_Digest(data, size, bytes, NULL, EVP_sha256(), NULL));
    return digest_to_text(bytes);
}
