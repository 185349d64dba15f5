/* Small things that may block - closing a client's descriptor, removing a large file - done by
 * threads, so that the event loop does not wait for them. Errands are taken in order; with several
 * threads one that hangs holds up only itself. Signals are blocked in the threads. */
#pragma once

#include <stdbool.h>

struct errand {
    void (*run)(struct errand *errand); /* on a thread; frees the errand, if it was allocated */
    struct errand *next;
};

struct errands;

/* Threads are started as they are needed, up to threads_max (1 or more), and stay. 0, -ENOMEM. */
int errands_create(unsigned threads_max, struct errands **ret);
/* Never blocks, unless no thread can be started and there is none: then it runs here. */
void errands_push(struct errands *errands, struct errand *errand);
/* Nothing waits and nothing runs. Accepts NULL. */
bool errands_are_done(struct errands *errands);
/* Waits up to timeout_ms until at most waiting_max errands have not begun; whether that is so. */
bool errands_wait(struct errands *errands, unsigned waiting_max, unsigned timeout_ms);
/* Waits up to timeout_ms until all that was pushed has been done. Errands that still wait then are
 * not run, and what hangs is left to the end of the process. Whether nothing hangs: what errands
 * refer to may go. Accepts NULL. */
bool errands_free(struct errands *errands, unsigned timeout_ms);
