/* Job numbers that no restart gives twice: the state folder keeps how far they have been handed
 * out, in blocks, so that few submits touch the disk. Not in the journal: where that is damaged and
 * set aside, its numbers are used up all the same. */
#pragma once

#include <stdint.h>

enum {
    JOB_NUMBERS_BLOCK = 10000,
};

struct job_numbers {
    char *path;
    uint64_t next, reserved; /* numbers below `reserved` may be used */
};

/* Reads STATE/next-job (absent: numbers start at 1) and reserves the first block. Logs what
 * failed. Blocking. */
int job_numbers_open(struct job_numbers *numbers, const char *state_directory);
void job_numbers_close(struct job_numbers *numbers);
/* No number below `next` is given out. Blocking. */
int job_numbers_raise(struct job_numbers *numbers, uint64_t next);
/* Writes how far numbers are reserved; the caller sets `reserved` when that is done. Blocking; may
 * run on another thread. */
int job_numbers_write(const struct job_numbers *numbers, uint64_t reserved);
/* The next number, or 0 when none is reserved. */
uint64_t job_numbers_take(struct job_numbers *numbers);
