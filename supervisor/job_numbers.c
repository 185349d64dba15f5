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
    return 0;
}

void job_numbers_close(struct job_numbers *numbers)
{
    free(numbers->path);
    *numbers = (struct job_numbers){0};
}

uint64_t job_numbers_take(struct job_numbers *numbers)
{
    if (numbers->next == numbers->reserved) {
        char text[32];
        uint64_t reserved = numbers->next + JOB_NUMBERS_BLOCK;
        snprintf(text, sizeof text, "%" PRIu64 "\n", reserved);
        int r = files_write(numbers->path, text, strlen(text), 0600);
        if (r < 0) {
            log_error("cannot write %s: %s; no job can be taken", numbers->path, strerror(-r));
            return 0;
        }
        numbers->reserved = reserved;
    }
    return numbers->next++;
}
