/* The daemon at a glance: the replies of status, workers and circuit_list. Figures that workers
 * write into their channels are shown as they are; nothing is decided by them. */
#pragma once

#include "protocol/reply.h"
#include "protocol/request.h"

struct supervisor;
struct circuit;

enum {
    STATUS_PROTOCOL_ABI = 1,
};

/* The value of the reply to REQUEST_STATUS, REQUEST_WORKERS or REQUEST_CIRCUIT_LIST. */
void status_write(struct reply *reply, const struct supervisor *supervisor,
                  enum request_method method);
/* One circuit's map. */
void status_write_circuit(struct reply *reply, const struct circuit *circuit);
