/* What the death of a worker means for the partitions it held (the table in ARCHITECTURE,
 * "Recovery"). Called once the death is certain and before anything of the worker is taken apart.
 */
#pragma once

struct worker;

/* It was killed and does not die: the kernel holds it. Its partitions are taken from it and start
 * over in other slabs; those that it may still write stay bound until it is gone, and so do its
 * index and its device. What it says later is not read. */
void recovery_write_off(struct worker *worker);
/* status as waitpid gives it. */
void recovery_run(struct worker *worker, int status);
