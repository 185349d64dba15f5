/* Closing descriptors that a client sent. close() waits for the file system - a FUSE server that
 * does not answer holds it for ever, a network file system for as long as the network is away - so
 * the supervisor has it done by threads: one that hangs costs a thread, not the event loop. The
 * descriptor's number is free as soon as the thread begins. Files that cannot hang are closed at
 * once.
 *
 * One object a process, made by the supervisor alone; where it was not made (clients, workers)
 * close_later closes at once. */
#pragma once

#include <stdbool.h>

int close_later_init(void); /* 0 or -ENOMEM */
void close_later_destroy(void);
/* Does nothing when fd is negative. errno is kept. */
void close_later(int fd);
/* Nothing is still to be closed. */
bool close_later_is_done(void);
