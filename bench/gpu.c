/* Finds cuzk-bench-gpu beside this program, or where a build tree has it. */
#include "bench/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int gpu_exec(char **argv)
{
    static const char *const places[] = {"cuzk-bench-gpu",
                                         "../gpu-worker/cuda/bench/cuzk-bench-gpu"};
    char own[3072], path[4096];
    ssize_t bytes = readlink("/proc/self/exe", own, sizeof own - 1);
    char *slash = bytes > 0 ? memrchr(own, '/', (size_t)bytes) : NULL;

    if (!slash) {
        fprintf(stderr, "cuzk-bench: cannot tell where this program lies: %s\n", strerror(errno));
        return 1;
    }
    slash[1] = '\0';
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s%s", own, places[i]);
        argv[0] = path;
        execv(path, argv);
        if (errno != ENOENT && errno != ENOTDIR)
            break;
    }
    fprintf(stderr,
            "cuzk-bench: cannot start %scuzk-bench-gpu: %s; this build has no CUDA part, or it was "
            "installed elsewhere\n",
            own, strerror(errno));
    return 1;
}
