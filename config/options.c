/* The table itself; look-ups below it. Downstream: parse.c, print.c, make_text.c. */
#include "config/options.h"

#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "config/socket_path.h"
#include "config/units.h"

#define MIB    (UINT64_C(1) << 20)
#define GIB    (UINT64_C(1) << 30)
#define SECOND UINT64_C(1000000000)

enum {
    /* Leaves room for the names of files inside a configured directory. */
    OPTION_PATH_BYTES = PATH_BYTES_MAX - 256,
    OPTION_THREADS_MAX = 1024,
};

static const struct option_choice event_loops[] = {
    {"auto", LOOP_AUTO}, {"io_uring", LOOP_IO_URING}, {"ppoll", LOOP_PPOLL}, {NULL, 0}};
static const struct option_choice sandboxes[] = {
    {"require", SANDBOX_REQUIRE}, {"prefer", SANDBOX_PREFER}, {"off", SANDBOX_OFF}, {NULL, 0}};
static const struct option_choice log_levels[] = {{"error", LOG_LEVEL_ERROR},
                                                  {"warn", LOG_LEVEL_WARN},
                                                  {"info", LOG_LEVEL_INFO},
                                                  {"debug", LOG_LEVEL_DEBUG},
                                                  {NULL, 0}};
static const struct option_choice huge_pages[] = {{"require", CONFIG_HUGE_PAGES_REQUIRE},
                                                  {"prefer", CONFIG_HUGE_PAGES_PREFER},
                                                  {"off", CONFIG_HUGE_PAGES_OFF},
                                                  {NULL, 0}};
static const struct option_choice huge_page_sizes[] = {{"2M", 2 * MIB}, {"1G", GIB}, {NULL, 0}};
static const struct option_choice malloc_trims[] = {{"always", CONFIG_MALLOC_TRIM_ALWAYS},
                                                    {"idle", CONFIG_MALLOC_TRIM_IDLE},
                                                    {"off", CONFIG_MALLOC_TRIM_OFF},
                                                    {NULL, 0}};
static const struct option_choice evaluates[] = {{"auto", CONFIG_EVALUATE_AUTO},
                                                 {"gpu", CONFIG_EVALUATE_GPU},
                                                 {"cpu", CONFIG_EVALUATE_CPU},
                                                 {NULL, 0}};
static const struct option_choice yes_or_no[] = {{"yes", 1}, {"no", 0}, {NULL, 0}};
static const struct option_choice gpu_backends[] = {{"cuda", CONFIG_GPU_BACKEND_CUDA},
                                                    {"cpu", CONFIG_GPU_BACKEND_CPU},
                                                    {"auto", CONFIG_GPU_BACKEND_AUTO},
                                                    {NULL, 0}};

const struct option_section option_sections[] = {
    {"Supervisor", OPTION_PLAIN, "The daemon itself: sockets, folders, recovery."},
    {"Ring", OPTION_PLAIN | OPTION_NAMED,
     "Pinned shared memory for partitions in flight. The plain section is one size class of slabs; "
     "[Ring \"name\"] adds another. A partition takes a slab of the smallest class it fits."},
    {"Synthesis", OPTION_PLAIN,
     "Processes that read and check witnesses and evaluate constraints."},
    {"GPU", OPTION_PLAIN, "Processes that compute proofs, one a device."},
    {"Finalizer", OPTION_PLAIN, "Processes that assemble and verify proofs."},
    {"Circuit", OPTION_NAMED,
     "[Circuit \"name\"] registers a circuit at start, as `cuzkctl circuit add` does."},
};
const unsigned option_section_count = sizeof option_sections / sizeof option_sections[0];

#define IN_CONFIG(field)  OPTION_OF_CONFIG, offsetof(struct config, field)
#define IN_RING(field)    OPTION_OF_RING, offsetof(struct config_ring, field)
#define IN_CIRCUIT(field) OPTION_OF_CIRCUIT, offsetof(struct config_circuit, field)

#define MALLOC_TRIM_HELP                                                                           \
    "When a worker returns freed heap memory to the kernel: after every partition, when it has "   \
    "nothing to do, or never."
#define THREADS_HELP "Threads of each worker. 0: as many as the cores this service may use."

#define RECYCLE_AFTER_HELP                                                                         \
    "A worker is replaced after so many partitions: between two of them, one worker of the kind "  \
    "at a time, and nothing is lost. 0: never."
#define RECYCLE_FRAGMENTATION_HELP                                                                 \
    "The same when so many percent of a worker's heap, and 64M at least, are free inside it "      \
    "though it was trimmed. 0: never."
#define RECYCLE_ROWS(section, field)                                                               \
    {section, "RecycleAfter", OPTION_PLAIN, OPTION_INTEGER,    IN_CONFIG(field.after), "0",        \
     0,       1000000000,     NULL,         RECYCLE_AFTER_HELP},                                   \
    {                                                                                              \
        section, "RecycleFragmentation", OPTION_PLAIN, OPTION_INTEGER,                             \
            IN_CONFIG(field.fragmentation_percent), "0", 0, 99, NULL, RECYCLE_FRAGMENTATION_HELP   \
    }

const struct option options[] = {
    {"Supervisor", "Socket", OPTION_PLAIN, OPTION_PATH, IN_CONFIG(socket_path), SOCKET_PATH_DEFAULT,
     2, SOCKET_PATH_BYTES - 1, NULL,
     "Unix socket on which clients submit jobs. A missing parent folder is made."},
    {"Supervisor", "AdminSocket", OPTION_PLAIN, OPTION_PATH, IN_CONFIG(admin_socket_path), "", 2,
     SOCKET_PATH_BYTES - 1, NULL,
     "Unix socket on which operators manage circuits and see every job. When not given: Socket= "
     "with -admin before .sock. Clients find it by that rule."},
    {"Supervisor", "SocketMode", OPTION_PLAIN, OPTION_MODE, IN_CONFIG(socket_mode), "0660", 0, 0777,
     NULL,
     "Who may submit jobs: the mode of Socket=. Whoever may write to it may connect. A socket of "
     "the service manager comes with its own."},
    {"Supervisor", "SocketGroup", OPTION_PLAIN, OPTION_GROUP, IN_CONFIG(socket_group), "", 0, 32,
     NULL,
     "Group that Socket= belongs to, by name or number. When not given: the service's own. The "
     "service must be in it, or root."},
    {"Supervisor", "AdminSocketMode", OPTION_PLAIN, OPTION_MODE, IN_CONFIG(admin_socket_mode),
     "0600", 0, 0777, NULL,
     "Who may operate the service: the mode of AdminSocket=. Whoever can connect there sees every "
     "job and may add and remove circuits."},
    {"Supervisor", "AdminSocketGroup", OPTION_PLAIN, OPTION_GROUP, IN_CONFIG(admin_socket_group),
     "", 0, 32, NULL,
     "Group that AdminSocket= belongs to, as SocketGroup=; needs AdminSocketMode=0660."},
    {"Supervisor", "StateDirectory", OPTION_PLAIN, OPTION_PATH, IN_CONFIG(state_directory),
     "/var/lib/cuzkd", 1, OPTION_PATH_BYTES, NULL,
     "Keeps what must survive a restart: circuits, jobs and results."},
    {"Supervisor", "CacheDirectory", OPTION_PLAIN, OPTION_PATH, IN_CONFIG(cache_directory),
     "/var/cache/cuzkd", 1, OPTION_PATH_BYTES, NULL,
     "Keeps prepared proving keys: about as large as the .zkey files together."},
    {"Supervisor", "SpoolDirectory", OPTION_PLAIN, OPTION_PATH, IN_CONFIG(spool_directory), "", 1,
     OPTION_PATH_BYTES, NULL,
     "Keeps copies of witness files from submit to the end of the job. When not given: spool in "
     "StateDirectory=. Witnesses are secret: if the disk can be stolen, let it be an encrypted "
     "one. On the file system that clients keep their files on, with shared extents (btrfs, XFS), "
     "nothing is copied."},
    {"Supervisor", "SpoolSize", OPTION_PLAIN, OPTION_SIZE, IN_CONFIG(spool_bytes_max), "0", 0,
     16384 * GIB, NULL,
     "What all witness files in the spool may take together; beyond it jobs are answered busy. 0: "
     "the disk, but for a reserve (a 20th of it, 64M to 1G)."},
    {"Supervisor", "IntakeTimeout", OPTION_PLAIN, OPTION_TIME, IN_CONFIG(intake_timeout_ns), "30s",
     SECOND, 3600 * SECOND, NULL,
     "How long 4 MiB of a client's file, or the rest of it, may take to be read into the spool. "
     "One that is slower, or hangs, is refused."},
    {"Supervisor", "EventLoop", OPTION_PLAIN, OPTION_CHOICE, IN_CONFIG(event_loop), "auto", 0, 0,
     event_loops,
     "How every process waits. auto takes io_uring and, where the kernel refuses it, ppoll."},
    {"Supervisor", "LogLevel", OPTION_PLAIN, OPTION_CHOICE, IN_CONFIG(log_level), "info", 0, 0,
     log_levels, "The least important lines that are logged."},
    {"Supervisor", "Sandbox", OPTION_PLAIN, OPTION_CHOICE, IN_CONFIG(sandbox), "prefer", 0, 0,
     sandboxes,
     "Workers give up files (Landlock) and system calls (seccomp) before they read what a client "
     "gave. require refuses to start where the kernel cannot do both; prefer does what it can and "
     "says in log and status what is missing, since kernels and containers differ and proofs are "
     "checked all the same; off is for finding faults."},
    {"Supervisor", "AttemptsMax", OPTION_PLAIN, OPTION_INTEGER, IN_CONFIG(attempts_max), "5", 1,
     100, NULL, "How often a partition may take a worker down before its job fails."},
    {"Supervisor", "StallTimeout", OPTION_PLAIN, OPTION_TIME, IN_CONFIG(stall_timeout_ns), "2min",
     0, 24 * 3600 * SECOND, NULL,
     "A worker that has something to do and makes no progress for so long is killed and replaced; "
     "one that advances, however slowly, never is. Starting may take twice, giving heap memory "
     "back five times as long. 0: never."},
    {"Supervisor", "StopTimeout", OPTION_PLAIN, OPTION_TIME, IN_CONFIG(stop_timeout_ns), "30s",
     SECOND / 10, 3600 * SECOND, NULL,
     "How long a stop goes on with the jobs taken before it ends the workers. What is not finished "
     "by then goes on at the next start."},
    {"Supervisor", "ResultsMax", OPTION_PLAIN, OPTION_INTEGER, IN_CONFIG(results_max), "1000000", 1,
     100000000, NULL,
     "Ended jobs of which the result is kept. Where that many are younger than ResultsAge= no job "
     "is taken: an advertised result is not cut."},
    {"Supervisor", "ResultsAge", OPTION_PLAIN, OPTION_TIME, IN_CONFIG(results_age_ns), "24h",
     SECOND, 3650 * 24 * 3600 * SECOND, NULL, "How long a result is kept after its job has ended."},
    {"Supervisor", "ResultsSize", OPTION_PLAIN, OPTION_SIZE, IN_CONFIG(results_bytes), "10G", MIB,
     1024 * GIB, NULL,
     "Disk that kept results may take together. Beyond it no job is taken until some have reached "
     "ResultsAge=."},
    {"Supervisor", "UserJobsMax", OPTION_PLAIN, OPTION_INTEGER, IN_CONFIG(user_jobs_max), "0", 0,
     JOBS_ACTIVE_MAX, NULL,
     "Jobs of one user that may wait or run at once; more are answered busy. 0: as many as the "
     "daemon takes."},
    {"Supervisor", "UserBytesMax", OPTION_PLAIN, OPTION_SIZE, IN_CONFIG(user_bytes_max), "0", 0,
     1024 * GIB, NULL,
     "Bytes of witnesses of one user's jobs that wait or run. 0: no limit. One job alone is always "
     "taken."},

    {"Ring", "HugePages", OPTION_PLAIN, OPTION_CHOICE, IN_CONFIG(huge_pages), "require", 0, 0,
     huge_pages,
     "require refuses to start when hugepages are short; prefer takes ordinary pages then, with a "
     "warning; off takes ordinary pages. Uploads to a GPU from ordinary pages are slower."},
    {"Ring", "HugePageSize", OPTION_PLAIN, OPTION_SIZE, IN_CONFIG(huge_page_bytes), "2M", 2 * MIB,
     GIB, huge_page_sizes, "Size of a hugepage. SlabSize= is to be a multiple of it."},
    {"Ring", "Slabs", OPTION_PLAIN | OPTION_NAMED, OPTION_INTEGER, IN_RING(slab_count), "4", 1,
     SLABS_MAX, NULL, "Number of slabs: partitions that may be between synthesis and proof."},
    {"Ring", "SlabSize", OPTION_PLAIN | OPTION_NAMED, OPTION_SIZE, IN_RING(slab_bytes), "256M", MIB,
     1024 * GIB, NULL,
     "Size of one slab. It holds a witness, 32 bytes a wire, and unless the card evaluates "
     "(Evaluate=) two evaluations, 64 bytes a point of the domain. A circuit that fits no slab is "
     "refused when it is added, with the size it needs."},

    {"Synthesis", "Workers", OPTION_PLAIN, OPTION_INTEGER, IN_CONFIG(synth_workers), "1", 1,
     SYNTH_WORKERS_MAX, NULL, "Number of processes."},
    {"Synthesis", "Threads", OPTION_PLAIN, OPTION_INTEGER, IN_CONFIG(synth_threads), "0", 0,
     OPTION_THREADS_MAX, NULL, THREADS_HELP},
    {"Synthesis", "MallocTrim", OPTION_PLAIN, OPTION_CHOICE, IN_CONFIG(synth_malloc_trim), "idle",
     0, 0, malloc_trims, MALLOC_TRIM_HELP},
    RECYCLE_ROWS("Synthesis", synth_recycle),
    {"Synthesis", "Evaluate", OPTION_PLAIN, OPTION_CHOICE, IN_CONFIG(synth_evaluate), "auto", 0, 0,
     evaluates,
     "Who evaluates the constraints. gpu: the card, from matrices that lie in its memory; slabs "
     "then "
     "hold the witness alone and a third or less crosses the bus. cpu: synthesis, into the slab. "
     "auto: gpu with Backend=cuda, otherwise cpu."},

    {"GPU", "Backend", OPTION_PLAIN, OPTION_CHOICE, IN_CONFIG(gpu_backend), "cuda", 0, 0,
     gpu_backends,
     "cuda refuses to start without a usable NVIDIA GPU; cpu proves on the processor; auto takes "
     "cpu where there is no card or no CUDA backend, with a warning; a card that cannot be used "
     "ends "
     "the start as with cuda."},
    {"GPU", "Devices", OPTION_PLAIN, OPTION_DEVICES, IN_CONFIG(gpu_devices_text), "auto", 0, 0,
     NULL,
     "The cards to prove on, one process each: UUIDs as `nvidia-smi -L` shows them, separated by "
     "spaces. auto: the first card that can be used."},
    {"GPU", "VramLimit", OPTION_PLAIN, OPTION_SIZE, IN_CONFIG(gpu_vram_limit), "0", 0, 16384 * GIB,
     NULL,
     "Memory of each card that may be used. What does not fit of a key is streamed from host "
     "memory underneath the computation. 0: all that is free at start."},
    {"GPU", "RequirePinned", OPTION_PLAIN, OPTION_CHOICE, IN_CONFIG(gpu_requires_pinned), "yes", 0,
     0, yes_or_no,
     "yes refuses to start when host memory cannot be registered with the card (pinned); no goes "
     "on "
     "with ordinary copies, several times slower, and says so in log and status."},
    {"GPU", "Threads", OPTION_PLAIN, OPTION_INTEGER, IN_CONFIG(gpu_threads), "0", 0,
     OPTION_THREADS_MAX, NULL, THREADS_HELP},
    {"GPU", "MallocTrim", OPTION_PLAIN, OPTION_CHOICE, IN_CONFIG(gpu_malloc_trim), "idle", 0, 0,
     malloc_trims, MALLOC_TRIM_HELP},
    RECYCLE_ROWS("GPU", gpu_recycle),

    {"Finalizer", "Workers", OPTION_PLAIN, OPTION_INTEGER, IN_CONFIG(finalizer_workers), "1", 1,
     FINALIZER_WORKERS_MAX, NULL, "Number of processes."},
    {"Finalizer", "MallocTrim", OPTION_PLAIN, OPTION_CHOICE, IN_CONFIG(finalizer_malloc_trim),
     "always", 0, 0, malloc_trims, MALLOC_TRIM_HELP},
    RECYCLE_ROWS("Finalizer", finalizer_recycle),

    {"Circuit", "Zkey", OPTION_NAMED, OPTION_PATH, IN_CIRCUIT(zkey_path), NULL, 2,
     OPTION_PATH_BYTES, NULL,
     "The proving key (snarkjs .zkey, Groth16), or one that is prepared already. Required."},
    {"Circuit", "R1cs", OPTION_NAMED, OPTION_PATH, IN_CIRCUIT(r1cs_path), "", 2, OPTION_PATH_BYTES,
     NULL,
     "The circuit's .r1cs. With it every witness is checked against the constraints before it is "
     "proved, and the first broken one is named."},
};
const unsigned option_count = sizeof options / sizeof options[0];

static const struct option_removal removals[] = {{0}};
const struct option_removal *option_removals = removals;

const struct option_section *option_section_find(const char *name)
{
    for (unsigned i = 0; i < option_section_count; i++)
        if (strcmp(option_sections[i].name, name) == 0)
            return &option_sections[i];
    return NULL;
}

const struct option *option_find(const char *section, unsigned scope, const char *key)
{
    for (unsigned i = 0; i < option_count; i++)
        if (strcmp(options[i].section, section) == 0 && (options[i].scope & scope) &&
            strcmp(options[i].key, key) == 0)
            return &options[i];
    return NULL;
}

static const char *choices_text(const struct option_choice *choices, char *ret, size_t bytes)
{
    size_t used = 0;
    ret[0] = '\0';
    for (unsigned i = 0; choices[i].name && used < bytes; i++) {
        const char *between = i == 0 ? "" : choices[i + 1].name ? ", " : " or ";
        used += (size_t)snprintf(ret + used, bytes - used, "%s%s", between, choices[i].name);
    }
    return ret;
}

const char *option_range(const struct option *option, char *ret, size_t bytes)
{
    char low[UNITS_TEXT_BYTES], high[UNITS_TEXT_BYTES];

    if (option->choices)
        return choices_text(option->choices, ret, bytes);
    switch (option->type) {
    case OPTION_PATH:
        snprintf(ret, bytes, "an absolute path of at most %llu bytes",
                 (unsigned long long)option->max);
        break;
    case OPTION_SIZE:
        snprintf(ret, bytes, "%s to %s", units_print_size(option->min, low),
                 units_print_size(option->max, high));
        break;
    case OPTION_TIME:
        snprintf(ret, bytes, "%s to %s", units_print_time(option->min, low),
                 units_print_time(option->max, high));
        break;
    case OPTION_MODE:
        snprintf(ret, bytes, "%04o to %04o (octal)", (unsigned)option->min, (unsigned)option->max);
        break;
    case OPTION_GROUP:
        snprintf(ret, bytes, "the name or number of a group, at most %u bytes",
                 (unsigned)option->max);
        break;
    case OPTION_DEVICES:
        snprintf(ret, bytes, "auto, or at most %d different UUIDs (GPU-... or MIG-...)",
                 GPU_WORKERS_MAX);
        break;
    case OPTION_INTEGER:
    case OPTION_CHOICE:
        snprintf(ret, bytes, "%llu to %llu", (unsigned long long)option->min,
                 (unsigned long long)option->max);
        break;
    }
    return ret;
}
