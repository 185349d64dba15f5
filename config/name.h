/* Names of circuits and rings: [A-Za-z0-9._-], 1 to NAME_BYTES_MAX bytes. They become file names
 * with a suffix, so "." and ".." do no harm. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool name_is_valid(const char *name, size_t bytes);
/* What a client may call a job by: 1 to CLIENT_KEY_BYTES_MAX printable ASCII, no spaces. */
bool client_key_is_valid(const char *key, size_t bytes);
