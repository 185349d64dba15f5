/* A CUDA device for tests, in host memory: driver.h, msm.h, transform.h and evaluate.h on the CPU,
 * with faults on request. Linked with the host code of gpu-worker/cuda into libcuzk-stub.so (loaded
 * by the daemon's test builds, set up by CUZK_STUB in the environment) and into test programs (set
 * up by stub_configure). Never installed.
 *
 * Device memory is memory of this process between guard pages. Work is executed by one thread, one
 * operation at a time: within a stream in order, a wait after its event, and among streams in the
 * order of the calls or, with order=, in a random one, so that a missing wait is found. A kernel
 * that leaves device memory is an illegal address as on a card; what would be undefined there
 * (memory freed or unregistered under an operation, a driver call in a callback, an unknown handle)
 * ends the program.
 *
 * CUZK_STUB is a list of items, separated by ';'. Of the machine:
 *   devices=N        how many (1)
 *   driver=13000     the driver's version; 0: there is none. runtime=13000, code=90,100 of the
 * build order=SEED       streams in a random order lock=DIR         lock files DIR/gpuI; otherwise
 * each process has its own locks report=FILE      the process's end appends "FUNCTION CALLS" lines,
 * "registered N" (then still registered), "registered_max N" Of every device, or with "I." in front
 * of device I only: name=, uuid=, memory=BYTES[K|M|G] (1G), capability=9.0,
 * mode=default|exclusive|prohibited, busy=1 (another program has it), readonly=0 (cannot register
 * read-only memory) Faults; F is a function's name without driver_ ("host_register", "event_query",
 * "msm_sum"), or "kernel" for all of the kernels; K counts its calls from 1, "K+" means from then
 * on: fail=F:K:CODE    the call returns CODE (a kernel's: -EIO); a sticky code kills the context
 *   die=F:K:CODE     the call succeeds and its work kills the context when executed
 *   hang=F:K         its work never ends (until stub_heal), nor does its stream's; others go on
 *   wrong=F:K        its result has a wrong bit: msm_sum, copy_to_host
 *   lose=K           a callback is never called
 *   slow=F:MS        each one's work takes that much longer */
#pragma once

#include <stdint.h>

/* Forgets the device with all memory, streams and counts, and makes a new one. Nobody may hold
 * anything of the old one. Ends the program on words it does not know. */
void stub_configure(const char *text);
/* More words, faults in the first place; their K counts from now on. */
void stub_add(const char *text);
/* Forgets all faults, and lets what hangs go on. */
void stub_heal(void);
/* Calls of this function since then, failed ones included; NULL: of all together. */
uint64_t stub_calls(const char *function);
/* Ranges registered now. */
unsigned stub_registered(void);
/* Device bytes allocated now. */
uint64_t stub_allocated(void);
