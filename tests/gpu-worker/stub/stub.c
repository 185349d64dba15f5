/* The stub's settings, counts and faults: see stub.h for their words. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu-worker/stub/stub_internal.h"

struct stub stub = {.mutex = PTHREAD_MUTEX_INITIALIZER, .ordinal = -1};

#define STUB_NAME(name) #name,
static const char *const function_names[] = {STUB_FUNCTIONS(STUB_NAME) "kernel"};

void stub_misuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "stub: misuse: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    abort();
}

/* Settings. */

static int find_function(const char *name)
{
    for (int i = 0; i <= STUB_FUNCTION_COUNT; i++)
        if (strcmp(function_names[i], name) == 0)
            return i;
    stub_misuse("CUZK_STUB names no function: %s", name);
}

static uint64_t parse_bytes(const char *value)
{
    char *end;
    const uint64_t number = strtoull(value, &end, 10);
    const unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    return number << shift;
}

static void set_device(struct driver_device *device, bool *is_busy, const char *key,
                       const char *value)
{
    if (strcmp(key, "name") == 0) {
        snprintf(device->name, sizeof device->name, "%s", value);
    } else if (strcmp(key, "uuid") == 0) {
        snprintf(device->uuid, sizeof device->uuid, "%s", value);
    } else if (strcmp(key, "memory") == 0) {
        device->memory_bytes = parse_bytes(value);
    } else if (strcmp(key, "capability") == 0) {
        sscanf(value, "%d.%d", &device->major, &device->minor);
    } else if (strcmp(key, "mode") == 0) {
        device->compute_mode = strcmp(value, "exclusive") == 0    ? DRIVER_MODE_EXCLUSIVE
                               : strcmp(value, "prohibited") == 0 ? DRIVER_MODE_PROHIBITED
                                                                  : DRIVER_MODE_DEFAULT;
    } else if (strcmp(key, "busy") == 0) {
        *is_busy = atoi(value);
    } else if (strcmp(key, "readonly") == 0) {
        device->can_register_read_only = atoi(value);
    } else {
        stub_misuse("CUZK_STUB: unknown word %s", key);
    }
}

/* F:K[+][:CODE], K[+] of call_host, F:MS */
static void add_fault(enum stub_fault_kind kind, char *value)
{
    if (stub.fault_count == STUB_FAULTS_MAX)
        stub_misuse("CUZK_STUB: too many faults");
    struct stub_fault *fault = &stub.faults[stub.fault_count++];
    *fault = (struct stub_fault){.kind = kind, .function = STUB_call_host};
    char *at = value, *colon = strchr(value, ':');
    if (kind != STUB_LOSE) {
        if (!colon)
            stub_misuse("CUZK_STUB: %s", value);
        *colon = 0;
        fault->function = find_function(value);
        at = colon + 1;
    }
    if (kind == STUB_SLOW) {
        fault->from_then_on = true;
        fault->value = atol(at);
        return;
    }
    char *end;
    fault->at =
        strtoull(at, &end, 10) +
        (fault->function == STUB_FUNCTION_COUNT ? stub.kernel_calls : stub.calls[fault->function]);
    fault->from_then_on = *end == '+';
    end += fault->from_then_on;
    if (kind == STUB_FAIL || kind == STUB_DIE)
        fault->value = *end == ':' ? atol(end + 1) : DRIVER_ERROR_UNKNOWN;
}

static void set(const char *key, char *value)
{
    static const char *const kinds[] = {"fail", "die", "hang", "wrong", "lose", "slow"};
    for (int i = 0; i < (int)(sizeof kinds / sizeof kinds[0]); i++) {
        if (strcmp(key, kinds[i]) == 0) {
            add_fault((enum stub_fault_kind)i, value);
            return;
        }
    }
    if (isdigit((unsigned char)key[0]) && key[1] == '.') {
        const int i = key[0] - '0';
        if (i >= STUB_DEVICES_MAX)
            stub_misuse("CUZK_STUB: device %d", i);
        set_device(&stub.devices[i], &stub.is_busy[i], key + 2, value);
    } else if (strcmp(key, "devices") == 0) {
        stub.device_count = atoi(value);
        if (stub.device_count > STUB_DEVICES_MAX)
            stub_misuse("CUZK_STUB: %s devices", value);
    } else if (strcmp(key, "driver") == 0) {
        stub.driver_version = atoi(value);
    } else if (strcmp(key, "runtime") == 0) {
        stub.runtime_version = atoi(value);
    } else if (strcmp(key, "code") == 0) {
        snprintf(stub.code_list, sizeof stub.code_list, "%s", value);
    } else if (strcmp(key, "order") == 0) {
        stub.is_random = true;
        stub.random = strtoull(value, NULL, 10);
    } else if (strcmp(key, "lock") == 0) {
        snprintf(stub.lock_folder, sizeof stub.lock_folder, "%s", value);
    } else if (strcmp(key, "report") == 0) {
        snprintf(stub.report_path, sizeof stub.report_path, "%s", value);
    } else {
        for (int i = 0; i < STUB_DEVICES_MAX; i++)
            set_device(&stub.devices[i], &stub.is_busy[i], key, value);
    }
}

static void set_defaults(void)
{
    stub.device_count = 1;
    stub.driver_version = stub.runtime_version = 13000;
    strcpy(stub.code_list, "90");
    stub.lock_folder[0] = stub.report_path[0] = 0;
    stub.is_random = false;
    stub.fault_count = 0;
    memset(stub.calls, 0, sizeof stub.calls);
    stub.kernel_calls = stub.calls_total = stub.registered_max = 0;
    stub.ordinal = -1;
    stub.sticky = stub.last_error = 0;
    for (int i = 0; i < STUB_DEVICES_MAX; i++) {
        stub.is_busy[i] = false;
        stub.devices[i] = (struct driver_device){
            .memory_bytes = (uint64_t)1 << 30,
            .major = 9,
            .multiprocessors = STUB_MULTIPROCESSORS,
            .copy_engines = 3,
            .can_register_read_only = true,
        };
        snprintf(stub.devices[i].name, sizeof stub.devices[i].name, "Stub GPU %d", i);
        snprintf(stub.devices[i].uuid, sizeof stub.devices[i].uuid,
                 "GPU-%08x-0000-4000-8000-00000000000%d", 0x57b0 + i, i);
        snprintf(stub.devices[i].bus_id, sizeof stub.devices[i].bus_id, "0000:%02x:00.0", i + 1);
    }
}

/* Mutex held. */
static void add(const char *text)
{
    char words[4096], *rest = words, *word;
    if (strlen(text) >= sizeof words)
        stub_misuse("CUZK_STUB is too long");
    strcpy(words, text);
    while ((word = strsep(&rest, ";"))) {
        char *value = strchr(word, '=');
        if (!word[0])
            continue;
        if (!value)
            stub_misuse("CUZK_STUB: no '=' in %s", word);
        *value = 0;
        set(word, value + 1);
    }
}

static void configure(const char *text)
{
    set_defaults();
    add(text);
    stub.is_configured = true;
}

void stub_configure(const char *text)
{
    pthread_mutex_lock(&stub.mutex);
    stub_queue_reset();
    stub_memory_reset();
    configure(text);
    pthread_mutex_unlock(&stub.mutex);
}

void stub_add(const char *text)
{
    pthread_mutex_lock(&stub.mutex);
    add(text);
    pthread_mutex_unlock(&stub.mutex);
}

void stub_heal(void)
{
    pthread_mutex_lock(&stub.mutex);
    stub.fault_count = 0;
    stub_queue_release();
    pthread_mutex_unlock(&stub.mutex);
}

/* Calls and faults. */

static bool is_kernel(enum stub_function function)
{
    return function >= STUB_KERNEL_FIRST && function <= STUB_KERNEL_LAST;
}

const struct stub_fault *stub_find_fault(enum stub_fault_kind kind, const struct stub_call *call)
{
    for (unsigned i = 0; i < stub.fault_count; i++) {
        const struct stub_fault *fault = &stub.faults[i];
        if (fault->kind != kind)
            continue;
        const bool is_any_kernel =
            fault->function == STUB_FUNCTION_COUNT && is_kernel(call->function);
        if (!is_any_kernel && fault->function != (int)call->function)
            continue;
        const uint64_t number = is_any_kernel ? call->kernel_number : call->number;
        if (number == fault->at || (number > fault->at && fault->from_then_on))
            return fault;
    }
    return NULL;
}

static bool needs_context(enum stub_function function)
{
    return function > STUB_open && function != STUB_last_error;
}

/* As the CUDA Runtime API has it: the process must be terminated. */
static bool is_sticky(long code)
{
    static const short codes[] = {46,  100, 101, 214, 220, 226, 700, 702, 709, 710,
                                  714, 715, 716, 717, 718, 719, 721, 810, 911, 999};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i] == code)
            return true;
    return false;
}

int stub_enter(enum stub_function function, struct stub_call *ret_call)
{
    pthread_mutex_lock(&stub.mutex);
    if (!stub.is_configured)
        configure(getenv("CUZK_STUB") ? getenv("CUZK_STUB") : "");
    stub.calls_total++;
    *ret_call = (struct stub_call){.function = function, .number = ++stub.calls[function]};
    if (is_kernel(function))
        ret_call->kernel_number = ++stub.kernel_calls;
    if (needs_context(function) && stub.ordinal < 0)
        stub_misuse("%s before driver_open", function_names[function]);
    if (stub.sticky && function >= STUB_open)
        return stub.sticky;
    const struct stub_fault *fault = stub_find_fault(STUB_FAIL, ret_call);
    if (!fault)
        return DRIVER_OK;
    if (needs_context(function) && is_sticky(fault->value))
        stub.sticky = (int)fault->value;
    stub_wake();
    return (int)fault->value;
}

int stub_leave(int error)
{
    pthread_mutex_unlock(&stub.mutex);
    return error;
}

/* What tests ask. */

uint64_t stub_calls(const char *function)
{
    pthread_mutex_lock(&stub.mutex);
    const int i = function ? find_function(function) : -1;
    const uint64_t count = i < 0                      ? stub.calls_total
                           : i == STUB_FUNCTION_COUNT ? stub.kernel_calls
                                                      : stub.calls[i];
    pthread_mutex_unlock(&stub.mutex);
    return count;
}

unsigned stub_registered(void)
{
    pthread_mutex_lock(&stub.mutex);
    const unsigned count = stub_registered_count();
    pthread_mutex_unlock(&stub.mutex);
    return count;
}

uint64_t stub_allocated(void)
{
    pthread_mutex_lock(&stub.mutex);
    const uint64_t bytes = stub_allocated_bytes();
    pthread_mutex_unlock(&stub.mutex);
    return bytes;
}

__attribute__((destructor)) static void report(void)
{
    if (!stub.is_configured || !stub.report_path[0])
        return;
    FILE *file = fopen(stub.report_path, "a");
    if (!file)
        return;
    for (int i = 0; i < STUB_FUNCTION_COUNT; i++)
        fprintf(file, "%s %llu\n", function_names[i], (unsigned long long)stub.calls[i]);
    fprintf(file, "registered %u\nregistered_max %llu\n", stub_registered_count(),
            (unsigned long long)stub.registered_max);
    fclose(file);
}
