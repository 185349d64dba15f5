/* Worker programs and their arguments: see programs.h. */
#include "supervisor/programs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/check.h"
#include "runtime/log.h"

static const struct {
    const char *program;
    const char *build_folder; /* beside the supervisor's in a build tree */
} programs[WORKER_KIND_COUNT] = {
    [WORKER_SYNTH] = {"cuzk-synth", "/../synth-worker"},
    [WORKER_GPU] = {"cuzk-gpu", "/../gpu-worker"},
    [WORKER_FINALIZER] = {"cuzk-finalizer", "/../finalizer"},
};

/* The path if it can be executed, else NULL. */
static char *try_path(const char *folder, const char *below, const char *program)
{
    char *path = NULL;
    if (asprintf(&path, "%s%s/%s", folder, below, program) < 0)
        return NULL;
    if (access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

static char *find_in(const char *own_folder, const char *program, const char *build_folder)
{
    char *path = try_path(own_folder, "", program);
    if (!path)
        path = try_path(own_folder, build_folder, program);
    if (!path)
        path = try_path(CUZK_LIBEXECDIR, "", program);
    if (!path)
        path = try_path(own_folder, "/../libexec/cuzkd", program); /* moved after installation */
    if (!path)
        log_error("cannot find %s: neither beside cuzkd in %s nor in %s; is the installation "
                  "complete?",
                  program, own_folder, CUZK_LIBEXECDIR);
    return path;
}

/* The folder that this program lies in. */
static int find_own_folder(char *ret, size_t room)
{
    ssize_t bytes = readlink("/proc/self/exe", ret, room - 1);
    if (bytes < 0)
        return -errno;
    ret[bytes] = '\0';
    char *slash = strrchr(ret, '/');
    CHECK(slash);
    *slash = '\0';
    return 0;
}

char *programs_find_one(const char *program, const char *build_folder)
{
    char own[4096];
    return find_own_folder(own, sizeof own) < 0 ? NULL : find_in(own, program, build_folder);
}

int programs_find(char *ret_paths[WORKER_KIND_COUNT])
{
    char own[4096];
    int r = find_own_folder(own, sizeof own);
    if (r < 0)
        return r;
    for (int kind = 0; kind < WORKER_KIND_COUNT; kind++) {
        ret_paths[kind] = find_in(own, programs[kind].program, programs[kind].build_folder);
        if (!ret_paths[kind])
            return -ENOENT;
    }
    return 0;
}

static bool is_for_us_alone(const char *variable)
{
    static const char *const names[] = {"NOTIFY_SOCKET=", "LISTEN_", "WATCHDOG_"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

char **programs_environment(void)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **copy = calloc(count + 1, sizeof copy[0]);
    for (size_t i = 0; copy && i < count; i++) {
        if (!is_for_us_alone(environ[i]))
            copy[kept++] = environ[i];
    }
    return copy;
}

static enum config_malloc_trim trim_of(const struct config *config, enum worker_kind kind)
{
    switch (kind) {
    case WORKER_SYNTH:
        return config->synth_malloc_trim;
    case WORKER_GPU:
        return config->gpu_malloc_trim;
    default:
        return config->finalizer_malloc_trim;
    }
}

void programs_worker_arguments(const struct config *config, enum worker_kind kind, uint32_t index,
                               uint32_t slab_count, enum log_level log_level,
                               struct programs_arguments *ret)
{
    uint32_t count = 0;
    *ret = (struct programs_arguments){0};
#define ADD(text) (ret->argv[count++] = (char *)(text))
    snprintf(ret->texts[0], PROGRAMS_ARGUMENT_BYTES, "%u", index);
    snprintf(ret->texts[1], PROGRAMS_ARGUMENT_BYTES, "%d", (int)getpid());
    ADD(programs[kind].program);
    ADD("--index");
    ADD(ret->texts[0]);
    ADD("--parent-pid");
    ADD(ret->texts[1]);
    ADD("--log-level");
    ADD(log_level_to_string(log_level));
    ADD("--event-loop");
    ADD(loop_kind_to_string(config->event_loop));
    ADD("--sandbox");
    ADD(sandbox_policy_to_string(config->sandbox));
    ADD("--malloc-trim");
    ADD(config_malloc_trim_to_string(trim_of(config, kind)));
    if (kind != WORKER_FINALIZER) {
        uint32_t threads = kind == WORKER_GPU ? config->gpu_threads : config->synth_threads;
        snprintf(ret->texts[2], PROGRAMS_ARGUMENT_BYTES, "%u", threads);
        ADD("--threads");
        ADD(ret->texts[2]);
    }
    if (kind == WORKER_GPU) {
        ADD("--backend");
        ADD(config_gpu_backend_to_string(config->gpu_backend));
        if (index < config->gpu_devices.count) {
            ADD("--device");
            ADD(config->gpu_devices.uuids[index]);
        }
        snprintf(ret->texts[3], PROGRAMS_ARGUMENT_BYTES, "%" PRIu64, config->gpu_vram_limit);
        ADD("--vram-limit");
        ADD(ret->texts[3]);
        ADD("--require-pinned");
        ADD(config->gpu_requires_pinned ? "yes" : "no");
        snprintf(ret->texts[4], PROGRAMS_ARGUMENT_BYTES, "%u", slab_count);
        ADD("--slabs");
        ADD(ret->texts[4]);
    }
#undef ADD
    CHECK(count < PROGRAMS_ARGUMENTS_MAX);
}
