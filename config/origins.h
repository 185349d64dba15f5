/* Where each value of a configuration was set. Filled by the parser, read by the checks and by
 * --check-config. */
#pragma once

#include <stdint.h>

#include "config/options.h"

struct config_origin {
    const struct option *option; /* NULL: the header of a named section */
    unsigned base;               /* enum option_base: tells rings from circuits */
    uint32_t instance;           /* index of the ring or circuit, else 0 */
    uint32_t file;               /* index into files */
    uint32_t line;
};

struct config_origins {
    char **files;
    uint32_t file_count;
    struct config_origin *entries;
    uint32_t entry_count, entry_capacity;
};

/* -ENOMEM. The name is copied; its index is file_count - 1. */
int config_origins_add_file(struct config_origins *origins, const char *name);
int config_origins_add(struct config_origins *origins, const struct config_origin *entry);
/* NULL: default. The entry may be changed in place until the next add. */
struct config_origin *config_origins_find(struct config_origins *origins,
                                          const struct option *option, unsigned base,
                                          uint32_t instance);
void config_origins_free(struct config_origins *origins);
