/* Finds a device backend that is built as a plug-in: a shared object beside the running program,
 * opened at run time so that nothing else links a device's libraries. Used by backend_find. */
#pragma once

#include "gpu-worker/backend.h"

enum {
    PLUGIN_PATH_BYTES = 4096,
};

/* Where the plug-in of this backend lies: "libcuzk-NAME.so" beside the running program, as
 * installed, or in the folder NAME below it, as in a build tree. 0 with the path; -ENODEV: there is
 * none, ret_text (BACKEND_TEXT_BYTES) says so. Test builds take another (see their file). */
int plugin_path(const char *name, char ret_path[PLUGIN_PATH_BYTES], char *ret_text);
/* A folder in which the plug-in may make files, NULL: none. Only test builds have one. */
const char *plugin_writable_folder(void);
/* The same as plugin_path, always by that rule. */
int plugin_path_installed(const char *name, char ret_path[PLUGIN_PATH_BYTES], char *ret_text);

/* Opens it, for as long as the process lives, and checks that its table is one of this name and of
 * this program's BACKEND_ABI. 0, or -ELIBBAD and ret_text says why. */
int plugin_load(const char *path, const char *name, const struct backend_ops **ret_ops,
                char *ret_text);
