/* A proof with a known result, computed by a backend before its worker says READY: a tiny built-in
 * circuit on each curve, through the same calls that real partitions take. The five expected sums
 * are constants from known_answer.py, which shares no code with the product, so a miscompiled
 * field, a CPU or card that computes wrongly and a wrong root of unity are all found here. */
#pragma once

#include "gpu-worker/backend.h"

/* Blocking, well under a second. 0; or negative errno, and ret_text (BACKEND_TEXT_BYTES) says which
 * sum on which curve is wrong. Leaves the backend as it was. */
int known_answer_check(const struct backend_ops *ops, struct backend *backend, char *ret_text);
