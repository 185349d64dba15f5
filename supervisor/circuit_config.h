/* Circuits named in the configuration: prepared at start unless the files are the same as last
 * time. */
#pragma once

#include <stdbool.h>

#include "config/config.h"

struct supervisor;

bool circuit_config_names(const struct config *config, const char *name);
/* After the state folder was read. 0, or negative errno when memory is short; a circuit whose files
 * cannot be opened is FAILED with the reason and the service goes on. */
int circuit_config_begin(struct supervisor *supervisor);
/* At run time: those that are new in the configuration. */
void circuit_config_add(struct supervisor *supervisor);
