/* What the stub's files share: its settings, counts and faults (stub.c), its queue (queue.c). */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu-worker/cuda/driver.h"
#include "tests/gpu-worker/stub/stub.h"

#define STUB_FUNCTIONS(X)                                                                          \
    X(device_count)                                                                                \
    X(device_get)                                                                                  \
    X(open)                                                                                        \
    X(check_code)                                                                                  \
    X(memory)                                                                                      \
    X(last_error)                                                                                  \
    X(malloc)                                                                                      \
    X(free)                                                                                        \
    X(malloc_host)                                                                                 \
    X(free_host)                                                                                   \
    X(host_register)                                                                               \
    X(host_unregister)                                                                             \
    X(stream_create)                                                                               \
    X(stream_destroy)                                                                              \
    X(stream_wait)                                                                                 \
    X(event_create)                                                                                \
    X(event_destroy)                                                                               \
    X(event_record)                                                                                \
    X(event_query)                                                                                 \
    X(event_wait)                                                                                  \
    X(event_elapsed)                                                                               \
    X(copy_to_device)                                                                              \
    X(copy_to_host)                                                                                \
    X(copy_on_device)                                                                              \
    X(fill)                                                                                        \
    X(call_host)                                                                                   \
    X(msm_plan)                                                                                    \
    X(msm_sum)                                                                                     \
    X(msm_fill_table)                                                                              \
    X(transform_fill_table)                                                                        \
    X(transform_quotient)                                                                          \
    X(evaluate_rows)

#define STUB_ENUM(name) STUB_##name,
enum stub_function {
    STUB_FUNCTIONS(STUB_ENUM) STUB_FUNCTION_COUNT,
    STUB_KERNEL_FIRST = STUB_msm_plan,
    STUB_KERNEL_LAST = STUB_evaluate_rows,
};
#undef STUB_ENUM

enum {
    STUB_DEVICES_MAX = 8,
    STUB_FAULTS_MAX = 32,
    STUB_MULTIPROCESSORS = 132,
};

enum stub_fault_kind {
    STUB_FAIL,
    STUB_DIE,
    STUB_HANG,
    STUB_WRONG,
    STUB_LOSE,
    STUB_SLOW,
};

struct stub_fault {
    enum stub_fault_kind kind;
    int function; /* enum stub_function, or STUB_FUNCTION_COUNT for every kernel */
    uint64_t at;  /* of its calls, from 1; 0: of each */
    bool from_then_on;
    long value; /* code, milliseconds */
};

/* Everything: one device a process. The mutex guards all of it and all of the queue. */
struct stub {
    pthread_mutex_t mutex;
    bool is_configured;
    struct driver_device devices[STUB_DEVICES_MAX];
    bool is_busy[STUB_DEVICES_MAX];
    int device_count, driver_version, runtime_version;
    char code_list[64], lock_folder[512], report_path[512];
    bool is_random;
    uint64_t random;

    struct stub_fault faults[STUB_FAULTS_MAX];
    unsigned fault_count;
    uint64_t calls[STUB_FUNCTION_COUNT], kernel_calls, calls_total;
    uint64_t registered_max;

    int ordinal;         /* open, or -1 */
    int sticky;          /* the context's error, 0 while it lives */
    int last_error;      /* of a launch */
    uint64_t generation; /* of stub_configure */
};

extern struct stub stub;

/* Prints and ends the program: what a test does here is undefined on a card. */
_Noreturn void stub_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One call of a function: locks the mutex, counts, and says which error to return instead of doing
 * anything. *ret_number: which of its calls this is (of the kernels' for a "kernel" fault). */
struct stub_call {
    enum stub_function function;
    uint64_t number, kernel_number;
};
int stub_enter(enum stub_function function, struct stub_call *ret_call);
/* Unlocks and passes the error on. */
int stub_leave(int error);
/* The fault of this kind for this call, or NULL. Mutex held. */
const struct stub_fault *stub_find_fault(enum stub_fault_kind kind, const struct stub_call *call);
void stub_report_append(const char *path);

/* queue.c: streams, events, operations. Mutex held in all calls. */
struct stub_stream;
struct stub_event;

enum { STUB_RANGES_MAX = 8 };

/* Memory that an operation touches: must be allocated (device) or lasting (host) until it ran. */
struct stub_range {
    const void *begin;
    uint64_t bytes;
};

struct stub_operation {
    struct stub_call call;
    /* Runs without the mutex on the executor's thread; 0 or the error that kills the context. */
    int (*run)(void *arguments);
    void *arguments; /* malloced; freed afterwards */
    void *result;    /* where wrong= flips a bit */
    struct stub_range ranges[STUB_RANGES_MAX];
    unsigned range_count;
};

/* Takes the operation over. */
void stub_enqueue(void *stream, const struct stub_operation *operation);
/* Whether an operation not yet executed touches this memory. */
bool stub_is_in_use(const void *begin, uint64_t bytes);
void stub_wake(void);
/* Lets what hangs go on. */
void stub_queue_release(void);
/* Drops everything; waits until the executor is idle. Unlocks the mutex meanwhile. */
void stub_queue_reset(void);

/* memory.c. Mutex held, except for stub_check_device, which kernels call while they run. */
bool stub_is_device(const void *begin, uint64_t bytes);
void stub_memory_reset(void);
unsigned stub_registered_count(void);
uint64_t stub_allocated_bytes(void);
/* 0, or DRIVER_ERROR_ILLEGAL_ADDRESS after saying whose `what` lies outside device memory. */
int stub_check_device(const char *what, const void *begin, uint64_t bytes);
