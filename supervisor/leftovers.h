/* What an earlier process of the service may have left, waited for at start, bounded: its lock on
 * the state folder, its workers, its hugepages. A worker that still ran could write into a slab
 * that is kept, and its device would be refused to the new one.
 *
 * Two files in the state folder tell: `lock` is held by the supervisor, `members` by the supervisor
 * and every worker (they inherit the descriptor, so it is held until the last of them is gone,
 * whatever killed them). */
#pragma once

#include <stdint.h>

struct supervisor;

enum {
    LEFTOVERS_LOCK_S_MAX = 5,     /* another daemon that does not go away is refused */
    LEFTOVERS_MEMBERS_S_MAX = 30, /* workers in a driver's call may take long to die */
    LEFTOVERS_PAGES_S_MAX = 10,
};

/* Takes both locks; logs what it waits for and what failed. -ECANCELED: we were asked to stop. */
int leftovers_lock(struct supervisor *supervisor);
/* Waits while hugepages are short that the pool has and somebody is giving back. */
void leftovers_wait_pages(const struct supervisor *supervisor, uint64_t bytes);
