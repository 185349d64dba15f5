/* The daemon at a glance: the replies of status, workers and circuit_list. Figures that workers
 * write into their channels are shown as they are; nothing is decided by them. */
#pragma once

#include "protocol/reply.h"
#include "protocol/request.h"

struct answers_caller;
struct circuit;

enum {
    STATUS_PROTOCOL_ABI = 1,
};

/* The value of the reply to REQUEST_STATUS, REQUEST_WORKERS or REQUEST_CIRCUIT_LIST. Over the
 * submit socket no job of another user is named. */
void status_write(struct reply *reply, const struct answers_caller *caller,
                  enum request_method method);
/* One circuit's map. */
void status_write_circuit(struct reply *reply, const struct circuit *circuit);
