/* What an error of the driver means for a partition, and in words. Called wherever the CUDA backend
 * gets a number that is not DRIVER_OK. Pure. */
#pragma once

#include "gpu-worker/backend.h"

/* STICKY: the context is gone, every further call returns the same or worse, and the process must
 * end ("must be terminated and relaunched" in the CUDA Runtime API's list of errors; uncorrectable
 * memory and link errors; a context or device that is there no more). MEMORY: out of device memory.
 * DEVICE: everything else; what was asked failed and the rest goes on. NONE for DRIVER_OK.
 * For errors of an open device; device.c words those of finding and opening one. */
enum backend_fault errors_fault(int error);

/* -ENOMEM, -ENODEV or -EIO; 0 for DRIVER_OK. */
int errors_to_errno(int error);

/* "WHAT on WHERE: cudaErrorName (number): likely cause; what to do", cut to BACKEND_TEXT_BYTES.
 * `what` as a gerund: "uploading a witness"; `where`: the device. */
void errors_explain(char *ret_text, int error, const char *what, const char *where);
