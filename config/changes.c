/* Two configurations compared: see changes.h. */
#include "config/changes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/parse.h"
#include "config/print.h"
#include "config/units.h"

/* What takes effect in a running daemon. What is not here needs its restart. */
static const struct {
    const char *section, *key;
    enum config_effect effect;
} effects[] = {
    {"Supervisor", "LogLevel", CONFIG_EFFECT_NOW},
    {"Supervisor", "AttemptsMax", CONFIG_EFFECT_NOW},
    {"Supervisor", "StopTimeout", CONFIG_EFFECT_NOW},
    {"Supervisor", "StallTimeout", CONFIG_EFFECT_NOW},
    {"Supervisor", "ResultsMax", CONFIG_EFFECT_NOW},
    {"Supervisor", "ResultsAge", CONFIG_EFFECT_NOW},
    {"Supervisor", "ResultsSize", CONFIG_EFFECT_NOW},
    {"Supervisor", "UserJobsMax", CONFIG_EFFECT_NOW},
    {"Supervisor", "UserBytesMax", CONFIG_EFFECT_NOW},
    {"Supervisor", "SpoolSize", CONFIG_EFFECT_NOW},
    {"Supervisor", "IntakeTimeout", CONFIG_EFFECT_NOW},
    {"Ring", "HugePages", CONFIG_EFFECT_NOW}, /* for slabs and keys that are made from now on */
    {"Ring", "Slabs", CONFIG_EFFECT_NOW},
    {"Ring", "SlabSize", CONFIG_EFFECT_NOW},
    {"Synthesis", "Workers", CONFIG_EFFECT_NOW},
    {"Synthesis", "RecycleAfter", CONFIG_EFFECT_NOW},
    {"Synthesis", "RecycleFragmentation", CONFIG_EFFECT_NOW},
    {"Synthesis", "Threads", CONFIG_EFFECT_SYNTH},
    {"Synthesis", "MallocTrim", CONFIG_EFFECT_SYNTH},
    {"GPU", "RecycleAfter", CONFIG_EFFECT_NOW},
    {"GPU", "RecycleFragmentation", CONFIG_EFFECT_NOW},
    {"GPU", "VramLimit", CONFIG_EFFECT_GPU},
    {"GPU", "RequirePinned", CONFIG_EFFECT_GPU},
    {"GPU", "Threads", CONFIG_EFFECT_GPU},
    {"GPU", "MallocTrim", CONFIG_EFFECT_GPU},
    {"Finalizer", "Workers", CONFIG_EFFECT_NOW},
    {"Finalizer", "RecycleAfter", CONFIG_EFFECT_NOW},
    {"Finalizer", "RecycleFragmentation", CONFIG_EFFECT_NOW},
    {"Finalizer", "MallocTrim", CONFIG_EFFECT_FINALIZER},
};

static const char *const effect_names[CONFIG_EFFECT_COUNT] = {
    [CONFIG_EFFECT_DAEMON] = "daemon",       [CONFIG_EFFECT_NOW] = "now",
    [CONFIG_EFFECT_SYNTH] = "synth",         [CONFIG_EFFECT_GPU] = "gpu",
    [CONFIG_EFFECT_FINALIZER] = "finalizer",
};

const char *config_effect_to_string(enum config_effect effect)
{
    return (unsigned)effect < CONFIG_EFFECT_COUNT ? effect_names[effect] : "?";
}

enum config_effect config_effect_of(const struct option *option)
{
    for (size_t i = 0; i < sizeof effects / sizeof effects[0]; i++) {
        if (strcmp(effects[i].section, option->section) == 0 &&
            strcmp(effects[i].key, option->key) == 0)
            return effects[i].effect;
    }
    return CONFIG_EFFECT_DAEMON;
}

static int add(struct config_changes *changes, const struct config_change *change)
{
    struct config_change *entries =
        realloc(changes->entries, (changes->count + 1) * sizeof entries[0]);
    if (!entries)
        return -ENOMEM;
    changes->entries = entries;
    entries[changes->count++] = *change;
    return 0;
}

static void key_of(char ret[CONFIG_CHANGE_KEY_BYTES], const char *section, const char *name,
                   const char *key)
{
    snprintf(ret, CONFIG_CHANGE_KEY_BYTES, "%s%s%s%s%s%s", section, name ? " \"" : "",
             name ? name : "", name ? "\"" : "", key ? "." : "", key ? key : "");
}

static const char *text_of(const struct option *option, struct config *config, uint32_t instance,
                           char buffer[UNITS_TEXT_BYTES])
{
    const char *text = print_value(option, parse_base(config, option->base, instance), buffer);
    return text ? text : "";
}

/* One option of one section; name: of a named one. */
static int compare(struct config_changes *changes, const struct option *option, const char *name,
                   struct config *before, uint32_t before_index, struct config *after,
                   uint32_t after_index)
{
    char old_text[UNITS_TEXT_BYTES], new_text[UNITS_TEXT_BYTES];
    const char *old_value = text_of(option, before, before_index, old_text);
    const char *new_value = text_of(option, after, after_index, new_text);
    struct config_change change = {.effect = config_effect_of(option)};
    if (strcmp(old_value, new_value) == 0)
        return 0;
    key_of(change.key, option->section, name, option->key);
    snprintf(change.before, sizeof change.before, "%s", old_value);
    snprintf(change.after, sizeof change.after, "%s", new_value);
    return add(changes, &change);
}

static uint32_t named_count(const struct config *config, enum option_base base)
{
    return base == OPTION_OF_RING ? config->ring_count : config->circuit_count;
}

static const char *name_of(const struct config *config, enum option_base base, uint32_t index)
{
    return base == OPTION_OF_RING ? config->rings[index].name : config->circuits[index].name;
}

/* named_count(): it is not there. */
static uint32_t find_named(const struct config *config, enum option_base base, const char *name)
{
    uint32_t index = 0;
    while (index < named_count(config, base) && strcmp(name_of(config, base, index), name) != 0)
        index++;
    return index;
}

/* "4 slabs of 256M" or the path of the key. */
static void describe(const struct config *config, enum option_base base, uint32_t index, char *ret)
{
    char size[UNITS_TEXT_BYTES];
    if (base == OPTION_OF_RING)
        snprintf(ret, CONFIG_CHANGE_VALUE_BYTES, "%u slabs of %s", config->rings[index].slab_count,
                 units_print_size(config->rings[index].slab_bytes, size));
    else
        snprintf(ret, CONFIG_CHANGE_VALUE_BYTES, "%s", config->circuits[index].zkey_path);
}

/* Sections of one kind that are in `there` and not in `missing`; is_new: `there` is the later. */
static int compare_presence(struct config_changes *changes, enum option_base base,
                            const char *section, const struct config *there,
                            const struct config *missing, bool is_new)
{
    int r = 0;
    for (uint32_t i = 0; i < named_count(there, base) && r == 0; i++) {
        const char *name = name_of(there, base, i);
        struct config_change change = {.effect = CONFIG_EFFECT_NOW};
        if (find_named(missing, base, name) < named_count(missing, base))
            continue;
        key_of(change.key, section, name, NULL);
        describe(there, base, i, is_new ? change.after : change.before);
        strcpy(is_new ? change.before : change.after, is_new ? "absent" : "removed");
        r = add(changes, &change);
    }
    return r;
}

static int compare_named(struct config_changes *changes, enum option_base base, const char *section,
                         struct config *before, struct config *after)
{
    int r = compare_presence(changes, base, section, before, after, false);
    if (r == 0)
        r = compare_presence(changes, base, section, after, before, true);
    for (uint32_t i = base == OPTION_OF_RING; i < named_count(after, base) && r == 0; i++) {
        const char *name = name_of(after, base, i);
        uint32_t old = find_named(before, base, name);
        if (old == named_count(before, base))
            continue;
        for (unsigned k = 0; k < option_count && r == 0; k++) {
            if (options[k].base == base && (options[k].scope & OPTION_NAMED))
                r = compare(changes, &options[k], name, before, old, after, i);
        }
    }
    return r;
}

int config_changes_find(const struct config *const_before, const struct config *const_after,
                        struct config_changes *ret)
{
    /* Only read; the shared look-ups give writable pointers. */
    struct config *before = (struct config *)const_before, *after = (struct config *)const_after;
    struct config_changes changes = {0};
    int r = 0;
    for (unsigned i = 0; i < option_count && r == 0; i++) {
        if (options[i].scope & OPTION_PLAIN)
            r = compare(&changes, &options[i], NULL, before, 0, after, 0);
    }
    if (r == 0)
        r = compare_named(&changes, OPTION_OF_RING, "Ring", before, after);
    if (r == 0)
        r = compare_named(&changes, OPTION_OF_CIRCUIT, "Circuit", before, after);
    if (r < 0) {
        config_changes_free(&changes);
        return r;
    }
    *ret = changes;
    return 0;
}

void config_changes_free(struct config_changes *changes)
{
    free(changes->entries);
    *changes = (struct config_changes){0};
}

static void swap(void *a, void *b, size_t bytes)
{
    unsigned char kept[sizeof(uint64_t)];
    memcpy(kept, a, bytes);
    memcpy(a, b, bytes);
    memcpy(b, kept, bytes);
}

static size_t value_bytes(const struct option *option)
{
    switch (option->type) {
    case OPTION_INTEGER:
    case OPTION_CHOICE:
    case OPTION_MODE:
        return sizeof(uint32_t);
    case OPTION_SIZE:
    case OPTION_TIME:
        return sizeof(uint64_t);
    case OPTION_PATH:
    case OPTION_GROUP:
    case OPTION_DEVICES:
        break;
    }
    return sizeof(char *);
}

static void swap_value(const struct option *option, struct config *running, uint32_t running_index,
                       struct config *next, uint32_t next_index)
{
    char *a = (char *)parse_base(running, option->base, running_index) + option->off;
    char *b = (char *)parse_base(next, option->base, next_index) + option->off;
    swap(a, b, value_bytes(option));
}

void config_changes_defer(struct config *running, struct config *next)
{
    for (unsigned i = 0; i < option_count; i++) {
        const struct option *option = &options[i];
        if (config_effect_of(option) != CONFIG_EFFECT_DAEMON)
            continue;
        if (option->base == OPTION_OF_CONFIG)
            swap_value(option, running, 0, next, 0);
        for (uint32_t k = 0; option->base == OPTION_OF_CIRCUIT && k < next->circuit_count; k++) {
            uint32_t old = find_named(running, option->base, next->circuits[k].name);
            if (old < running->circuit_count)
                swap_value(option, running, old, next, k);
        }
    }
    /* What derives from those alone. */
    next->gpu_devices = running->gpu_devices;
    next->device_evaluates = running->device_evaluates;
}
