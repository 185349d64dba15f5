/* What a partition has used up, kept where the death of the supervisor does not reach it: one
 * record a slot in STATE/attempts, written before each grant and when a worker lets go of it, and
 * not awaited to disk. After a restart a partition that was in a worker's hands when everything
 * ended is a suspect like any that was lost with its worker: it runs alone first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slot;

enum {
    ATTEMPTS_FAULT_BYTES = 84,
};

struct attempts_record {
    uint64_t job;
    uint32_t partition;
    uint16_t attempts;
    uint8_t granted;      /* enum operation; OPERATION_NONE: in nobody's hands */
    uint8_t suspected_in; /* enum operation; OPERATION_NONE: no suspect */
    char last_fault[ATTEMPTS_FAULT_BYTES];
    uint32_t pad;
    uint64_t check;
};

struct attempts {
    int fd;                      /* -1: not kept */
    struct attempts_record *old; /* what the last life left, by slot; until attempts_forget_old */
    size_t old_count;
    bool has_failed; /* told once */
};

/* Reads what is there and opens it for writing. A failure is logged and costs only the memory of
 * attempts. */
void attempts_open(struct attempts *attempts, const char *state_directory);
void attempts_close(struct attempts *attempts);
/* granted: an enum operation, OPERATION_NONE when a worker let go of it. */
void attempts_write(struct attempts *attempts, const struct slot *slot, int granted);
/* Gives a slot of an earlier life what it had used up. */
void attempts_restore(const struct attempts *attempts, struct slot *slot);
void attempts_forget_old(struct attempts *attempts);
/* Whether the bytes are a record as it was written. */
bool attempts_is_whole(const struct attempts_record *record);
