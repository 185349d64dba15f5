/* The life of one circuit's key: see circuit_helpers.h. */
#include "supervisor/circuit_helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/units.h"
#include "runtime/check.h"
#include "runtime/log.h"
#include "supervisor/circuits.h"
#include "supervisor/deliveries.h"
#include "supervisor/pipeline.h"
#include "supervisor/report.h"
#include "supervisor/supervisor.h"

/* The descriptors of both kinds of helper. */
enum {
    HELPER_FD_INPUT = 3,
    HELPER_FD_OUTPUT = 4,
    HELPER_FD_RESULT = 5,
    HELPER_FD_R1CS = 6,
};

static void on_prepared(struct helper *helper, const char *line, int status);
static void on_loaded(struct helper *helper, const char *line, int status);

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_files(struct circuit *circuit)
{
    close_one(&circuit->zkey_fd);
    close_one(&circuit->r1cs_fd);
}

static int start_helper(struct circuit *circuit, char *const *argv, const struct child_fd *fds,
                        unsigned fd_count, void (*on_done)(struct helper *, const char *, int))
{
    struct supervisor *supervisor = circuit->supervisor;
    struct cgroup cgroup;
    cgroup_open(&supervisor->cgroups, "helpers", &cgroup);
    const struct child_spec spec = {
        .path = supervisor->workers.paths[WORKER_SYNTH],
        .argv = argv,
        .envp = supervisor->workers.environment,
        .fds = fds,
        .fd_count = fd_count,
        .oom_score_adj = 600, /* the first to go: nothing is lost with it */
        .cgroup_fd = cgroup.procs_fd,
        .no_core = true,
    };
    int r =
        helper_start(supervisor->loop, &spec, HELPER_FD_RESULT, on_done, circuit, &circuit->helper);
    cgroup_close(&cgroup);
    return r;
}

/* What a dead helper has found out: 0 with *ret, or the reason in the circuit's error; -EBADMSG:
 * the file that it read is at fault, -EIO: the host. */
static int read_result(struct circuit *circuit, const char *line, int status, struct facts *ret)
{
    char how[64];
    int r = -EBADMSG;
    circuit->error[0] = '\0';
    if (line)
        r = facts_from_result(line, ret, circuit->error, sizeof circuit->error);
    bool has_ended_well = WIFEXITED(status) && WEXITSTATUS(status) == (r == 0 ? 0 : 1);
    if (!has_ended_well) {
        /* SIGBUS: a page of its memory could not be had. */
        bool is_killed =
            WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGBUS);
        bool is_forbidden = WIFEXITED(status) && WEXITSTATUS(status) == SANDBOX_EXIT;
        r = is_killed ? -EIO : -EBADMSG;
        snprintf(circuit->error, sizeof circuit->error,
                 "the process that read the key ended early (%s); %s",
                 child_status_to_string(status, how, sizeof how),
                 is_killed ? "memory is likely short, or it made no progress: try again when there "
                             "is more"
                 : is_forbidden ? "it made a system call that its sandbox forbids, which the log "
                                  "names: the file may be made to break in"
                                : "the file is likely damaged");
    }
    return r;
}

static void prepare_failed(struct circuit *circuit, enum reply_code code)
{
    circuit->state = CIRCUIT_FAILED;
    circuit->error_code = code;
    log_warn("circuit %s cannot be prepared: %s", circuit->name, circuit->error);
    control_waits_circuit_settled(circuit->supervisor, circuit);
}

void circuit_prepare(struct circuit *circuit, int zkey_fd, int r1cs_fd)
{
    circuit->state = CIRCUIT_PREPARING;
    circuit->zkey_fd = zkey_fd;
    circuit->r1cs_fd = r1cs_fd;
}

void circuit_prepare_start(struct circuit *circuit)
{
    struct circuits *circuits = &circuit->supervisor->circuits;
    char threads[16];
    snprintf(threads, sizeof threads, "%u", circuit->supervisor->config.synth_threads);
    char *argv[] = {(char *)"cuzk-synth",
                    (char *)"--prepare",
                    (char *)"--threads",
                    threads,
                    (char *)"--sandbox",
                    (char *)sandbox_policy_to_string(circuit->supervisor->config.sandbox),
                    circuit->r1cs_fd >= 0 ? (char *)"--r1cs" : NULL,
                    NULL};
    int output = circuit_store_key_begin(&circuits->store, circuit->key);
    int r = output < 0 ? output : 0;
    if (r == 0) {
        const struct child_fd fds[] = {
            {circuit->zkey_fd, HELPER_FD_INPUT},
            {output, HELPER_FD_OUTPUT},
            {circuit->r1cs_fd, HELPER_FD_R1CS},
        };
        r = start_helper(circuit, argv, fds, circuit->r1cs_fd >= 0 ? 3 : 2, on_prepared);
        close(output);
    }
    close_files(circuit);
    if (r == 0) {
        log_info("circuit %s: preparing its key", circuit->name);
        circuits->prepares_running++;
        return;
    }
    circuit_store_key_abort(&circuits->store, circuit->key);
    snprintf(circuit->error, sizeof circuit->error, "cannot begin to prepare the key in %s: %s",
             circuits->store.keys, strerror(-r));
    prepare_failed(circuit, REPLY_FAILED);
}

void circuit_settle_prepared(struct circuit *circuit)
{
    char needed[UNITS_TEXT_BYTES], there[UNITS_TEXT_BYTES], allowed[UNITS_TEXT_BYTES];
    const struct memory *memory = &circuit->supervisor->memory;
    uint64_t step = memory->pages == SLAB_PAGES_OFF ? 4096 : memory->hugepage_bytes;
    uint64_t bytes = circuit_slab_bytes(circuit);
    circuit->ring = memory_ring_for(memory, bytes);
    circuit->state = CIRCUIT_PREPARED;
    circuit->error[0] = '\0';
    circuit->is_too_large = circuit->ring == RINGS_MAX;
    if (!circuit->is_too_large)
        return;
    circuit->state = CIRCUIT_FAILED;
    circuit->error_code = REPLY_FAILED;
    circuit->may_load_again = false;
    snprintf(circuit->error, sizeof circuit->error,
             "one partition needs a slab of %s and the largest has %s: set SlabSize=%s or more in "
             "a [Ring] section and run cuzkctl reload",
             units_print_size(bytes, needed),
             units_print_size(memory_slab_bytes_max(memory), there),
             units_print_size((bytes + step - 1) / step * step, allowed));
}

static int keep(struct circuit *circuit)
{
    struct circuit_store *store = &circuit->supervisor->circuits.store;
    struct circuit_record record = {
        .facts = circuit->facts,
        .source = circuit->source,
        .is_configured = circuit->is_configured,
    };
    memcpy(record.name, circuit->name, sizeof record.name);
    int r = circuit_store_key_keep(store, circuit->key, circuit->facts.key_digest);
    if (r == 0)
        r = circuit_store_save(store, &record);
    if (r < 0)
        snprintf(circuit->error, sizeof circuit->error,
                 "cannot keep the prepared circuit in %s and %s: %s", store->records, store->keys,
                 strerror(-r));
    return r;
}

/* Nothing of a failed preparation stays on disk, also when only the record could not be written. */
static void drop_key(struct circuit *circuit)
{
    struct circuits *circuits = &circuit->supervisor->circuits;
    const struct facts facts = circuit->facts;
    circuit_store_key_abort(&circuits->store, circuit->key);
    circuit->facts = (struct facts){0};
    if (facts.key_digest[0] && !circuits_use_digest(circuits, facts.key_digest))
        circuit_store_key_remove(&circuits->store, facts.key_digest);
}

static void on_prepared(struct helper *helper, const char *line, int status)
{
    struct circuit *circuit = helper->context;
    struct circuits *circuits = &circuit->supervisor->circuits;
    const struct facts before = circuit->facts; /* of a key that the configuration replaces */
    supervisor_take_time(circuit->supervisor);
    int r = read_result(circuit, line, status, &circuit->facts);
    bool is_file = r == -EBADMSG;
    helper_free(helper);
    circuit->helper = NULL;
    circuits->prepares_running--;
    if (r == 0) {
        circuit_settle_prepared(circuit);
        is_file = circuit->state == CIRCUIT_FAILED; /* too large for any slab */
        r = is_file ? -E2BIG : keep(circuit);
    }
    if (r < 0) {
        drop_key(circuit);
        prepare_failed(circuit, is_file ? REPLY_BAD_INPUT : REPLY_FAILED);
        return;
    }
    if (before.key_digest[0] && !circuits_use_digest(circuits, before.key_digest))
        circuit_store_key_remove(&circuits->store, before.key_digest);
    log_info("circuit %s is prepared: %s, %u constraints, %u variables, %u public, domain 2^%u",
             circuit->name, circuit->facts.curve->name, circuit->facts.constraint_count,
             circuit->facts.variable_count, circuit->facts.public_count,
             circuit->facts.domain_log2);
    control_waits_circuit_settled(circuit->supervisor, circuit);
}

static int load_start(struct circuit *circuit, enum slab_pages pages)
{
    struct supervisor *supervisor = circuit->supervisor;
    struct slab_fault fault = {""};
    char name[NAME_BYTES_MAX + 16], threads[16];
    int file = circuit_store_key_open(&supervisor->circuits.store, circuit->facts.key_digest);
    if (file < 0) {
        snprintf(circuit->error, sizeof circuit->error, "its prepared key cannot be opened: %s",
                 strerror(-file));
        return file;
    }
    snprintf(name, sizeof name, "cuzkd-key-%s", circuit->name);
    int r = memory_key_create(&supervisor->memory, name, circuit->facts.file_bytes, pages,
                              &circuit->memory, &fault);
    if (r < 0) {
        snprintf(circuit->error, sizeof circuit->error, "no memory for its key: %s", fault.text);
        close(file);
        return r;
    }
    snprintf(threads, sizeof threads, "%u", supervisor->config.synth_threads);
    char *argv[] = {(char *)"cuzk-synth",
                    (char *)"--load",
                    (char *)"--threads",
                    threads,
                    (char *)"--sandbox",
                    (char *)sandbox_policy_to_string(supervisor->config.sandbox),
                    (char *)"--digest",
                    circuit->facts.key_digest,
                    NULL};
    const struct child_fd fds[] = {
        {file, HELPER_FD_INPUT},
        {circuit->memory.fd, HELPER_FD_OUTPUT},
    };
    r = start_helper(circuit, argv, fds, 2, on_loaded);
    close(file);
    if (r < 0)
        snprintf(circuit->error, sizeof circuit->error, "cannot begin to load its key: %s",
                 strerror(-r));
    return r;
}

void circuit_load(struct circuit *circuit)
{
    circuit->supervisor->circuits.loads_running++;
    circuit->state = CIRCUIT_LOADING;
    if (load_start(circuit, circuit->supervisor->memory.pages) < 0)
        circuit_load_failed(circuit, circuit->error);
    else
        log_info("circuit %s: loading its key", circuit->name);
}

/* Workers get a descriptor that cannot be written through: the key is input of every later proof.
 */
static int share(struct circuit *circuit)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", circuit->memory.fd);
    circuit->shared_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (circuit->shared_fd < 0)
        return -errno;
    circuit->load_number = ++circuit->supervisor->circuits.loads;
    circuit->state = CIRCUIT_SHARING; /* the next tick offers it to the workers */
    return 0;
}

/* Hugepages were promised and came to nothing: under HugePages=prefer ordinary ones do. */
static bool load_on_ordinary_pages(struct circuit *circuit)
{
    struct memory *memory = &circuit->supervisor->memory;
    if (memory->pages != SLAB_PAGES_PREFER || !circuit->memory.is_hugepage)
        return false;
    log_warn("circuit %s: its key does not fit the hugepages (%s); trying ordinary pages",
             circuit->name, circuit->error);
    memory_key_destroy(memory, &circuit->memory);
    if (load_start(circuit, SLAB_PAGES_OFF) < 0)
        circuit_load_failed(circuit, circuit->error);
    return true;
}

static void on_loaded(struct helper *helper, const char *line, int status)
{
    struct circuit *circuit = helper->context;
    struct facts facts;
    supervisor_take_time(circuit->supervisor);
    int r = read_result(circuit, line, status, &facts);
    helper_free(helper);
    circuit->helper = NULL;
    if (r == -EIO && load_on_ordinary_pages(circuit))
        return;
    if (r == -EBADMSG) {
        size_t used = strlen(circuit->error);
        snprintf(circuit->error + used, sizeof circuit->error - used,
                 "; remove the circuit and add it again");
    }
    if (r == 0 && strcmp(facts.key_digest, circuit->facts.key_digest) != 0) {
        snprintf(circuit->error, sizeof circuit->error,
                 "another key was loaded than was asked for");
        r = -EBADMSG;
    }
    if (r == 0) {
        r = memory_key_seal(&circuit->memory);
        if (r == 0)
            r = share(circuit);
        if (r < 0)
            snprintf(circuit->error, sizeof circuit->error, "its memory cannot be shared: %s",
                     strerror(-r));
    }
    if (r < 0)
        circuit_load_failed(circuit, circuit->error);
}

void circuit_load_failed(struct circuit *circuit, const char *why)
{
    char text[sizeof circuit->error];
    snprintf(text, sizeof text, "%s", why); /* may be the circuit's own */
    memcpy(circuit->error, text, sizeof text);
    log_error("circuit %s cannot be loaded: %s; the jobs that wait for it fail", circuit->name,
              circuit->error);
    CHECK(circuit->supervisor->circuits.loads_running > 0);
    circuit->supervisor->circuits.loads_running--;
    deliveries_drop_key(circuit->supervisor, circuit->key);
    circuit_unload(circuit);
    circuit->state = CIRCUIT_PREPARED;
    circuit_fail_jobs(circuit);
}

void circuit_give_up(struct circuit *circuit, const char *why, bool may_load_again)
{
    if (circuit->state == CIRCUIT_SHARING)
        circuit->supervisor->circuits.loads_running--;
    snprintf(circuit->error, sizeof circuit->error, "%s", why);
    log_error("circuit %s cannot be used: %s; its jobs fail", circuit->name, circuit->error);
    circuit_fail_jobs(circuit); /* while the state still says where its slots are */
    circuit->state = CIRCUIT_FAILED;
    circuit->may_load_again = may_load_again;
    deliveries_unwant_key(circuit->supervisor, circuit->key);
}

void circuit_unload(struct circuit *circuit)
{
    circuit->is_shared = false;
    circuit->is_key_suspect = false;
    circuit->key_deaths = 0;
    memset(circuit->plans, 0, sizeof circuit->plans);
    close_one(&circuit->shared_fd);
    if (circuit->memory.fd >= 0)
        memory_key_destroy(&circuit->supervisor->memory, &circuit->memory);
}

static void report_and_drop(struct supervisor *supervisor, struct job *job)
{
    report_job(job);
    pipeline_drop_job(supervisor, job);
}

void circuit_fail_jobs(struct circuit *circuit)
{
    struct supervisor *supervisor = circuit->supervisor;
    char text[sizeof circuit->error + NAME_BYTES_MAX + 64];
    snprintf(text, sizeof text, "circuit %s cannot be loaded: %s", circuit->name, circuit->error);
    for (struct job *job = supervisor->jobs.active.first, *next; job; job = next) {
        next = job->next;
        if (job->is_pending || strcmp(job->circuit, circuit->name) != 0)
            continue;
        if (jobs_fail(&supervisor->jobs, job, REPLY_FAILED, JOB_PARTITION_NONE, text,
                      supervisor->now_ns))
            report_and_drop(supervisor, job);
    }
}

void circuit_helpers_abort(struct circuit *circuit)
{
    close_files(circuit);
    helper_free(circuit->helper);
    circuit->helper = NULL;
}
