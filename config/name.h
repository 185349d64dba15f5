/* Names of circuits and rings: [A-Za-z0-9._-], 1 to NAME_BYTES_MAX bytes. They become file names
 * with a suffix, so "." and ".." do no harm. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool name_is_valid(const char *name, size_t bytes);
