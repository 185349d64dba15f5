/* Whether the supervisor's records agree with each other and with what the kernel says of it: the
 * answer to `check`, asked by an operator who doubts and by every system test at its end. Nothing
 * is changed. Some of it must hold at any time between two turns of the loop, some only at idle;
 * what cannot be told now is said to be skipped. Reads /proc of this process and looks at every
 * process of the machine: some milliseconds, so not for a monitor that asks each second. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "protocol/reply.h"

struct supervisor;

enum check_item {
    CHECK_SLOTS,       /* the free ones and the states add up */
    CHECK_QUEUES,      /* each waiting slot is in the one queue of its state, in order */
    CHECK_SLABS,       /* the tables of the rings agree with the slots */
    CHECK_OWNERS,      /* whoever owns a slot lives and knows of it, and the reverse */
    CHECK_JOBS,        /* every partition of an active job is proved or has a slot */
    CHECK_CIRCUITS,    /* counts of slots, helpers and key memory */
    CHECK_COUNTERS,    /* 0 <= used <= limit, and equal to what is there */
    CHECK_PROCESSES,   /* every child is known, and nobody else holds what only ours have */
    CHECK_DESCRIPTORS, /* by kind: no more and no fewer than the records explain */
    CHECK_MEMORY,      /* slabs and keys have the size and the pages they are to have */
    CHECK_SPOOL,       /* no file that nobody wants, and bytes and files as counted */
    CHECK_JOURNAL,     /* what has ended there and what has not, as counted */
    CHECK_ITEM_COUNT,
};

/* Kinds of descriptors of this process. */
enum check_descriptor {
    CHECK_DESCRIPTOR_MEMFD,
    CHECK_DESCRIPTOR_SOCKET,
    CHECK_DESCRIPTOR_EVENTFD,
    CHECK_DESCRIPTOR_PIDFD,
    CHECK_DESCRIPTOR_PIPE,
    CHECK_DESCRIPTOR_FILE, /* and folders */
    CHECK_DESCRIPTOR_OTHER,
    CHECK_DESCRIPTOR_COUNT,
};

/* What was open soon after the service became ready, when no descriptor was coming or going, beyond
 * what the records explain: the standard streams, the loop, locks, listeners. */
struct check_baseline {
    bool is_there;
    int32_t unexplained[CHECK_DESCRIPTOR_COUNT];
};

enum check_outcome {
    CHECK_FINE,
    CHECK_BROKEN,
    CHECK_SKIPPED,
};

struct check_finding {
    enum check_outcome outcome;
    uint32_t faults;
    char text[320]; /* the first fault; without one, the figures */
};

struct check_report {
    bool is_fine, is_idle;
    struct check_finding findings[CHECK_ITEM_COUNT];
};

const char *check_item_to_string(enum check_item item);
const char *check_outcome_to_string(enum check_outcome outcome);

/* Each turn: takes the baseline, once. */
void check_tick(struct supervisor *supervisor);
void check_run(const struct supervisor *supervisor, struct check_report *ret);
/* The value of the reply. */
void check_write(struct reply *reply, const struct supervisor *supervisor);

/* ---- for the parts of it: check_records.c, check_system.c, check_journal.c ---- */

/* Counts a fault; the first one's text stays. */
void check_fault(struct check_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The figures, where there is no fault. */
void check_note(struct check_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void check_skip(struct check_finding *finding, const char *why);

void check_slots(const struct supervisor *supervisor, struct check_finding *finding);
void check_queues(const struct supervisor *supervisor, struct check_finding *finding);
void check_slabs(const struct supervisor *supervisor, struct check_finding *finding);
void check_owners(const struct supervisor *supervisor, struct check_finding *finding);
void check_jobs(const struct supervisor *supervisor, struct check_finding *finding);
void check_circuits(const struct supervisor *supervisor, struct check_finding *finding);
void check_counters(const struct supervisor *supervisor, struct check_finding *finding);

void check_processes(const struct supervisor *supervisor, struct check_finding *finding);
void check_descriptors(const struct supervisor *supervisor, struct check_finding *finding);
void check_memory(const struct supervisor *supervisor, struct check_finding *finding);
void check_journal(const struct supervisor *supervisor, struct check_finding *finding);
void check_spool(const struct supervisor *supervisor, struct check_finding *finding);
/* By kind, what is open and no record names; and how many are open in all. False when /proc cannot
 * be read. */
bool check_unexplained(const struct supervisor *supervisor,
                       int32_t ret[static CHECK_DESCRIPTOR_COUNT], uint32_t *ret_open_count);
