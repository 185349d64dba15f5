/* The value of [GPU] Devices=: "auto", or the UUIDs of cards separated by spaces, as `nvidia-smi
 * -L` shows them. Pure. */
#pragma once

#include <stdint.h>

#include "config/limits.h"

enum {
    DEVICE_UUID_BYTES =
        64, /* with the NUL; a card's UUID has 40 characters, a MIG slice's up to 60 */
};

struct devices {
    uint32_t count; /* 0: auto, the first card that can be used */
    char uuids[GPU_WORKERS_MAX][DEVICE_UUID_BYTES];
};

/* -EINVAL: a word is no UUID (or nothing is there); -EEXIST: one stands twice; -E2BIG: more than
 * GPU_WORKERS_MAX. */
int devices_parse(const char *text, struct devices *ret);
