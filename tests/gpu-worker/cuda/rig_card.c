/* What rig.c asks of the stub, for a card: it cannot be set up, and does not tell what is left on
 * it. Without a card the program is skipped (meson's exit status 77). */
#include <stdio.h>
#include <stdlib.h>

#include "gpu-worker/backend.h"
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

__attribute__((constructor)) static void skip_without_a_card(void)
{
    const struct backend_options options = {.threads = 1};
    struct backend *backend;
    char text[BACKEND_TEXT_BYTES];
    const int error = cuzk_backend_plugin.open(&options, &backend, text);
    if (error == 0) {
        cuzk_backend_plugin.close(backend);
        return;
    }
    printf("skipped: %s\n", text);
    exit(77);
}
