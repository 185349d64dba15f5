/* The one table of run-time options. The parser, --check-config, the annotated sample and the man
 * page are all made from it; a new option is one row here and one field in struct config. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum option_type {
    OPTION_PATH,    /* char *; min and max bound its length in bytes; absolute */
    OPTION_SIZE,    /* uint64_t bytes */
    OPTION_TIME,    /* uint64_t ns */
    OPTION_INTEGER, /* uint32_t */
    OPTION_CHOICE,  /* a 4-byte enum */
    OPTION_DEVICES, /* char *; config/devices.h */
    OPTION_MODE,    /* uint32_t, in octal: of a file */
    OPTION_GROUP,   /* char *; the name or number of a group of users, not looked up; "" is none */
};

/* Where a section may stand: [Ring], [Ring "name"]. */
enum option_scope {
    OPTION_PLAIN = 1,
    OPTION_NAMED = 2,
};

/* What `off` counts from. */
enum option_base {
    OPTION_OF_CONFIG,
    OPTION_OF_RING,    /* struct config_ring of the section */
    OPTION_OF_CIRCUIT, /* struct config_circuit of the section */
};

struct option_choice {
    const char *name;
    uint64_t value;
};

struct option {
    const char *section, *key;
    unsigned scope; /* of enum option_scope */
    enum option_type type;
    enum option_base base;
    size_t off;
    const char *default_text; /* "": none, the key may be left out; NULL: the key is required */
    uint64_t min, max;
    const struct option_choice *choices; /* ends with a NULL name; also for sizes of a fixed set */
    const char *help;
};

struct option_section {
    const char *name;
    unsigned scope;
    const char *help;
};

extern const struct option options[];
extern const unsigned option_count;
extern const struct option_section option_sections[];
extern const unsigned option_section_count;

/* NULL when there is none. */
/* A key that an earlier version had. The table ends with a NULL section; tests set their own. */
struct option_removal {
    const char *section, *key;
    const char *instead; /* one sentence: what to do now */
};
extern const struct option_removal *option_removals;

const struct option_section *option_section_find(const char *name);
const struct option *option_find(const char *section, unsigned scope, const char *key);

/* "1 to 64", "1M to 1T", "require, prefer or off", "an absolute path of at most 107 bytes". */
const char *option_range(const struct option *option, char *ret, size_t bytes);
