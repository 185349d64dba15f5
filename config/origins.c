/* Growing lists, searched from one end to the other: a configuration has dozens of values. */
#include "config/origins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int config_origins_add_file(struct config_origins *origins, const char *name)
{
    char **files = realloc(origins->files, (origins->file_count + 1) * sizeof *files);

    if (!files)
        return -ENOMEM;
    origins->files = files;
    files[origins->file_count] = strdup(name);
    if (!files[origins->file_count])
        return -ENOMEM;
    origins->file_count++;
    return 0;
}

int config_origins_add(struct config_origins *origins, const struct config_origin *entry)
{
    if (origins->entry_count == origins->entry_capacity) {
        uint32_t capacity = origins->entry_capacity ? 2 * origins->entry_capacity : 64;
        struct config_origin *entries = realloc(origins->entries, capacity * sizeof *entries);
        if (!entries)
            return -ENOMEM;
        origins->entries = entries;
        origins->entry_capacity = capacity;
    }
    origins->entries[origins->entry_count++] = *entry;
    return 0;
}

struct config_origin *config_origins_find(struct config_origins *origins,
                                          const struct option *option, unsigned base,
                                          uint32_t instance)
{
    for (uint32_t i = 0; i < origins->entry_count; i++) {
        struct config_origin *entry = &origins->entries[i];
        if (entry->option == option && entry->base == base && entry->instance == instance)
            return entry;
    }
    return NULL;
}

void config_origins_free(struct config_origins *origins)
{
    if (!origins)
        return;
    for (uint32_t i = 0; i < origins->file_count; i++)
        free(origins->files[i]);
    free(origins->files);
    free(origins->entries);
    free(origins);
}
