/* Waiting for what an earlier process left: see leftovers.h. Upstream: supervisor.c's start. */
#include "supervisor/leftovers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "runtime/files.h"
#include "runtime/log.h"
#include "runtime/notify.h"
#include "shm/hugepages.h"
#include "supervisor/supervisor.h"

enum {
    LOOK_MS = 50,
};

/* SIGHUP waits for the main loop, which takes all of them. */
static bool is_asked_to_stop(void)
{
    sigset_t pending;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1);
}

/* Between two looks. False: the time is up, or we are asked to stop. */
static bool wait_more(uint64_t until_ns)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    nanosleep(&pause, NULL); /* the signals are blocked */
    return clock_now_ns() < until_ns && !is_asked_to_stop();
}

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    log_warn("%s", text);
    notify_status(text);
}

/* Who took the flock on this file, from /proc/locks; 0: not to be seen from here. */
static long holder_of(int fd)
{
    struct stat status;
    char line[128];
    long pid = 0;
    FILE *file = fopen("/proc/locks", "re");
    if (!file)
        return 0;
    while (fstat(fd, &status) == 0 && pid == 0 && fgets(line, sizeof line, file)) {
        long holder;
        unsigned major, minor;
        unsigned long long inode;
        if (sscanf(line, "%*d: FLOCK %*s WRITE %ld %x:%x:%llu", &holder, &major, &minor, &inode) ==
                4 &&
            makedev(major, minor) == status.st_dev && inode == status.st_ino)
            pid = holder;
    }
    fclose(file);
    return pid;
}

/* The descriptor that holds the lock, -EWOULDBLOCK when somebody else still does, -ECANCELED when
 * we are asked to stop meanwhile, or another negative errno, logged. */
static int take_lock(const struct supervisor *supervisor, const char *name, const char *who,
                     unsigned wait_s, long *ret_holder)
{
    const char *folder = supervisor->config.state_directory;
    uint64_t until_ns = clock_now_ns() + wait_s * UINT64_C(1000000000);
    char path[PATH_BYTES_MAX];
    bool is_told = false;
    int r;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        r = -errno;
        log_error("cannot open %s: %s", path, strerror(-r));
        return r;
    }
    do {
        r = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
        if (r == -EWOULDBLOCK && !is_told) {
            *ret_holder = holder_of(fd);
            say("waiting up to %u s for %s to end (process %ld)", wait_s, who, *ret_holder);
            is_told = true;
        }
    } while (r == -EWOULDBLOCK && wait_more(until_ns));
    if (r == 0)
        return fd;
    if (r == -EWOULDBLOCK && is_asked_to_stop()) {
        log_info("stopping: asked to while waiting for %s to end", who);
        r = -ECANCELED;
    } else if (r != -EWOULDBLOCK)
        log_error("cannot lock %s: %s", path, strerror(-r));
    close(fd);
    return r;
}

int leftovers_lock(struct supervisor *supervisor)
{
    const char *folder = supervisor->config.state_directory;
    long holder = 0;
    int r = files_make_folder(folder, 0700);
    if (r < 0) {
        log_error("cannot make the state folder %s: %s", folder, strerror(-r));
        return r;
    }
    /* Two daemons on one state folder would give each other's circuits away. */
    r = take_lock(supervisor, "lock", "the daemon that uses the state folder", LEFTOVERS_LOCK_S_MAX,
                  &holder);
    if (r == -EWOULDBLOCK)
        log_error("another daemon (process %ld) uses the state folder %s", holder, folder);
    if (r < 0)
        return r;
    supervisor->lock_fd = r;
    if (cgroup_tree_kill_others(&supervisor->cgroups))
        log_warn("workers of an earlier process live in the service's cgroup; they are killed");
    r = take_lock(supervisor, "members", "the workers of an earlier process",
                  LEFTOVERS_MEMBERS_S_MAX, &holder);
    if (r == -EWOULDBLOCK)
        log_error(
            "workers of an earlier process (%ld) have not ended within %d s: they hang in the "
            "kernel or in a driver, and may still write to memory and hold their card; see "
            "`dmesg`; if they stay, the machine must be restarted",
            holder, LEFTOVERS_MEMBERS_S_MAX);
    if (r < 0)
        return r;
    supervisor->members_fd = r;
    return 0;
}

void leftovers_wait_pages(const struct supervisor *supervisor, uint64_t bytes)
{
    size_t page_bytes = supervisor->config.huge_page_bytes;
    uint64_t wanted = page_bytes ? bytes / page_bytes : 0;
    uint64_t until_ns = clock_now_ns() + LEFTOVERS_PAGES_S_MAX * UINT64_C(1000000000);
    uint64_t before = 0;
    struct hugepages pool;
    if (supervisor->config.huge_pages == CONFIG_HUGE_PAGES_OFF)
        return;
    while (hugepages_read(page_bytes, &pool) == 0) {
        uint64_t available = hugepages_available(&pool);
        bool is_coming_back = before == 0 || available > before;
        if (available >= wanted || pool.overcommit > 0 || pool.total < wanted || !is_coming_back)
            return;
        if (before == 0)
            say("%llu hugepages of %llu are free: waiting for those that are being given back",
                (unsigned long long)available, (unsigned long long)wanted);
        before = available ? available : 1;
        /* Pages come back by thousands a second: none within a second, and nobody gives any. */
        for (int i = 0; i < 1000 / LOOK_MS; i++) {
            if (!wait_more(until_ns))
                return;
        }
    }
}
