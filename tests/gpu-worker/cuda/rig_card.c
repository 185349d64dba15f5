/* What rig.c asks of the stub, for a card: it cannot be set up, and does not tell what is left on
 * it. */
#include "tests/gpu-worker/stub/stub.h"

void stub_configure(const char *text)
{
    (void)text;
}

unsigned stub_registered(void)
{
    return 0;
}

uint64_t stub_allocated(void)
{
    return 0;
}
