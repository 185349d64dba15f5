/* Upstream: every file of the library; downstream: the caller, and through cuzkctl a terminal:
 * hence printable ASCII only. */
#include "client/failure.h"

#include <stdarg.h>
#include <stdio.h>

int failure(struct cuzk_error *error, enum cuzk_code code, const char *format, ...)
{
    va_list arguments;

    if (!error)
        return code;
    error->code = code;
    error->retry_after_ms = 0;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    for (char *c = error->message; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
            *c = '?';
    return code;
}

static const char *const code_names[] = {
    [CUZK_OK] = "ok",
    [CUZK_USAGE] = "usage",
    [CUZK_NO_DAEMON] = "no_daemon",
    [CUZK_BAD_INPUT] = "bad_input",
    [CUZK_NOT_FOUND] = "not_found",
    [CUZK_BUSY] = "busy",
    [CUZK_DENIED] = "denied",
    [CUZK_FAILED] = "failed",
    [CUZK_CANCELLED] = "cancelled",
    [CUZK_TIMEOUT] = "timeout",
    [CUZK_TOO_LATE] = "too_late",
    [CUZK_SHUTTING_DOWN] = "shutting_down",
    [CUZK_EXISTS] = "exists",
    [CUZK_INTERRUPTED] = "interrupted",
    [CUZK_PROTOCOL] = "protocol",
    [CUZK_NO_MEMORY] = "no_memory",
    [CUZK_KEY_CONFLICT] = "key_conflict",
    [CUZK_EXPIRED] = "expired",
    [CUZK_DEADLINE] = "deadline",
};

const char *cuzk_code_to_string(enum cuzk_code code)
{
    return (size_t)code < sizeof code_names / sizeof code_names[0] ? code_names[code] : "?";
}
