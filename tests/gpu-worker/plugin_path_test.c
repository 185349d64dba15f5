/* The plug-in's place in test builds: CUZK_TEST_PLUGIN=PATH names another, such as one that stands
 * in for a device. Without the variable it is where it always is. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu-worker/plugin.h"
#include "runtime/log.h"

int plugin_path(const char *name, char ret_path[PLUGIN_PATH_BYTES], char *ret_text)
{
    const char *path = getenv("CUZK_TEST_PLUGIN");
    if (!path)
        return plugin_path_installed(name, ret_path, ret_text);
    if (strlen(path) >= PLUGIN_PATH_BYTES) {
        snprintf(ret_text, BACKEND_TEXT_BYTES, "CUZK_TEST_PLUGIN is too long");
        return -ELIBBAD;
    }
    log_warn("test build: the %s backend is %s", name, path);
    strcpy(ret_path, path);
    return 0;
}

/* A stand-in for a device leaves reports behind. */
const char *plugin_writable_folder(void)
{
    return getenv("CUZK_TEST_PLUGIN") ? "/tmp" : NULL;
}
