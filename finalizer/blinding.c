/* Uniform scalars by rejection: candidates of exactly r's bit length, so at least every second one
 * is taken. */
#include "finalizer/blinding.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>

enum {
    /* Each try succeeds with probability above 1/2: 128 failures in a row mean a broken source. */
    BLINDING_TRIES_MAX = 128,
};

static int blinding_bytes(void *ret, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        const ssize_t count = getrandom((char *)ret + done, bytes - done, 0);
        if (count > 0)
            done += (size_t)count;
        else if (errno != EINTR)
            return -errno;
    }
    return 0;
}

int blinding_uniform(const struct curve *curve, uint64_t ret_scalar[4])
{
    const uint64_t top = curve->fr_modulus[3];
    const uint64_t mask = UINT64_MAX >> __builtin_clzll(top);
    uint64_t candidate[4];
    int error = -EIO;
    for (unsigned i = 0; i < BLINDING_TRIES_MAX; i++) {
        const int drawn = blinding_bytes(candidate, sizeof candidate);
        if (drawn < 0) {
            error = drawn;
            break;
        }
        candidate[3] &= mask;
        if (curve->scalar_is_reduced(candidate)) {
            memcpy(ret_scalar, candidate, sizeof candidate);
            error = 0;
            break;
        }
    }
    explicit_bzero(candidate, sizeof candidate);
    return error;
}
