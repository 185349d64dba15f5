/* See errors.h. The numbers are those of the CUDA Runtime API, "Data types used by CUDA Runtime".
 */
#include "gpu-worker/cuda/errors.h"

#include <errno.h>
#include <stdio.h>

#include "gpu-worker/cuda/driver.h"

struct errors_entry {
    int first, last; /* numbers */
    enum backend_fault fault;
    const char *advice; /* likely cause; what to do */
};

#define ERRORS_HARDWARE "look at nvidia-smi -q and the kernel log (Xid), reset or replace the card"
#define ERRORS_KERNEL                                                                              \
    "a fault of the program, of the card or of its memory; if it returns, run a memory test and "  \
    "report it"

static const struct errors_entry errors_table[] = {
    {2, 2, BACKEND_FAULT_MEMORY,
     "device memory is short: other programs on the card, or [GPU] VramLimit= above what is free"},
    /* While a context is open these mean that its device went. */
    {3, 4, BACKEND_FAULT_STICKY, "CUDA is shutting down in this process"},
    {46, 46, BACKEND_FAULT_STICKY, "the card is lost or taken away; " ERRORS_HARDWARE},
    {100, 101, BACKEND_FAULT_STICKY, "the card is lost; " ERRORS_HARDWARE},
    {201, 201, BACKEND_FAULT_STICKY, "the context is gone; the driver was reset or the card lost"},
    {209, 209, BACKEND_FAULT_DEVICE,
     "this build has no machine code for the card; build with -Dsm_list= of its compute "
     "capability"},
    {214, 214, BACKEND_FAULT_STICKY, "the card's memory is faulty (ECC); " ERRORS_HARDWARE},
    {220, 220, BACKEND_FAULT_STICKY, "an NVLink is faulty; " ERRORS_HARDWARE},
    {226, 226, BACKEND_FAULT_STICKY, "the card contained a hardware error; " ERRORS_HARDWARE},
    {304, 304, BACKEND_FAULT_DEVICE,
     "the kernel refused the driver something; look at LimitMEMLOCK= and the kernel log"},
    {700, 700, BACKEND_FAULT_STICKY, "a kernel left its memory: " ERRORS_KERNEL},
    {702, 702, BACKEND_FAULT_STICKY,
     "the driver's time limit for kernels struck: the card drives a display; use another"},
    {709, 709, BACKEND_FAULT_STICKY, "the context is gone; the driver was reset or the card lost"},
    {710, 710, BACKEND_FAULT_STICKY, "an assertion in device code: " ERRORS_KERNEL},
    {712, 712, BACKEND_FAULT_DEVICE, "the memory overlaps what is registered already"},
    {713, 713, BACKEND_FAULT_DEVICE, "the memory is not registered"},
    {714, 719, BACKEND_FAULT_STICKY, "a kernel failed on the card: " ERRORS_KERNEL},
    {721, 721, BACKEND_FAULT_STICKY, "a kernel failed on the card: " ERRORS_KERNEL},
    {801, 801, BACKEND_FAULT_DEVICE, "the card or the driver cannot do this"},
    {805, 807, BACKEND_FAULT_STICKY, "the MPS server is gone; start it again or do without"},
    {810, 810, BACKEND_FAULT_STICKY, "the MPS server ended this client"},
    {911, 911, BACKEND_FAULT_STICKY, "another device of the machine failed; see the kernel log"},
    {999, 999, BACKEND_FAULT_STICKY,
     "the driver failed or the card is lost (after a suspend, say); " ERRORS_HARDWARE},
};

static const struct errors_entry *errors_find(int error)
{
    for (size_t i = 0; i < sizeof errors_table / sizeof errors_table[0]; i++)
        if (error >= errors_table[i].first && error <= errors_table[i].last)
            return &errors_table[i];
    return NULL;
}

enum backend_fault errors_fault(int error)
{
    const struct errors_entry *entry = errors_find(error);
    if (error == DRIVER_OK)
        return BACKEND_FAULT_NONE;
    return entry ? entry->fault : BACKEND_FAULT_DEVICE;
}

int errors_to_errno(int error)
{
    switch (error) {
    case DRIVER_OK:
        return 0;
    case DRIVER_ERROR_MEMORY:
        return -ENOMEM;
    case DRIVER_ERROR_NO_DEVICE:
        return -ENODEV;
    default:
        return -EIO;
    }
}

void errors_explain(char *ret_text, int error, const char *what, const char *where)
{
    const struct errors_entry *entry = errors_find(error);
    if (entry)
        snprintf(ret_text, BACKEND_TEXT_BYTES, "%s on %s: %s (%d): %s", what, where,
                 driver_error_name(error), error, entry->advice);
    else
        snprintf(ret_text, BACKEND_TEXT_BYTES, "%s on %s: %s (%d): %s", what, where,
                 driver_error_name(error), error, driver_error_text(error));
}
