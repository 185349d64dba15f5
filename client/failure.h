/* Errors of the library in words. */
#pragma once

#include "client/libcuzk.h"

/* Fills *error, unless NULL, and returns `code`. */
int failure(struct cuzk_error *error, enum cuzk_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
