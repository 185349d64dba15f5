/* What differs between two configurations, and what it takes for each difference to act: a pure
 * comparison over the option table, for the reload. Upstream: supervisor/reload.c. */
#pragma once

#include <stdint.h>

#include "config/config.h"
#include "config/options.h"

enum config_effect {
    CONFIG_EFFECT_DAEMON, /* the daemon must be restarted. Keys without a row in changes.c */
    CONFIG_EFFECT_NOW,
    CONFIG_EFFECT_SYNTH, /* its workers are replaced one by one, each when it holds nothing */
    CONFIG_EFFECT_GPU,
    CONFIG_EFFECT_FINALIZER,
    CONFIG_EFFECT_COUNT,
};

enum {
    CONFIG_CHANGE_KEY_BYTES = NAME_BYTES_MAX + 64,
    CONFIG_CHANGE_VALUE_BYTES = 256,
};

struct config_change {
    char key[CONFIG_CHANGE_KEY_BYTES]; /* "Ring.Slabs", "Ring \"large\".Slabs", "Circuit \"c\"" */
    /* As the file would have it, cut where it is longer; "absent" where a named section is new,
     * "removed" where it is gone. */
    char before[CONFIG_CHANGE_VALUE_BYTES], after[CONFIG_CHANGE_VALUE_BYTES];
    enum config_effect effect;
};

struct config_changes {
    struct config_change *entries;
    uint32_t count;
};

const char *config_effect_to_string(enum config_effect effect); /* "now", "synth", "daemon", ... */
enum config_effect config_effect_of(const struct option *option);

/* In the order of the table; named sections by their name, wherever they stand. -ENOMEM. */
int config_changes_find(const struct config *before, const struct config *after,
                        struct config_changes *ret);
void config_changes_free(struct config_changes *changes);
/* What needs the daemon restarted is swapped between the two, so that `next` can be taken into use
 * in a running daemon, and `running` destroyed. */
void config_changes_defer(struct config *running, struct config *next);
