/* Instead of sandbox_calls.c and sandbox_files.c in builds that cannot have a sandbox, as meson
 * decides: under a sanitizer, whose run-time opens files and starts programs when it reports, and
 * on processors other than x86-64, whose numbers of calls are not in the table. Workers then run
 * without, and log and status say so. */
#include <errno.h>
#include <stdio.h>

#include "runtime/sandbox.h"

unsigned sandbox_probe(char *ret_text)
{
    snprintf(ret_text, SANDBOX_TEXT_BYTES, "%s", SANDBOX_NONE_BECAUSE);
    return 0;
}

int sandbox_limit_files(enum sandbox_profile profile, const char *const *writable)
{
    (void)profile;
    (void)writable;
    return -EOPNOTSUPP;
}

int sandbox_limit_calls(enum sandbox_profile profile, void (*report)(const char *text))
{
    (void)profile;
    (void)report;
    return -EOPNOTSUPP;
}
