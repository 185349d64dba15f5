/* Job numbers: see job_numbers.h. */
#include "supervisor/job_numbers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/files.h"
#include "runtime/log.h"

int job_numbers_open(struct job_numbers *numbers, const char *state_directory)
{
    uint64_t first = 1;
    *numbers = (struct job_numbers){0};
    if (asprintf(&numbers->path, "%s/next-job", state_directory) < 0) {
        numbers->path = NULL;
        return -ENOMEM;
    }
    int r = files_read_number(numbers->path, &first);
    if (r < 0 && r != -ENOENT) {
        log_error("cannot read the next job number from %s: %s", numbers->path, strerror(-r));
        return r;
    }
    if (first == 0 || first > INT64_MAX) {
        log_error("%s holds no job number", numbers->path);
        return -EBADMSG;
    }
    numbers->next = numbers->reserved = first;
    job_numbers_raise(numbers, first); /* a full disk: the first number waits for space */
    return 0;
}

void job_numbers_close(struct job_numbers *numbers)
{
    /* What was reserved and not used may be used next time. */
    if (numbers->path && numbers->next < numbers->reserved)
        job_numbers_write(numbers, numbers->next);
    free(numbers->path);
    *numbers = (struct job_numbers){0};
}

int job_numbers_write(const struct job_numbers *numbers, uint64_t reserved)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64 "\n", reserved);
    return files_write(numbers->path, text, strlen(text), 0600);
}

int job_numbers_raise(struct job_numbers *numbers, uint64_t next)
{
    if (next > numbers->next)
        numbers->next = next;
    if (numbers->reserved > numbers->next)
        return 0;
    int r = job_numbers_write(numbers, numbers->next + JOB_NUMBERS_BLOCK);
    if (r < 0)
        log_error("cannot write %s: %s", numbers->path, strerror(-r));
    else
        numbers->reserved = numbers->next + JOB_NUMBERS_BLOCK;
    return r;
}

uint64_t job_numbers_take(struct job_numbers *numbers)
{
    return numbers->next < numbers->reserved ? numbers->next++ : 0;
}
