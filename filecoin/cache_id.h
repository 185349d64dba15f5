/* The names that Filecoin's keys go by: a hash of a text that describes the circuit's public
 * parameters, not of the circuit. Called when a key is registered. */
#pragma once

#include "filecoin/circuit.h"

enum {
    CACHE_ID_TEXT_BYTES_MAX = 384, /* the description, with its NUL */
    CACHE_ID_BYTES_MAX = 192,      /* "v28-...-82a357d2...": a file name without its suffix */
};

/* The description that is hashed. */
void cache_id_text(const struct circuit *circuit, char ret[CACHE_ID_TEXT_BYTES_MAX]);
/* "v28-PREFIX-SHA256": the file is this and ".params" or ".vk". -EIO when the library of SHA-256
 * fails. */
int cache_id_make(const struct circuit *circuit, char ret[CACHE_ID_BYTES_MAX]);
