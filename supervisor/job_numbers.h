/* Job numbers that no restart gives twice: the state folder keeps how far they have been handed
 * out, in blocks, so that few submits touch the disk. */
#pragma once

#include <stdint.h>

enum {
    JOB_NUMBERS_BLOCK = 1000,
};

struct job_numbers {
    char *path;
    uint64_t next, reserved; /* numbers below `reserved` may be used */
};

/* Reads STATE/next-job (absent: numbers start at 1). Logs what failed. */
int job_numbers_open(struct job_numbers *numbers, const char *state_directory);
void job_numbers_close(struct job_numbers *numbers);
/* The next number, or 0 when the state folder cannot be written. */
uint64_t job_numbers_take(struct job_numbers *numbers);
