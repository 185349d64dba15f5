/* What a program owes as process 1 of a container: it reaps whoever is orphaned to it, and signals
 * that it does not handle would be lost. So it stays process 1, does only that, and the program goes
 * on as its child. Called by cuzkd before anything else is made. */
#pragma once

/* Unless this is process 1: -1 at once. As process 1 it returns -1 in a child, which goes on, and in
 * process 1 itself the exit status of that child (128 and the signal that killed it), once it has
 * ended; signals are passed on meanwhile. LISTEN_PID and WATCHDOG_PID, where they name process 1, name
 * the child then. */
int init_serve(void);
