/* Whether a job is taken: all at once or not at all, so that no number of clients can overshoot a
 * limit. What is counted: jobs, slots, descriptors, memory of inline witnesses and of results. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "protocol/reply.h"
#include "protocol/request.h"

struct supervisor;

enum {
    /* Descriptors that the daemon keeps free of witnesses: workers, helpers, clients. */
    ADMISSION_DESCRIPTORS_RESERVED = 4096,
    ADMISSION_INLINE_MIB_MAX = 256,
    ADMISSION_RESULT_MIB_MAX = 1024,
    ADMISSION_WITNESS_GIB_MAX = 64, /* larger than any field's domain: a mistake */
};

struct admission_refusal {
    enum reply_code code;
    uint32_t retry_after_ms;
    char text[512];
};

/* Takes the descriptors over, also when it refuses. 0 and the job's number, or -EAGAIN and why. */
int admission_submit(struct supervisor *supervisor, uid_t uid, const struct request_submit *submit,
                     int *descriptors, uint32_t descriptor_count, uint64_t *ret_job,
                     struct admission_refusal *ret_refusal);
