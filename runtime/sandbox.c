/* The sandbox's words: policy and state as text. See runtime/sandbox.h. */
#include "runtime/sandbox.h"

#include <errno.h>
#include <string.h>

static const char *const policy_names[] = {"require", "prefer", "off"};

const char *sandbox_policy_to_string(enum sandbox_policy policy)
{
    return (unsigned)policy <= SANDBOX_OFF ? policy_names[policy] : "?";
}

int sandbox_policy_from_string(const char *text, enum sandbox_policy *ret)
{
    for (unsigned i = 0; i <= SANDBOX_OFF; i++) {
        if (strcmp(text, policy_names[i]) == 0) {
            *ret = (enum sandbox_policy)i;
            return 0;
        }
    }
    return -EINVAL;
}

const char *sandbox_parts_to_string(unsigned parts)
{
    static const char *const names[] = {"none", "files", "calls", "full"};
    return names[parts & SANDBOX_ALL];
}
