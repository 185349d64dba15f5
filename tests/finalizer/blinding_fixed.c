/* Blinding for test builds: CUZK_TEST_BLINDING=R:S (hexadecimal numbers, most significant digit
 * first) fixes both scalars, so that a proof can be compared with one computed elsewhere. Without
 * the variable they are random as usual.
 *
 * CUZK_TEST_FORBIDDEN=1 stands in for a process that was broken into: it tries to run a program. */
#include "finalizer/blinding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/log.h"

static int blinding_parse(const char **text, const struct curve *curve, uint64_t ret[4])
{
    uint64_t value[4] = {0};
    unsigned digits = 0;
    for (; **text && **text != ':'; (*text)++, digits++) {
        const char *set = "0123456789abcdef", *found = strchr(set, **text | 0x20);
        if (!found || digits == 64)
            return -EINVAL;
        for (unsigned i = 3; i > 0; i--)
            value[i] = value[i] << 4 | value[i - 1] >> 60;
        value[0] = value[0] << 4 | (uint64_t)(found - set);
    }
    if (digits == 0 || !curve->scalar_is_reduced(value))
        return -EINVAL;
    memcpy(ret, value, sizeof value);
    return 0;
}

int blinding_draw(const struct curve *curve, uint64_t ret_r[4], uint64_t ret_s[4])
{
    const char *text = getenv("CUZK_TEST_BLINDING");
    int error;
    if (getenv("CUZK_TEST_FORBIDDEN"))
        execl("/bin/true", "true", NULL);
    if (!text) {
        error = blinding_uniform(curve, ret_r);
        return error < 0 ? error : blinding_uniform(curve, ret_s);
    }
    log_warn("test build: the blinding of this proof is fixed, it hides nothing");
    error = blinding_parse(&text, curve, ret_r);
    if (error == 0 && *text++ != ':')
        error = -EINVAL;
    if (error == 0)
        error = blinding_parse(&text, curve, ret_s);
    return error == 0 && *text ? -EINVAL : error;
}
