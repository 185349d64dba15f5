/* Linked into programs that run the CUDA backend on a card: where there is none they are skipped
 * (meson's exit status 77). A card that cannot be used fails them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu-worker/backend.h"

__attribute__((constructor)) static void skip_without_a_card(void)
{
    const struct backend_options options = {.threads = 1};
    struct backend *backend;
    char text[BACKEND_TEXT_BYTES];
    const int error = cuzk_backend_plugin.open(&options, &backend, text);
    if (error == 0)
        cuzk_backend_plugin.close(backend);
    if (error != -ENODEV)
        return;
    printf("skipped: %s\n", text);
    exit(77);
}
