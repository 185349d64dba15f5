/* What workers say. Every completion is input: it must come from a worker in a state to say it,
 * name a slot and generation that this worker holds, answer what was granted, carry a payload of
 * the right size and be legal in the slot's state. Anything else ends the worker. */
#pragma once

struct worker;

/* Takes everything the worker's completion ring holds. */
void completions_drain(struct worker *worker);
