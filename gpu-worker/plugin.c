/* See plugin.h. Upstream: backend.c; downstream: the dynamic linker. */
#include "gpu-worker/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The folder of the running program, with the slash. */
static int plugin_folder(char ret[PLUGIN_PATH_BYTES])
{
    const ssize_t bytes = readlink("/proc/self/exe", ret, PLUGIN_PATH_BYTES - 1);
    if (bytes < 0)
        return -errno;
    ret[bytes] = '\0';
    char *slash = strrchr(ret, '/');
    if (!slash)
        return -ENOENT;
    slash[1] = '\0';
    return 0;
}

int plugin_path_installed(const char *name, char ret_path[PLUGIN_PATH_BYTES], char *ret_text)
{
    char folder[PLUGIN_PATH_BYTES], path[PLUGIN_PATH_BYTES];
    const int error = plugin_folder(folder);
    if (error < 0) {
        snprintf(ret_text, BACKEND_TEXT_BYTES,
                 "cannot find this program's own folder (/proc/self/exe): %s", strerror(-error));
        return -ELIBBAD;
    }
    for (int is_build_tree = 0; is_build_tree < 2; is_build_tree++) {
        const int count = snprintf(path, sizeof path, "%s%s%slibcuzk-%s.so", folder,
                                   is_build_tree ? name : "", is_build_tree ? "/" : "", name);
        if (count < (int)sizeof path && access(path, F_OK) == 0) {
            strcpy(ret_path, path);
            return 0;
        }
    }
    snprintf(ret_text, BACKEND_TEXT_BYTES,
             "this installation has no CUDA backend (no libcuzk-%s.so in %.100s): install one that "
             "was built where nvcc is, or set [GPU] Backend=cpu",
             name, folder);
    return -ENODEV;
}

int plugin_load(const char *path, const char *name, const struct backend_ops **ret_ops,
                char *ret_text)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(ret_text, BACKEND_TEXT_BYTES, "cannot load the backend's plug-in: %.200s",
                 dlerror());
        return -ELIBBAD;
    }
    const struct backend_ops *ops = dlsym(library, BACKEND_PLUGIN_SYMBOL);
    if (!ops)
        snprintf(ret_text, BACKEND_TEXT_BYTES, "%.150s is no plug-in of cuzkd: it has no symbol %s",
                 path, BACKEND_PLUGIN_SYMBOL);
    else if (ops->abi != BACKEND_ABI)
        snprintf(ret_text, BACKEND_TEXT_BYTES,
                 "%.100s speaks version %u of the backend's interface and this program %u: "
                 "install both from one build",
                 path, ops->abi, BACKEND_ABI);
    else if (strcmp(ops->name, name) != 0)
        snprintf(ret_text, BACKEND_TEXT_BYTES, "%.150s is the backend '%.32s', not '%.32s'", path,
                 ops->name, name);
    else {
        *ret_ops = ops; /* stays loaded: its threads and device last as long as the process */
        return 0;
    }
    dlclose(library);
    return -ELIBBAD;
}
