/* See shm/slab.h. */
#include "shm/slab.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/files.h"
#include "shm/hugepages.h"
#include "shm/segment.h"

enum {
    TOUCHERS_MAX = 8,
    TOUCHER_BYTES_MIN = 128 << 20, /* below it a further process costs more than it saves */
    ORDINARY_PAGE_BYTES = 4096,
};

static const int seals_needed = F_SEAL_SHRINK | F_SEAL_GROW;

/* In a child of its own, which a shortage may kill: SIGBUS where a promised page is not given, the
 * memory controller's SIGKILL, for which it volunteers. Only async-signal-safe calls. */
static _Noreturn void touch(int fd, off_t from, size_t bytes, size_t page_bytes)
{
    static const struct rlimit no_core = {0, 0};
    sigset_t none;
    int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGBUS, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (score >= 0 && write(score, "1000", 4) < 0)
        close(score); /* then the supervisor is as likely a victim: nothing to be done */
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, from);
    if (memory == MAP_FAILED)
        _exit(errno);
    for (size_t at = 0; at < bytes; at += page_bytes)
        *(volatile char *)(memory + at) = 0;
    _exit(0);
}

/* Exit statuses of a maker that are no errno. */
enum {
    MAKER_NOT_GIVEN = 201,
    MAKER_KILLED,
    MAKER_DIED,
    MAKER_FORK,
};

static const char cause_not_given[] = "promised pages were not given (SIGBUS)";
static const char cause_killed[] = "killed while touching pages, out of memory?";
static const char cause_died[] = "the touching process died";
static const char cause_fork[] = "fork failed";

static int toucher_result(pid_t pid, const char **ret_cause)
{
    int status;

    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    if (WIFEXITED(status)) {
        if (WEXITSTATUS(status))
            *ret_cause = strerror(WEXITSTATUS(status));
        return -WEXITSTATUS(status);
    }
    *ret_cause = WTERMSIG(status) == SIGBUS    ? cause_not_given
                 : WTERMSIG(status) == SIGKILL ? cause_killed
                                               : cause_died;
    return -ENOMEM;
}

/* Touches all pages in as many processes as pay. */
static int touch_all(int fd, size_t bytes, size_t page_bytes, const char **ret_cause)
{
    pid_t pids[TOUCHERS_MAX];
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t pages = bytes / page_bytes, count = bytes / TOUCHER_BYTES_MIN, started = 0;
    int error = 0;

    count = count > TOUCHERS_MAX ? TOUCHERS_MAX : count;
    count = cpus > 0 && count > (size_t)cpus ? (size_t)cpus : count;
    count = count > pages ? pages : count;
    count = count ? count : 1;
    for (; started < count && error == 0; started++) {
        size_t first = pages * started / count, end = pages * (started + 1) / count;
        pids[started] = fork();
        if (pids[started] == 0)
            touch(fd, (off_t)(first * page_bytes), (end - first) * page_bytes, page_bytes);
        if (pids[started] < 0) {
            error = -errno;
            *ret_cause = cause_fork;
            break;
        }
    }
    for (size_t i = 0; i < started; i++) {
        int result = toucher_result(pids[i], ret_cause);
        error = error ? error : result;
    }
    return error;
}

/* Touching more than there is would press everything else out before it fails. False only when the
 * kernel says so. */
static bool is_available(size_t bytes, size_t *ret_available)
{
    static const char name[] = "MemAvailable:";
    char *text;
    size_t count;

    if (files_read("/proc/meminfo", 65536, &text, &count) < 0)
        return true;
    const char *found = strstr(text, name);
    *ret_available = found ? strtoull(found + sizeof name - 1, NULL, 10) << 10 : SIZE_MAX;
    free(text);
    return bytes <= *ret_available;
}

static int refuse_unavailable(size_t bytes, size_t available, struct slab_fault *ret_fault)
{
    snprintf(ret_fault->text, sizeof ret_fault->text,
             "%zu MiB of ordinary pages are wanted and the machine has %zu MiB available; free "
             "memory, or use fewer or smaller slabs",
             bytes >> 20, available >> 20);
    return -ENOMEM;
}

int slab_check_room(size_t bytes, enum slab_pages pages, size_t hugepage_bytes,
                    struct slab_fault *ret_fault)
{
    struct hugepages pool;
    size_t available;

    ret_fault->text[0] = '\0';
    if (pages != SLAB_PAGES_OFF && hugepages_read(hugepage_bytes, &pool) == 0) {
        uint64_t pages_available = hugepages_available(&pool);
        if (pages_available >= bytes / hugepage_bytes || pool.overcommit > 0)
            return 0;
        if (pages == SLAB_PAGES_REQUIRE) {
            hugepages_explain("too few for all slabs", bytes, hugepage_bytes, ret_fault);
            return -ENOMEM;
        }
        bytes -= pages_available * hugepage_bytes;
    }
    if (pages != SLAB_PAGES_REQUIRE && !is_available(bytes, &available))
        return refuse_unavailable(bytes, available, ret_fault);
    return 0;
}

static int create_on(const char *name, size_t bytes, size_t page_bytes, bool is_hugepage,
                     bool is_key, struct slab *ret, const char **ret_cause)
{
    unsigned log2 = (unsigned)__builtin_ctzl(page_bytes); /* MAP_ and MFD_ encode it alike */
    int fd = segment_memfd(name, is_hugepage ? MFD_HUGETLB | log2 << MAP_HUGE_SHIFT : 0);
    int error;

    *ret_cause = "memfd_create failed";
    if (fd < 0)
        return fd;
    *ret_cause = NULL;
    bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    error = ftruncate(fd, (off_t)bytes) < 0 ? -errno : 0;
    if (error == 0 && !is_key)
        error = touch_all(fd, bytes, page_bytes, ret_cause);
    /* Every page is there; this catches what touching through a mapping would not. */
    if (error == 0 && !is_key && fallocate(fd, 0, 0, (off_t)bytes) < 0)
        error = -errno;
    if (error == 0 && fcntl(fd, F_ADD_SEALS, seals_needed | (is_key ? 0 : F_SEAL_SEAL)) < 0)
        error = -errno;
    if (error < 0) {
        if (!*ret_cause)
            *ret_cause = strerror(-error);
        close(fd);
        return error;
    }
    *ret = (struct slab){
        .fd = fd, .bytes = bytes, .page_bytes = page_bytes, .is_hugepage = is_hugepage};
    return 0;
}

/* Whether hugepages can be promised, where nobody touches them now. */
static bool has_hugepages(size_t bytes, size_t page_bytes)
{
    struct hugepages pool;
    if (hugepages_read(page_bytes, &pool) < 0)
        return false;
    return hugepages_available(&pool) >= (bytes + page_bytes - 1) / page_bytes ||
           pool.overcommit > 0;
}

static int create(const char *name, size_t bytes, enum slab_pages pages, size_t hugepage_bytes,
                  bool is_key, struct slab *ret, struct slab_fault *ret_fault)
{
    const char *cause;
    size_t available;
    int error;

    ret_fault->text[0] = '\0';
    if (bytes == 0 || bytes > (size_t)INT64_MAX / 2 ||
        (pages != SLAB_PAGES_OFF &&
         (hugepage_bytes <= ORDINARY_PAGE_BYTES || (hugepage_bytes & (hugepage_bytes - 1))))) {
        snprintf(ret_fault->text, sizeof ret_fault->text, "impossible size or page size");
        return -EINVAL;
    }
    if (pages != SLAB_PAGES_OFF) {
        cause = "too few for the key";
        error = -ENOMEM;
        if (!is_key || has_hugepages(bytes, hugepage_bytes))
            error = create_on(name, bytes, hugepage_bytes, true, is_key, ret, &cause);
        if (error == 0)
            return 0;
        hugepages_explain(cause, bytes, hugepage_bytes, ret_fault);
        if (pages == SLAB_PAGES_REQUIRE)
            return error;
    }
    if (!is_available(bytes, &available))
        return refuse_unavailable(bytes, available, ret_fault);
    error = create_on(name, bytes, ORDINARY_PAGE_BYTES, false, is_key, ret, &cause);
    if (error < 0)
        snprintf(ret_fault->text, sizeof ret_fault->text,
                 "%s: %zu MiB of ordinary pages cannot be had; free memory, or use fewer or "
                 "smaller slabs",
                 cause, bytes >> 20);
    return error;
}

int slab_create(const char *name, size_t bytes, enum slab_pages pages, size_t hugepage_bytes,
                struct slab *ret, struct slab_fault *ret_fault)
{
    return create(name, bytes, pages, hugepage_bytes, false, ret, ret_fault);
}

int slab_create_key(const char *name, size_t bytes, enum slab_pages pages, size_t hugepage_bytes,
                    struct slab *ret, struct slab_fault *ret_fault)
{
    return create(name, bytes, pages, hugepage_bytes, true, ret, ret_fault);
}

int slab_seal_key(struct slab *key)
{
    /* FUTURE_WRITE rather than WRITE: kernels before 6.7 refuse shared read-only mappings of the
     * latter. The loader's own mapping is gone with the loader. */
    return fcntl(key->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0 ? -errno : 0;
}

/* In the maker. */
static int maker_run(int fd, const void *context)
{
    const struct slab *slab = context;
    const char *cause = NULL;
    int error = touch_all(fd, slab->bytes, slab->page_bytes, &cause);

    if (error == 0 && fallocate(fd, 0, 0, (off_t)slab->bytes) < 0)
        error = -errno;
    return cause == cause_not_given ? MAKER_NOT_GIVEN
           : cause == cause_killed  ? MAKER_KILLED
           : cause == cause_died    ? MAKER_DIED
           : cause == cause_fork    ? MAKER_FORK
                                    : -error;
}

static const char *maker_cause(int status)
{
    switch (WIFEXITED(status) ? WEXITSTATUS(status) : MAKER_DIED) {
    case MAKER_NOT_GIVEN:
        return cause_not_given;
    case MAKER_KILLED:
        return cause_killed;
    case MAKER_DIED:
        return cause_died;
    case MAKER_FORK:
        return cause_fork;
    default:
        return strerror(WEXITSTATUS(status));
    }
}

int slab_make_begin(const char *name, size_t bytes, enum slab_pages pages, size_t hugepage_bytes,
                    struct slab_making *ret, struct slab_fault *ret_fault)
{
    bool is_hugepage = pages != SLAB_PAGES_OFF && has_hugepages(bytes, hugepage_bytes);
    size_t available, page_bytes = is_hugepage ? hugepage_bytes : ORDINARY_PAGE_BYTES;

    ret_fault->text[0] = '\0';
    if (!is_hugepage && pages == SLAB_PAGES_REQUIRE) {
        hugepages_explain("too few for the slab", bytes, hugepage_bytes, ret_fault);
        return -ENOMEM;
    }
    if (!is_hugepage && !is_available(bytes, &available))
        return refuse_unavailable(bytes, available, ret_fault);
    struct slab_making making = {.slab = {.page_bytes = page_bytes, .is_hugepage = is_hugepage}};
    making.slab.bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    unsigned log2 = (unsigned)__builtin_ctzl(page_bytes);
    int fd = segment_memfd(name, is_hugepage ? MFD_HUGETLB | log2 << MAP_HUGE_SHIFT : 0);
    int error = fd < 0 ? fd : 0;
    if (error == 0 && ftruncate(fd, (off_t)making.slab.bytes) < 0)
        error = -errno;
    if (error == 0)
        error = child_fork(fd, maker_run, &making.slab, &making.child);
    if (error < 0) {
        snprintf(ret_fault->text, sizeof ret_fault->text, "a slab cannot be begun: %s",
                 strerror(-error));
        if (fd >= 0)
            close(fd);
        return error;
    }
    making.slab.fd = fd;
    *ret = making;
    return 0;
}

int slab_make_end(struct slab_making *making, struct slab *ret, struct slab_fault *ret_fault)
{
    int status, r = child_reap(&making->child, &status);

    if (r == 0)
        return -EAGAIN;
    ret_fault->text[0] = '\0';
    bool is_made = r == 1 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    r = is_made ? 0 : -ENOMEM;
    if (!is_made && making->slab.is_hugepage)
        hugepages_explain(maker_cause(status), making->slab.bytes, making->slab.page_bytes,
                          ret_fault);
    else if (!is_made)
        snprintf(ret_fault->text, sizeof ret_fault->text,
                 "%s: %zu MiB of ordinary pages cannot be had", maker_cause(status),
                 making->slab.bytes >> 20);
    if (r == 0 && fcntl(making->slab.fd, F_ADD_SEALS, seals_needed | F_SEAL_SEAL) < 0) {
        r = -errno;
        snprintf(ret_fault->text, sizeof ret_fault->text, "a slab cannot be sealed: %s",
                 strerror(-r));
    }
    if (r == 0) {
        *ret = making->slab;
        making->slab.bytes = 0; /* it is the caller's */
    }
    slab_make_abort(making);
    return r;
}

void slab_make_abort(struct slab_making *making)
{
    child_destroy(&making->child);
    slab_destroy(&making->slab);
    *making = (struct slab_making){.slab.fd = -1, .child.pidfd = -1};
}

int slab_adopt(int fd, struct slab *ret, char *ret_why, size_t why_bytes)
{
    struct stat status;
    struct statfs filesystem;
    const char *why = NULL;
    int flags = fcntl(fd, F_GETFL), seals = fcntl(fd, F_GET_SEALS);

    if (flags < 0 || seals < 0 || fstat(fd, &status) < 0 || fstatfs(fd, &filesystem) < 0)
        why = "it is no shared memory";
    else if ((flags & O_ACCMODE) != O_RDWR || (seals & seals_needed) != seals_needed ||
             !(seals & F_SEAL_SEAL) || (seals & F_SEAL_WRITE) || (status.st_mode & 0777) != 0600)
        why = "it is not sealed as a slab is";
    else if (status.st_size <= 0 || (uint64_t)status.st_blocks * 512 < (uint64_t)status.st_size)
        why = "pages of it are missing";
    if (why) {
        snprintf(ret_why, why_bytes, "%s", why);
        return -EBADMSG;
    }
    bool is_hugepage = filesystem.f_type == HUGETLBFS_MAGIC;
    *ret = (struct slab){
        .fd = fd,
        .bytes = (size_t)status.st_size,
        .page_bytes = is_hugepage ? (size_t)filesystem.f_bsize : ORDINARY_PAGE_BYTES,
        .is_hugepage = is_hugepage,
    };
    return 0;
}

void slab_destroy(struct slab *slab)
{
    if (slab->bytes)
        close(slab->fd);
    *slab = (struct slab){.fd = -1};
}

static int map(int fd, size_t bytes, bool writable, void **ret_memory, bool *ret_is_hugepage)
{
    struct stat status;
    struct statfs filesystem;
    void *memory;
    int seals;

    if (fstat(fd, &status) < 0 || fstatfs(fd, &filesystem) < 0)
        return -errno;
    seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & seals_needed) != seals_needed || bytes == 0 ||
        (uint64_t)status.st_size != bytes)
        return -EPROTO;
    memory = mmap(NULL, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return -errno;
    if (madvise(memory, bytes, MADV_DONTDUMP) < 0 || madvise(memory, bytes, MADV_DONTFORK) < 0) {
        int error = -errno;
        munmap(memory, bytes);
        return error;
    }
    *ret_is_hugepage = filesystem.f_type == HUGETLBFS_MAGIC;
    *ret_memory = memory;
    return 0;
}

int slab_map(int fd, size_t bytes, bool writable, void **ret_memory, bool *ret_is_locked)
{
    bool is_hugepage;
    int error = map(fd, bytes, writable, ret_memory, &is_hugepage);

    if (error == 0)
        *ret_is_locked = is_hugepage || mlock(*ret_memory, bytes) == 0;
    return error;
}

int slab_map_key(int fd, size_t bytes, const void **ret_memory)
{
    bool is_hugepage;
    void *memory;
    int error = map(fd, bytes, false, &memory, &is_hugepage);

    if (error == 0)
        *ret_memory = memory;
    return error;
}

void slab_unmap(const void *memory, size_t bytes)
{
    if (memory)
        munmap((void *)memory, bytes);
}
