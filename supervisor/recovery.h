/* What the death of a worker means for the partitions it held (the table in ARCHITECTURE,
 * "Recovery"). Called once the death is certain and before anything of the worker is taken apart.
 */
#pragma once

struct worker;

/* status as waitpid gives it. */
void recovery_run(struct worker *worker, int status);
