/* Replies to what operators ask about workers: worker_restart, worker_drain, worker_resume,
 * worker_trim and log_level. Each is answered at once with the number of the order that it gave;
 * `workers` shows how far that is. */
#pragma once

struct answers_caller;
struct request;
struct reply;

void worker_answers_make(const struct answers_caller *caller, const struct request *request,
                         struct reply *reply);
