/* What shm/slab.h promises, case by case. */
#include "shm/slab.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/files.h"
#include "shm/hugepages.h"
#include "tests/test.h"

enum { MIB = 1 << 20, HUGE = 2 * MIB };

static const char pool_path[] = "/proc/sys/vm/nr_hugepages";
static struct slab_fault fault;

/* Sets the pool for a case; tests that do so wait for each other. Where it cannot be set (no root,
 * a container) the case is skipped and says so. */
static int pool_lock = -1;
static uint64_t pool_before;

static int pool_write(uint64_t pages)
{
    char text[32];
    int fd = open(pool_path, O_WRONLY | O_CLOEXEC);
    int bytes = snprintf(text, sizeof text, "%llu\n", (unsigned long long)pages);
    ssize_t wrote = fd < 0 ? -1 : write(fd, text, (size_t)bytes);
    if (fd >= 0)
        close(fd);
    return wrote == bytes ? 0 : -1;
}

static int pool_take(uint64_t pages)
{
    struct hugepages pool;

    pool_lock = open("/tmp/cuzkd-test-hugepages.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    flock(pool_lock, LOCK_EX);
    if (files_read_number(pool_path, &pool_before) == 0 && pool_write(pages) == 0 &&
        hugepages_read(HUGE, &pool) == 0 && pool.total == pages && pool.free == pages)
        return 0;
    printf("  skipped: vm.nr_hugepages cannot be set to %llu here\n", (unsigned long long)pages);
    pool_write(pool_before);
    close(pool_lock);
    return -1;
}

static void pool_give_back(void)
{
    pool_write(pool_before);
    close(pool_lock);
}

TEST(ordinary_pages_are_allocated_sealed_and_private)
{
    struct slab slab;
    struct stat status;
    int seals;

    ASSERT_INT(slab_create("test", 3 * MIB + 1, SLAB_PAGES_OFF, HUGE, &slab, &fault), 0);
    ASSERT(!slab.is_hugepage);
    ASSERT_INT(slab.page_bytes, 4096);
    ASSERT_INT(slab.bytes, 3 * MIB + 4096);
    ASSERT_STR(fault.text, "");
    ASSERT_INT(fstat(slab.fd, &status), 0);
    ASSERT_INT(status.st_size, slab.bytes);
    ASSERT_INT(status.st_blocks * 512, slab.bytes); /* every page is there */
    ASSERT_INT(status.st_mode & 0777, 0600);
    seals = fcntl(slab.fd, F_GET_SEALS);
    ASSERT_INT(seals & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
               F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    ASSERT_INT(ftruncate(slab.fd, MIB), -1);
    ASSERT_INT(ftruncate(slab.fd, 30 * MIB), -1);
    slab_destroy(&slab);
    slab_destroy(&slab);
}

TEST(many_processes_touch_a_large_slab)
{
    struct slab slab;
    struct stat status;

    ASSERT_INT(slab_create("test", 512 * MIB, SLAB_PAGES_OFF, HUGE, &slab, &fault), 0);
    ASSERT_INT(fstat(slab.fd, &status), 0);
    ASSERT_INT(status.st_blocks * 512, slab.bytes);
    ASSERT_INT(waitpid(-1, NULL, WNOHANG), -1); /* none of them is left */
    ASSERT_INT(errno, ECHILD);
    slab_destroy(&slab);
}

TEST(impossible_sizes_are_refused)
{
    struct slab slab = {.fd = -7};

    ASSERT_INT(slab_create("test", 0, SLAB_PAGES_OFF, HUGE, &slab, &fault), -EINVAL);
    ASSERT_INT(slab_create("test", SIZE_MAX, SLAB_PAGES_OFF, HUGE, &slab, &fault), -EINVAL);
    ASSERT_INT(slab_create("test", MIB, SLAB_PAGES_REQUIRE, 3 * MIB, &slab, &fault), -EINVAL);
    ASSERT_INT(slab_create("test", MIB, SLAB_PAGES_REQUIRE, 4096, &slab, &fault), -EINVAL);
    ASSERT(fault.text[0]);
    ASSERT_INT(slab.fd, -7);
}

TEST(both_mappings_see_the_same_bytes_and_read_only_is_read_only)
{
    struct slab slab;
    void *writable, *readable;
    bool is_locked;
    int status;

    ASSERT_INT(slab_create("test", MIB, SLAB_PAGES_OFF, HUGE, &slab, &fault), 0);
    ASSERT_INT(slab_map(slab.fd, slab.bytes, true, &writable, &is_locked), 0);
    ASSERT_INT(slab_map(slab.fd, slab.bytes, false, &readable, &is_locked), 0);
    memset(writable, 0x42, slab.bytes);
    ASSERT_INT(((uint8_t *)readable)[slab.bytes - 1], 0x42);
    ASSERT_INT(mprotect(readable, slab.bytes, PROT_READ), 0);
    pid_t pid = fork();
    if (pid == 0) {
        /* MADV_DONTFORK: a child has neither mapping, so this faults. */
        static const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGSEGV, SIG_DFL);
        _exit(*(volatile uint8_t *)readable);
    }
    ASSERT_INT(waitpid(pid, &status, 0), pid);
    ASSERT(!WIFEXITED(status) || WEXITSTATUS(status) != 0x42);
    slab_unmap(writable, slab.bytes);
    slab_unmap(readable, slab.bytes);
    slab_unmap(NULL, 0);
    slab_destroy(&slab);
}

/* The flags of the mapping at `memory`, as /proc/self/smaps spells them. */
static const char *mapping_flags(const void *memory)
{
    static char flags[256];
    char wanted[32], line[512];
    bool is_here = false;
    FILE *smaps = fopen("/proc/self/smaps", "r");

    ASSERT(smaps);
    flags[0] = '\0';
    snprintf(wanted, sizeof wanted, "%lx-", (unsigned long)memory);
    while (fgets(line, sizeof line, smaps)) {
        if (strncmp(line, wanted, strlen(wanted)) == 0)
            is_here = true;
        if (is_here && sscanf(line, "VmFlags: %255[^\n]", flags) == 1)
            break;
    }
    fclose(smaps);
    return flags;
}

/* The sanitizers replace mlock by nothing. */
static bool lock_is_real(void)
{
    void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool is_real = mlock(page, 4096) != 0 || strstr(mapping_flags(page), "lo");
    munmap(page, 4096);
    return is_real;
}

TEST(a_witness_reaches_neither_cores_nor_children_nor_swap)
{
    struct slab slab;
    void *memory;
    bool is_locked;

    ASSERT_INT(slab_create("test", MIB, SLAB_PAGES_OFF, HUGE, &slab, &fault), 0);
    ASSERT_INT(slab_map(slab.fd, slab.bytes, true, &memory, &is_locked), 0);
    const char *flags = mapping_flags(memory);
    ASSERT(strstr(flags, "dd")); /* dontdump */
    ASSERT(strstr(flags, "dc")); /* dontcopy */
    bool shows_lock = strstr(flags, "lo");
    if (lock_is_real())
        ASSERT_INT(shows_lock, is_locked);
    else
        printf("  not looked at: mlock does nothing under this sanitizer\n");
    slab_unmap(memory, slab.bytes);
    slab_destroy(&slab);
}

TEST(a_refused_lock_is_told_and_no_error)
{
    struct rlimit before, none = {0, 0};
    int status;

    if (!lock_is_real()) {
        printf("  skipped: mlock does nothing under this sanitizer\n");
        return;
    }
    ASSERT_INT(getrlimit(RLIMIT_MEMLOCK, &before), 0);
    none.rlim_max = before.rlim_max;
    pid_t pid = fork();
    if (pid == 0) {
        struct slab slab;
        void *memory;
        bool is_locked;
        if (slab_create("test", MIB, SLAB_PAGES_OFF, HUGE, &slab, &fault) < 0)
            _exit(2);
        if (setrlimit(RLIMIT_MEMLOCK, &none) < 0 || (geteuid() == 0 && setuid(65534) < 0))
            _exit(3);
        if (slab_map(slab.fd, slab.bytes, true, &memory, &is_locked) < 0)
            _exit(4);
        _exit(is_locked);
    }
    ASSERT_INT(waitpid(pid, &status, 0), pid);
    ASSERT(WIFEXITED(status));
    ASSERT_INT(WEXITSTATUS(status), 0);
}

TEST(what_is_no_slab_is_not_mapped)
{
    struct slab slab;
    void *memory = &slab;
    bool is_locked;
    int plain = memfd_create("plain", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    ASSERT_INT(ftruncate(plain, MIB), 0);
    ASSERT_INT(slab_map(plain, MIB, true, &memory, &is_locked), -EPROTO);
    ASSERT_INT(slab_create("test", MIB, SLAB_PAGES_OFF, HUGE, &slab, &fault), 0);
    ASSERT_INT(slab_map(slab.fd, 2 * MIB, true, &memory, &is_locked), -EPROTO);
    ASSERT_INT(slab_map(slab.fd, 0, true, &memory, &is_locked), -EPROTO);
    ASSERT_INT(slab_map(-1, MIB, true, &memory, &is_locked), -EBADF);
    ASSERT(memory == &slab);
    slab_destroy(&slab);
    close(plain);
}

TEST(a_slab_of_another_process_is_adopted_and_nothing_else)
{
    struct slab slab, again;
    char why[128];

    ASSERT_INT(slab_create("t", 1 << 20, SLAB_PAGES_OFF, 0, &slab, &fault), 0);
    ASSERT_INT(slab_adopt(slab.fd, &again, why, sizeof why), 0);
    ASSERT_INT(again.bytes, slab.bytes);
    ASSERT_INT(again.page_bytes, slab.page_bytes);
    ASSERT(!again.is_hugepage);
    ASSERT_INT(slab_adopt(STDERR_FILENO, &again, why, sizeof why), -EBADMSG);

    int fd = memfd_create("t", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ASSERT(fd >= 0 && fchmod(fd, 0600) == 0 && ftruncate(fd, 1 << 20) == 0);
    ASSERT_INT(slab_adopt(fd, &again, why, sizeof why), -EBADMSG);
    ASSERT_STR(why, "it is not sealed as a slab is");
    ASSERT_INT(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    ASSERT_INT(slab_adopt(fd, &again, why, sizeof why), -EBADMSG);
    ASSERT_STR(why, "pages of it are missing");
    close(fd);
    slab_destroy(&slab);
}

TEST(a_sealed_key_can_be_read_and_never_be_written)
{
    struct slab key;
    struct stat status;
    void *loader, *forbidden;
    const void *memory;
    bool is_locked;

    ASSERT_INT(slab_create_key("key", MIB, SLAB_PAGES_OFF, HUGE, &key, &fault), 0);
    ASSERT_INT(fstat(key.fd, &status), 0);
    ASSERT_INT(status.st_size, MIB);
    ASSERT_INT(status.st_blocks, 0); /* the loader brings the pages: nobody waited for them */
    ASSERT_INT(slab_map(key.fd, key.bytes, true, &loader, &is_locked), 0);
    memset(loader, 0x33, key.bytes);
    slab_unmap(loader, key.bytes);
    ASSERT_INT(slab_seal_key(&key), 0);
    ASSERT_INT(slab_map(key.fd, key.bytes, true, &forbidden, &is_locked), -EPERM);
    ASSERT_INT(pwrite(key.fd, "x", 1, 0), -1);
    ASSERT_INT(slab_map_key(key.fd, key.bytes, &memory), 0);
    ASSERT_INT(((const uint8_t *)memory)[77], 0x33);
    ASSERT_INT(mprotect((void *)memory, key.bytes, PROT_READ | PROT_WRITE), -1);
    slab_unmap(memory, key.bytes);
    slab_destroy(&key);
}

TEST(hugepages_hold_a_slab)
{
    struct slab slab;
    struct hugepages pool;
    void *memory;
    bool is_locked;

    if (pool_take(8) < 0)
        return;
    ASSERT_INT(slab_create("test", 9 * MIB, SLAB_PAGES_REQUIRE, HUGE, &slab, &fault), 0);
    ASSERT(slab.is_hugepage);
    ASSERT_INT(slab.bytes, 10 * MIB);
    ASSERT_INT(slab.page_bytes, HUGE);
    ASSERT_INT(hugepages_read(HUGE, &pool), 0);
    ASSERT_INT(pool.free, 3); /* taken, not only promised */
    ASSERT_INT(slab_map(slab.fd, slab.bytes, true, &memory, &is_locked), 0);
    ASSERT(is_locked);
    ASSERT(strstr(mapping_flags(memory), "ht")); /* really on hugepages */
    ASSERT(strstr(mapping_flags(memory), "dd"));
    memset(memory, 1, slab.bytes);
    slab_unmap(memory, slab.bytes);
    slab_destroy(&slab);
    ASSERT_INT(hugepages_read(HUGE, &pool), 0);
    ASSERT_INT(pool.free, 8);

    /* Not more than there are, though nobody takes them yet. */
    ASSERT_INT(slab_create_key("key", 9 * HUGE, SLAB_PAGES_REQUIRE, HUGE, &slab, &fault), -ENOMEM);
    ASSERT(strstr(fault.text, "too few for the key"));
    ASSERT_INT(slab_create_key("key", 9 * HUGE, SLAB_PAGES_PREFER, HUGE, &slab, &fault), 0);
    ASSERT(!slab.is_hugepage);
    slab_destroy(&slab);

    const void *key_memory;
    ASSERT_INT(slab_create_key("key", HUGE, SLAB_PAGES_REQUIRE, HUGE, &slab, &fault), 0);
    ASSERT_INT(slab_seal_key(&slab), 0);
    ASSERT_INT(slab_map(slab.fd, slab.bytes, true, &memory, &is_locked), -EPERM);
    ASSERT_INT(slab_map_key(slab.fd, slab.bytes, &key_memory), 0);
    slab_unmap(key_memory, slab.bytes);
    slab_destroy(&slab);
    pool_give_back();
}

TEST(a_shortage_is_an_error_under_require_and_names_the_remedy)
{
    struct slab slab = {.fd = -7};

    if (pool_take(3) < 0)
        return;
    int result = slab_create("test", 10 * MIB, SLAB_PAGES_REQUIRE, HUGE, &slab, &fault);
    struct hugepages pool = {0};
    hugepages_read(HUGE, &pool);
    pool_give_back();
    printf("  %s\n", fault.text);
    ASSERT_INT(result, -ENOMEM);
    ASSERT_INT(slab.fd, -7);
    ASSERT_INT(pool.free, 3); /* nothing is left behind */
    ASSERT(strstr(fault.text, "5 hugepages of 2 MiB wanted"));
    ASSERT(strstr(fault.text, "the pool has 3, 3 free, 0 of these reserved, 0 surplus"));
    ASSERT(strstr(fault.text, "cgroup hugetlb limit: "));
    ASSERT(strstr(fault.text, "sysctl vm.nr_hugepages=5"));
}

TEST(a_shortage_means_ordinary_pages_under_prefer_and_says_so)
{
    struct slab slab;

    if (pool_take(0) < 0)
        return;
    int result = slab_create("test", 4 * MIB, SLAB_PAGES_PREFER, HUGE, &slab, &fault);
    pool_give_back();
    ASSERT_INT(result, 0);
    ASSERT(!slab.is_hugepage);
    ASSERT_INT(slab.page_bytes, 4096);
    ASSERT(strstr(fault.text, "sysctl vm.nr_hugepages=2"));
    slab_destroy(&slab);
}

TEST(more_ordinary_pages_than_there_are_is_refused_before_any_is_touched)
{
    struct slab slab = {.fd = -7};
    size_t bytes = (size_t)1 << 46; /* touching it would take hours */
    ASSERT_INT(slab_create("test", bytes, SLAB_PAGES_OFF, 0, &slab, &fault), -ENOMEM);
    ASSERT(strstr(fault.text, "available"));
    ASSERT_INT(slab.fd, -7);
}

TEST(a_plan_without_room_is_refused_as_a_whole)
{
    ASSERT_INT(slab_check_room(MIB, SLAB_PAGES_OFF, HUGE, &fault), 0);
    ASSERT_STR(fault.text, "");
    ASSERT_INT(slab_check_room((size_t)1 << 46, SLAB_PAGES_OFF, HUGE, &fault), -ENOMEM);
    ASSERT(strstr(fault.text, "available"));
    /* Where only trying can tell. */
    ASSERT_INT(slab_check_room(MIB, SLAB_PAGES_REQUIRE, 16 * MIB, &fault), 0);
    if (pool_take(3) < 0)
        return;
    int fits = slab_check_room(3 * HUGE, SLAB_PAGES_REQUIRE, HUGE, &fault);
    int split = slab_check_room(5 * HUGE, SLAB_PAGES_PREFER, HUGE, &fault);
    int huge = slab_check_room((size_t)1 << 46, SLAB_PAGES_PREFER, HUGE, &fault);
    int short_of = slab_check_room(5 * HUGE, SLAB_PAGES_REQUIRE, HUGE, &fault);
    pool_give_back();
    ASSERT_INT(fits, 0);
    ASSERT_INT(split, 0);
    ASSERT_INT(huge, -ENOMEM);
    ASSERT_INT(short_of, -ENOMEM);
    ASSERT(strstr(fault.text, "sysctl vm.nr_hugepages=5"));
}

/* What the pool shows as free and unreserved is what counts: another process has taken pages that
 * it never reserved. */
TEST(pages_that_others_took_are_missing)
{
    struct slab slab = {.fd = -7};
    int holder = -1;
    void *taken = MAP_FAILED;

    if (pool_take(6) < 0)
        return;
    holder = memfd_create("holder", MFD_CLOEXEC | MFD_HUGETLB);
    if (holder >= 0 && ftruncate(holder, 4 * HUGE) == 0)
        taken = mmap(NULL, 4 * HUGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, holder, 0);
    if (taken != MAP_FAILED)
        memset(taken, 1, 4 * HUGE);
    int result = slab_create("test", 4 * HUGE, SLAB_PAGES_REQUIRE, HUGE, &slab, &fault);
    if (taken != MAP_FAILED)
        munmap(taken, 4 * HUGE);
    if (holder >= 0)
        close(holder);
    pool_give_back();
    ASSERT_INT(result, -ENOMEM);
    ASSERT(strstr(fault.text, "2 free"));
}

static int write_text(const char *folder, const char *file, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t wrote = fd < 0 ? -1 : write(fd, text, strlen(text));
    if (fd >= 0)
        close(fd);
    return wrote < 0 ? -1 : 0;
}

static const char *cgroup_enabled_by; /* the mount where the controller was off before */

/* A cgroup that may fault in two pages. NULL where there is no such controller or no right. */
static const char *make_limited_cgroup(void)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    static char folder[128];

    for (unsigned i = 0; i < 2; i++) {
        char path[128], *text;
        size_t bytes;
        snprintf(path, sizeof path, "%s/cgroup.subtree_control", mounts[i]);
        if (files_read(path, 4096, &text, &bytes) < 0)
            continue;
        cgroup_enabled_by = strstr(text, "hugetlb") ? NULL : mounts[i];
        free(text);
        if (write_text(mounts[i], "cgroup.subtree_control", "+hugetlb") < 0)
            continue;
        snprintf(folder, sizeof folder, "%s/cuzkd-test-%d", mounts[i], (int)getpid());
        if (mkdir(folder, 0755) == 0 && write_text(folder, "hugetlb.2MB.max", "4194304") == 0)
            return folder;
        rmdir(folder);
    }
    return NULL;
}

/* The pool promises the pages, the cgroup then does not give them: SIGBUS for whoever touches. */
TEST(a_cgroup_limit_kills_a_toucher_and_nobody_else)
{
    const char *cgroup;
    int status = -1;

    if (pool_take(8) < 0)
        return;
    cgroup = make_limited_cgroup();
    if (!cgroup) {
        printf("  skipped: no cgroup with a hugetlb limit can be made here\n");
        pool_give_back();
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        struct slab slab;
        if (write_text(cgroup, "cgroup.procs", "0") < 0)
            _exit(1);
        int result = slab_create("test", 5 * HUGE, SLAB_PAGES_REQUIRE, HUGE, &slab, &fault);
        printf("  %s\n", fault.text);
        fflush(stdout);
        if (result != -ENOMEM || !strstr(fault.text, "SIGBUS"))
            _exit(2);
        if (!strstr(fault.text, "4194304 bytes") || !strstr(fault.text, "raise the cgroup's limit"))
            _exit(3);
        if (slab_create("test", 2 * HUGE, SLAB_PAGES_REQUIRE, HUGE, &slab, &fault) < 0)
            _exit(4);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    rmdir(cgroup);
    if (cgroup_enabled_by)
        write_text(cgroup_enabled_by, "cgroup.subtree_control", "-hugetlb");
    pool_give_back();
    ASSERT(WIFEXITED(status));
    ASSERT_INT(WEXITSTATUS(status), 0);
}

TEST(pages_of_an_unknown_size_are_explained)
{
    struct slab slab;

    ASSERT(slab_create("test", 16 * MIB, SLAB_PAGES_REQUIRE, 16 * MIB, &slab, &fault) < 0);
    ASSERT(strstr(fault.text, "no hugepages of 16 MiB"));
}

static int make_and_wait(struct slab_making *making, struct slab *ret)
{
    struct pollfd poll_end = {.fd = making->child.pidfd, .events = POLLIN};
    ASSERT_INT(poll(&poll_end, 1, 60000), 1);
    return slab_make_end(making, ret, &fault);
}

TEST(a_child_makes_a_slab_and_nobody_waits)
{
    struct slab_making making;
    struct slab slab = {.fd = -7};
    ASSERT_INT(slab_make_begin("test", 64 * MIB + 1, SLAB_PAGES_OFF, HUGE, &making, &fault), 0);
    ASSERT_INT(make_and_wait(&making, &slab), 0);
    ASSERT_INT(slab.bytes, 64 * MIB + 4096);
    struct stat status;
    ASSERT_INT(fstat(slab.fd, &status), 0);
    ASSERT_INT((uint64_t)status.st_blocks * 512, slab.bytes); /* every page is there */
    int seals = fcntl(slab.fd, F_GET_SEALS);
    ASSERT_INT(seals & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
               F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    slab_destroy(&slab);
    slab_make_abort(&making); /* again: nothing happens */
}

TEST(a_slab_in_the_making_can_be_given_up)
{
    struct slab_making making;
    struct slab slab;
    ASSERT_INT(slab_make_begin("test", 256 * MIB, SLAB_PAGES_OFF, HUGE, &making, &fault), 0);
    pid_t child = making.child.pid;
    int r = slab_make_end(&making, &slab, &fault);
    if (r == -EAGAIN) {
        slab_make_abort(&making);
        ASSERT_INT(kill(child, 0), -1);
    } else {
        ASSERT_INT(r, 0); /* it was that fast */
        slab_destroy(&slab);
    }
}

TEST(a_child_that_finds_no_pages_is_told_of)
{
    struct slab_making making;
    struct slab slab = {.fd = -7};
    ASSERT_INT(slab_make_begin("test", (size_t)1 << 46, SLAB_PAGES_OFF, HUGE, &making, &fault),
               -ENOMEM);
    if (pool_take(3) < 0)
        return;
    int refused =
        slab_make_begin("test", 10 * MIB, SLAB_PAGES_REQUIRE, HUGE, &making, &fault);
    bool has_reason = strstr(fault.text, "5 hugepages of 2 MiB wanted");
    int begun = slab_make_begin("test", 6 * MIB, SLAB_PAGES_REQUIRE, HUGE, &making, &fault);
    int made = begun == 0 ? make_and_wait(&making, &slab) : begun;
    bool is_hugepage = slab.is_hugepage;
    int ordinary = slab_make_begin("test", 6 * MIB, SLAB_PAGES_PREFER, HUGE, &making, &fault);
    bool is_ordinary = ordinary == 0 && !making.slab.is_hugepage;
    if (ordinary == 0)
        slab_make_abort(&making);
    if (made == 0)
        slab_destroy(&slab);
    pool_give_back();
    ASSERT_INT(refused, -ENOMEM);
    ASSERT(has_reason);
    ASSERT_INT(made, 0);
    ASSERT(is_hugepage && is_ordinary);
}

TEST_MAIN(CASE(ordinary_pages_are_allocated_sealed_and_private),
          CASE(many_processes_touch_a_large_slab), CASE(impossible_sizes_are_refused),
          CASE(both_mappings_see_the_same_bytes_and_read_only_is_read_only),
          CASE(a_witness_reaches_neither_cores_nor_children_nor_swap),
          CASE(a_refused_lock_is_told_and_no_error), CASE(what_is_no_slab_is_not_mapped),
          CASE(a_slab_of_another_process_is_adopted_and_nothing_else),
          CASE(a_sealed_key_can_be_read_and_never_be_written), CASE(hugepages_hold_a_slab),
          CASE(a_shortage_is_an_error_under_require_and_names_the_remedy),
          CASE(a_shortage_means_ordinary_pages_under_prefer_and_says_so),
          CASE(more_ordinary_pages_than_there_are_is_refused_before_any_is_touched),
          CASE(a_plan_without_room_is_refused_as_a_whole), CASE(pages_that_others_took_are_missing),
          CASE(a_cgroup_limit_kills_a_toucher_and_nobody_else),
          CASE(pages_of_an_unknown_size_are_explained),
          CASE(a_child_makes_a_slab_and_nobody_waits), CASE(a_slab_in_the_making_can_be_given_up),
          CASE(a_child_that_finds_no_pages_is_told_of))
