/* Formats the refusal text of a reader. Texts can quote bytes of a hostile file, so only printable
 * ASCII passes. */
#include "groth16/key/reason.h"

#include <stdarg.h>
#include <stdio.h>

int reason_set(struct reason *reason, int error, const char *format, ...)
{
    va_list args;

    if (!reason)
        return error;
    va_start(args, format);
    if (vsnprintf(reason->text, sizeof reason->text, format, args) < 0)
        reason->text[0] = '\0';
    va_end(args);
    for (char *c = reason->text; *c; c++)
        if (*c < 0x20 || *c > 0x7e)
            *c = '?';
    return error;
}
