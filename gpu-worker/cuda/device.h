/* Which card this process computes on: found by UUID, locked against other workers of this machine,
 * checked and opened. Called by open and close of the CUDA backend. Never changes a card's modes.
 *
 * The lock is an flock on the card's own device node (driver_device.lock_path): whoever can use the
 * card reaches it, whatever its user, mount and network namespace; nothing is created and nothing
 * stays behind, because the kernel lets go of it when the process ends, however it ends. */
#pragma once

#include "gpu-worker/cuda/driver.h"

struct device {
    struct driver_device info;
    int lock_fd; /* while open; the process holds the card until it is closed */
};

/* Takes the card whose UUID is or begins with `uuid` ("GPU-..." as nvidia-smi -L prints it, or
 * "MIG-..."; case does not matter); NULL: the first that is free and usable. Blocking, about 0.3 s.
 * On failure nothing is held and ret_text (BACKEND_TEXT_BYTES) says in one line what is wrong and
 * what to change:
 * -ENODEV there is no such card or none at all; -EEXIST the prefix fits several; -EBUSY another
 * process holds it; -EPERM its compute mode forbids it; -ENOTSUP driver too old, or this build has
 * no machine code for it; -EIO, -ENOMEM the driver fails. */
int device_open(const char *uuid, struct device *ret_device, char *ret_text);
/* Lets go of the lock only: the context goes with the process. */
void device_close(struct device *device);
