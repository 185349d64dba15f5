/* CHECK states a programming error only and stays on in release. Bytes from another process, a
 * file or a socket are input: they are validated and refused, never checked here. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#define CHECK(c)                                                                                   \
    do {                                                                                           \
        if (__builtin_expect(!(c), 0)) {                                                           \
            fprintf(stderr, "%s:%d: internal error: %s does not hold\n", __FILE__, __LINE__, #c);  \
            abort();                                                                               \
        }                                                                                          \
    } while (0)
