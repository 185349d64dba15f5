/* The supervisor's records against what the kernel says: see check.h. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/notify.h"
#include "shm/hugepages.h"
#include "shm/intake_packet.h"
#include "shm/port.h"
#include "supervisor/check.h"
#include "supervisor/supervisor.h"

/* ---- processes ---- */

static bool is_known_child(const struct supervisor *supervisor, pid_t pid)
{
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        if (supervisor->workers.entries[i].child.pid == pid)
            return true;
    }
    for (uint32_t key = 0; key < CIRCUITS_MAX; key++) {
        const struct circuit *circuit = supervisor->circuits.entries[key];
        if (circuit && circuit->helper && circuit->helper->child.pid == pid)
            return true;
    }
    for (uint32_t i = 0; i < INTAKE_WORKERS_MAX; i++) {
        if (supervisor->intake.workers[i].child.pid == pid)
            return true;
    }
    return supervisor->resize.is_making && supervisor->resize.making.child.pid == pid;
}

struct process {
    pid_t pid, parent;
    char name[32];
    bool holds_members; /* the lock that every worker inherits */
};

/* False: it has ended meanwhile. */
static bool read_process(int proc, const char *entry, const struct stat *members,
                         struct process *ret)
{
    char path[64], text[256];
    struct stat status;
    int parent;
    char state;
    snprintf(path, sizeof path, "%.20s/stat", entry);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t bytes = read(fd, text, sizeof text - 1);
    close(fd);
    if (bytes <= 0)
        return false;
    text[bytes] = '\0';
    /* The name may hold anything, a parenthesis too: what follows begins behind the last one. */
    char *open = strchr(text, '('), *end = strrchr(text, ')');
    if (!open || !end || sscanf(end + 1, " %c %d", &state, &parent) != 2)
        return false;
    *end = '\0';
    *ret = (struct process){.pid = (pid_t)atoi(entry), .parent = parent};
    snprintf(ret->name, sizeof ret->name, "%s", open + 1);
    snprintf(path, sizeof path, "%.20s/fd/%d", entry, PORT_FD_MEMBERS);
    ret->holds_members = members && fstatat(proc, path, &status, 0) == 0 &&
                         status.st_dev == members->st_dev && status.st_ino == members->st_ino;
    return true;
}

void check_processes(const struct supervisor *supervisor, struct check_finding *finding)
{
    struct stat members;
    bool has_members = supervisor->members_fd > 0 && fstat(supervisor->members_fd, &members) == 0;
    uint32_t children = 0, expected = 0;
    DIR *proc = opendir("/proc");
    if (!proc) {
        check_skip(finding, "/proc cannot be read");
        return;
    }
    for (struct dirent *entry; (entry = readdir(proc));) {
        struct process process;
        if (!isdigit((unsigned char)entry->d_name[0]) ||
            !read_process(dirfd(proc), entry->d_name, has_members ? &members : NULL, &process) ||
            process.pid == getpid())
            continue;
        bool is_child = process.parent == getpid();
        bool is_known = is_child && is_known_child(supervisor, process.pid);
        children += is_child;
        if (is_child && !is_known)
            check_fault(finding, "process %d (%s) is a child of ours that no record names",
                        (int)process.pid, process.name);
        else if (process.holds_members && !is_known)
            check_fault(finding, "process %d (%s) is a worker of ours that no record names",
                        (int)process.pid, process.name);
    }
    closedir(proc);
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        const struct worker *worker = &supervisor->workers.entries[i];
        bool is_up = worker->state == WORKER_RUNNING || worker->state == WORKER_STARTING;
        expected += worker->child.pid > 0;
        if (is_up && worker->child.pid <= 0)
            check_fault(finding, "%s is said to run and has no process", worker->name);
        else if (is_up && kill(worker->child.pid, 0) < 0 && errno == ESRCH)
            check_fault(finding, "%s is said to run as process %d, which is gone", worker->name,
                        (int)worker->child.pid);
    }
    check_note(finding, "%u children, %u of them workers", children, expected);
}

/* ---- descriptors ---- */

static const char *const descriptor_names[CHECK_DESCRIPTOR_COUNT] = {
    [CHECK_DESCRIPTOR_MEMFD] = "memory files",
    [CHECK_DESCRIPTOR_SOCKET] = "sockets",
    [CHECK_DESCRIPTOR_EVENTFD] = "event counters",
    [CHECK_DESCRIPTOR_PIDFD] = "process descriptors",
    [CHECK_DESCRIPTOR_PIPE] = "pipes",
    [CHECK_DESCRIPTOR_FILE] = "files and folders",
    [CHECK_DESCRIPTOR_OTHER] = "others",
};

static enum check_descriptor kind_of(const char *target)
{
    static const struct {
        const char *start;
        enum check_descriptor kind;
    } starts[] = {
        {"/memfd:", CHECK_DESCRIPTOR_MEMFD},
        {"/anon_hugepage", CHECK_DESCRIPTOR_MEMFD},
        {"socket:", CHECK_DESCRIPTOR_SOCKET},
        {"anon_inode:[eventfd]", CHECK_DESCRIPTOR_EVENTFD},
        {"anon_inode:[pidfd]", CHECK_DESCRIPTOR_PIDFD},
        {"pidfd:", CHECK_DESCRIPTOR_PIDFD}, /* since Linux 6.9 */
        {"pipe:", CHECK_DESCRIPTOR_PIPE},
        {"/", CHECK_DESCRIPTOR_FILE},
    };
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        if (strncmp(target, starts[i].start, strlen(starts[i].start)) == 0)
            return starts[i].kind;
    }
    return CHECK_DESCRIPTOR_OTHER;
}

static bool count_open(int32_t counts[static CHECK_DESCRIPTOR_COUNT])
{
    DIR *folder = opendir("/proc/self/fd");
    if (!folder)
        return false;
    memset(counts, 0, CHECK_DESCRIPTOR_COUNT * sizeof counts[0]);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char target[128];
        if (!isdigit((unsigned char)entry->d_name[0]) || atoi(entry->d_name) == dirfd(folder))
            continue;
        ssize_t bytes = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        if (bytes < 0)
            continue;
        target[bytes] = '\0';
        counts[kind_of(target)]++;
    }
    closedir(folder);
    return true;
}

static void explain_worker(const struct worker *worker, int32_t counts[CHECK_DESCRIPTOR_COUNT])
{
    counts[CHECK_DESCRIPTOR_MEMFD] -= worker->channel.fd >= 0;
    counts[CHECK_DESCRIPTOR_EVENTFD] -= (worker->bell_in >= 0) + (worker->bell_out >= 0);
    counts[CHECK_DESCRIPTOR_SOCKET] -= worker->courier >= 0;
    counts[CHECK_DESCRIPTOR_PIDFD] -= worker->child.pidfd >= 0;
    counts[CHECK_DESCRIPTOR_PIDFD] -= worker_check_is_open(worker);
    counts[CHECK_DESCRIPTOR_PIPE] -= worker_check_is_open(worker);
    counts[CHECK_DESCRIPTOR_FILE] -= worker->cgroup.is_open ? 2 : 0; /* its folder, its list */
}

/* A witness may be a file or a memory file of its client's. */
static void explain_one(int fd, int32_t counts[CHECK_DESCRIPTOR_COUNT])
{
    char path[48], target[128];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t bytes = fd < 0 ? -1 : readlink(path, target, sizeof target - 1);
    if (bytes < 0)
        return;
    target[bytes] = '\0';
    counts[kind_of(target)]--;
}

/* Witnesses that wait or are on their way into the spool: there are some when the service becomes
 * ready with jobs of an earlier life. */
static void explain_inputs(const struct supervisor *supervisor,
                           int32_t counts[CHECK_DESCRIPTOR_COUNT])
{
    for (uint32_t i = 0; i < SLOTS_MAX; i++) {
        const struct slot *slot = &supervisor->slots.entries[i];
        if (slot->state == SLOT_FREE)
            continue;
        explain_one(slot->input.fd, counts);
        explain_one(slot->public_fd, counts);
    }
    for (const struct intake_batch *batch = supervisor->intake.first; batch; batch = batch->next) {
        for (uint32_t i = 0; i < batch->count; i++) {
            explain_one(batch->descriptors[i], counts);
            explain_one(batch->files[i].fd, counts);
        }
    }
}

bool check_unexplained(const struct supervisor *supervisor,
                       int32_t ret[static CHECK_DESCRIPTOR_COUNT], uint32_t *ret_open_count)
{
    const struct memory *memory = &supervisor->memory;
    if (!count_open(ret))
        return false;
    *ret_open_count = 0;
    for (int kind = 0; kind < CHECK_DESCRIPTOR_COUNT; kind++)
        *ret_open_count += (uint32_t)ret[kind];
    explain_inputs(supervisor, ret);
    ret[CHECK_DESCRIPTOR_MEMFD] -= (int32_t)notify_owed_descriptors(); /* slabs and tables */
    for (uint32_t i = 0; i < supervisor->workers.count; i++)
        explain_worker(&supervisor->workers.entries[i], ret);
    for (uint32_t i = 0; i < INTAKE_WORKERS_MAX; i++) {
        const struct intake_worker *worker = &supervisor->intake.workers[i];
        if (worker->state == INTAKE_DOWN)
            continue;
        ret[CHECK_DESCRIPTOR_PIDFD] -= worker->child.pidfd >= 0;
        ret[CHECK_DESCRIPTOR_SOCKET] -= worker->socket >= 0;
    }
    for (uint32_t i = 0; i < memory->slab_count; i++)
        ret[CHECK_DESCRIPTOR_MEMFD] -= memory->slabs[i].fd >= 0;
    for (uint32_t i = 0; i < memory->ring_count; i++)
        ret[CHECK_DESCRIPTOR_MEMFD] -= memory->rings[i].ring.table != NULL;
    for (uint32_t key = 0; key < CIRCUITS_MAX; key++) {
        const struct circuit *circuit = supervisor->circuits.entries[key];
        if (!circuit)
            continue;
        ret[CHECK_DESCRIPTOR_MEMFD] -= (circuit->memory.fd >= 0) + (circuit->shared_fd >= 0);
        ret[CHECK_DESCRIPTOR_FILE] -= (circuit->zkey_fd >= 0) + (circuit->r1cs_fd >= 0);
        ret[CHECK_DESCRIPTOR_PIDFD] -= circuit->helper != NULL;
        ret[CHECK_DESCRIPTOR_PIPE] -= circuit->helper != NULL;
    }
    for (const struct control_client *client = supervisor->control.clients; client;
         client = client->next)
        ret[CHECK_DESCRIPTOR_SOCKET] -= client->stream.fd >= 0;
    return true;
}

void check_descriptors(const struct supervisor *supervisor, struct check_finding *finding)
{
    const struct check_baseline *baseline = &supervisor->check_baseline;
    int32_t now[CHECK_DESCRIPTOR_COUNT];
    uint32_t open_count;
    if (!baseline->is_there) {
        check_skip(finding, "since the start no moment came without a descriptor on its way");
        return;
    }
    if (!check_unexplained(supervisor, now, &open_count)) {
        check_skip(finding, "/proc/self/fd cannot be read");
        return;
    }
    for (int kind = 0; kind < CHECK_DESCRIPTOR_COUNT; kind++) {
        int32_t more = now[kind] - baseline->unexplained[kind];
        if (more != 0)
            check_fault(finding, "%d %s %s open than the records explain", abs(more),
                        descriptor_names[kind], more > 0 ? "more are" : "fewer are");
    }
    check_note(finding, "%u open beside connections, as the records say",
               open_count - supervisor->control.client_count);
}

/* ---- memory ---- */

static void check_slab(const struct slab *slab, const char *what, uint32_t index, bool is_whole,
                       struct check_finding *finding)
{
    struct stat status;
    if (fstat(slab->fd, &status) < 0) {
        check_fault(finding, "%s %u: its descriptor is not open", what, index);
        return;
    }
    uint64_t allocated = (uint64_t)status.st_blocks * 512;
    if ((uint64_t)status.st_size != slab->bytes)
        check_fault(finding, "%s %u has %lld bytes and is to have %zu", what, index,
                    (long long)status.st_size, slab->bytes);
    else if (is_whole && allocated < slab->bytes)
        check_fault(finding, "%s %u has pages for %" PRIu64 " of its %zu bytes", what, index,
                    allocated, slab->bytes);
}

void check_memory(const struct supervisor *supervisor, struct check_finding *finding)
{
    const struct memory *memory = &supervisor->memory;
    struct hugepages pool;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < memory->slab_count; i++) {
        if (memory->slabs[i].fd < 0)
            continue;
        check_slab(&memory->slabs[i], "slab", i, true, finding);
        bytes += memory->slabs[i].bytes;
    }
    for (uint32_t key = 0; key < CIRCUITS_MAX; key++) {
        const struct circuit *circuit = supervisor->circuits.entries[key];
        if (circuit && circuit->memory.fd >= 0)
            check_slab(&circuit->memory, "key", key, circuit->state == CIRCUIT_LOADED, finding);
    }
    if (bytes != memory->slab_bytes_total)
        check_fault(finding, "slabs have %" PRIu64 " bytes and count %" PRIu64, bytes,
                    memory->slab_bytes_total);
    /* Others may use the pool as well: what it has left is told, not judged. */
    if (memory->is_hugepage && hugepages_read(memory->hugepage_bytes, &pool) == 0)
        check_note(finding,
                   "%" PRIu64 " bytes of slabs, %" PRIu64 " of keys; %" PRIu64
                   " hugepages of the machine are free",
                   bytes, memory->key_bytes_total, hugepages_available(&pool));
    else
        check_note(finding, "%" PRIu64 " bytes of slabs, %" PRIu64 " of keys", bytes,
                   memory->key_bytes_total);
}

/* ---- spool ---- */

void check_spool(const struct supervisor *supervisor, struct check_finding *finding)
{
    struct spool_figures figures;
    uint64_t strangers = 0;
    if (!supervisor->spool.space) {
        check_skip(finding, "there is no spool");
        return;
    }
    int fd = openat(supervisor->spool.folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        if (fd >= 0)
            close(fd);
        check_fault(finding, "the spool folder cannot be read: %s", strerror(errno));
        return;
    }
    /* Nothing is in flight: no file has a job. */
    for (struct dirent *entry; (entry = readdir(folder));) {
        uint64_t job;
        uint32_t partition;
        bool is_part;
        if (entry->d_name[0] == '.')
            continue;
        if (intake_name_parse(entry->d_name, &job, &partition, &is_part) < 0)
            strangers++;
        else
            check_fault(finding, "%s lies in the spool, and its job has ended", entry->d_name);
    }
    closedir(folder);
    spool_figures(supervisor, &figures);
    if (figures.bytes != 0 || figures.files != 0 || figures.pending_bytes != 0)
        check_fault(finding,
                    "the spool counts %" PRIu64 " files, %" PRIu64 " bytes and %" PRIu64
                    " bytes to come, and none is wanted",
                    figures.files, figures.bytes, figures.pending_bytes);
    check_note(finding, "empty; %" PRIu64 " files of others", strangers);
}
