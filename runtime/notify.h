/* What the supervisor tells systemd (sd_notify). Without a NOTIFY_SOCKET every call does nothing.
 * Only the supervisor calls these, on one thread; children are started without the variable.
 *
 * None waits for a manager that does not read: what it must hear is kept in order and sent when it
 * reads again, of status texts the last one; signs of life are dropped. */
#pragma once

#include <stdint.h>

void notify_ready(const char *status); /* READY=1, MAINPID and the first status text */
void notify_status(const char *status);
void notify_stopping(const char *status);
void notify_watchdog(void); /* from the main loop only: it proves that the loop turns */
/* Start-up or stopping makes progress and needs up to this much longer. */
void notify_extend_timeout(uint64_t more_ns);
/* Period in which systemd wants notify_watchdog, 0 when it does not. Feed it at half of that. */
uint64_t notify_watchdog_ns(void);

/* Puts a copy of the descriptor into the manager's store under this name: the next process of the
 * service finds it among its inherited descriptors (activation.h). The manager is told not to watch
 * it. 0, -ENOTCONN without a manager, or negative errno. */
int notify_store(const char *name, int fd);
/* Takes every descriptor of this name out of the store. */
void notify_unstore(const char *name);

/* Sends what is owed, as far as the manager reads. Costs nothing when nothing is. */
void notify_flush(void);
/* Descriptors that are kept open for the manager's store. */
uint32_t notify_owed_descriptors(void);
/* At the end: waits so long at most for what is owed to be read, and drops the rest. */
void notify_finish(uint32_t wait_ms);
