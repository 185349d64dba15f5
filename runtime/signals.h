/* Signals as a descriptor for the event loop. Called once, on the main thread, before any other
 * thread exists: threads inherit the blocked mask. */
#pragma once

/* Blocks the signals and returns a non-blocking, close-on-exec signalfd, or negative errno. */
int signals_open(const int *signals, unsigned count);
/* The next signal's number, 0 when none waits, or negative errno. */
int signals_read(int fd);
