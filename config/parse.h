/* One configuration file's text into a struct config. Pure but for memory; config.c brings files,
 * tests and the fuzzer bring text. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "config/options.h"

enum {
    PARSE_FILE_BYTES_MAX = 1 << 20,
};

/* All defaults, no file. -ENOMEM. */
int parse_defaults(struct config *ret);
/* Applies the text over what is there. `file` is for messages and origins. -EBADMSG, -ENOMEM with
 * a fault; the config is then good for config_destroy only. */
int parse_text(struct config *config, const char *file, const char *text, size_t bytes,
               struct config_fault *ret_fault);
/* The checks that need the whole configuration, and the values that derive from others. */
int parse_finish(struct config *config, struct config_fault *ret_fault);

/* The struct an option's offset counts from. */
void *parse_base(struct config *config, enum option_base base, uint32_t instance);
/* Formats the fault, unprintable bytes replaced, and returns `error`. */
int parse_fault(struct config_fault *fault, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
