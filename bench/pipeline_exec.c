/* cuzk-bench pipeline: found here, written in Python (bench/pipeline), because it controls a whole
 * daemon and draws. */
#include "bench/bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PIPELINE_PATH_BYTES = 4096,
};

/* From this program's folder: a build tree, everything in one folder, an installation. */
static const char *const pipeline_places[] = {
    "pipeline/pipeline.py",
    "pipeline.py",
    "../libexec/cuzkd/bench/pipeline.py",
};

/* 0, or -1 with the folder that was searched from in ret. */
static int pipeline_find(char ret[PIPELINE_PATH_BYTES])
{
    char own[PIPELINE_PATH_BYTES / 2] = "";
    const ssize_t bytes = readlink("/proc/self/exe", own, sizeof own - 1);
    char *slash = bytes > 0 ? strrchr(own, '/') : NULL;
    if (slash)
        slash[1] = '\0';
    for (size_t i = 0; i < sizeof pipeline_places / sizeof pipeline_places[0]; i++) {
        snprintf(ret, PIPELINE_PATH_BYTES, "%s%s", own, pipeline_places[i]);
        if (access(ret, R_OK) == 0)
            return 0;
    }
    snprintf(ret, PIPELINE_PATH_BYTES, "%s", own);
    return -1;
}

int bench_pipeline(int argc, char **argv)
{
    char script[PIPELINE_PATH_BYTES];
    char **command = calloc((size_t)argc + 2, sizeof *command);
    if (!command)
        return 1;
    if (pipeline_find(script) < 0) {
        fprintf(stderr,
                "pipeline: no pipeline.py in %s or beside it: is the installation complete?\n",
                script);
        free(command);
        return 1;
    }
    command[0] = "python3";
    command[1] = script;
    memcpy(command + 2, argv + 1, (size_t)(argc - 1) * sizeof *command);
    execvp(command[0], command);
    fprintf(stderr, "pipeline: cannot start python3: %s\n", strerror(errno));
    free(command);
    return 1;
}
