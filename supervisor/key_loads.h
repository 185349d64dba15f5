/* What a GPU worker's answer to LOAD_KEY, or its death over one, means for the circuit: a key that
 * no GPU worker can take is blamed itself, so that its jobs fail with the reason and every other
 * circuit goes on. Called by completions.c and recovery.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct worker;

/* The worker holds the key (text: where on its device) or cannot take it (text: why). */
void key_loads_answered(struct worker *worker, uint32_t key, bool is_loaded, const char *text);
/* The worker is dead, not by our wish; what it was loading is still on record. */
void key_loads_worker_died(struct worker *worker, const char *how);
