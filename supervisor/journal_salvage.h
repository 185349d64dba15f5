/* A database that is damaged makes way for a new one with all of it that can be read. Called by
 * journal.c; the database is not open meanwhile. Blocking.
 *
 * The new one is written beside the old, as journal.db.salvage; once it is whole and on disk it is
 * named journal.db.salvaged, the old one is renamed, and it takes its place. A crash, or a full
 * disk, at any point before that name leaves the old one where it is, to be read again; after it,
 * journal_salvage_settle goes on where it ended. */
#pragma once

#include <stdint.h>

#include "config/limits.h"

struct journal_salvage {
    char aside[PATH_BYTES_MAX]; /* what the damaged one is called now */
    uint32_t taken, lost;       /* jobs taken over; of those and others, with parts unreadable */
    int reading;                /* 0, or the errno with which reading it ended */
};

/* Ahead of every opening of the database: what a crash left. 0 or negative errno. */
int journal_salvage_settle(const char *path);
/* 0, or negative errno: then the damaged one is still in its place. -ENOSPC: when there is space,
 * try again. */
int journal_salvage_run(const char *path, struct journal_salvage *ret);
