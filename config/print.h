/* One value of a configuration as text: for print.c's own output and for comparisons. */
#pragma once

#include "config/options.h"
#include "config/units.h"

/* base: what the option's offset counts from. NULL for a path that is not given. Points into the
 * buffer, the configuration or the table. */
const char *print_value(const struct option *option, const void *base,
                        char buffer[UNITS_TEXT_BYTES]);
