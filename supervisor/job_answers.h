/* Replies about jobs: submit, wait, result, public, cancel and jobs. What has to wait for a job,
 * for its record or for the journal is finished by control_waits.c with the calls below. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/admission.h"
#include "supervisor/answers.h"

/* As answers_make, for those methods. */
enum answers_when job_answers_make(const struct answers_caller *caller,
                                   const struct request *request, int *descriptors,
                                   struct reply *reply, struct answers_later *ret_later);
/* Whether the caller may hear of this job. */
bool job_answers_may_see(const struct answers_caller *caller, uint64_t job);
/* The end of submit. */
void job_answers_submitted(const struct admission_outcome *outcome, uint32_t message_id,
                           struct reply *reply);
/* Whether a wait with this `seen` can be answered before its deadline. */
bool job_answers_wait_is_due(const struct answers_caller *caller, uint64_t job, bool has_seen,
                             uint64_t seen);
/* A wait that has come due, for the job as it is now; the job may be gone. */
void job_answers_waited(const struct answers_caller *caller, uint32_t message_id, uint64_t job,
                        struct reply *reply);
/* A cancel whose job's end went to disk. */
bool job_answers_cancel_is_due(const struct answers_caller *caller, uint64_t job);
void job_answers_cancelled(uint32_t message_id, uint64_t job, struct reply *reply);
