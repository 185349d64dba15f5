/* What each profile forbids is tried, by system call and through an io_uring, and what work needs
 * is done. Every case runs in a process of its own, which the sandbox is for good. */
#include "runtime/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "runtime/heap.h"
#include "runtime/log.h"
#include "runtime/loop_uring.h"
#include "tests/test.h"

enum {
    SURVIVED = 42,  /* exit status of a child that was not ended */
    UNEXPECTED = 1, /* a call that must fail did not, or the other way round */
};

static char folder[64]; /* of this run, for files */
static char reported[SANDBOX_TEXT_BYTES];
static int report_fd = -1;

static void on_report(const char *text)
{
    if (write(report_fd, text, strlen(text)) < 0)
        _exit(UNEXPECTED);
}

static void enter(enum sandbox_profile profile)
{
    const char *const writable[] = {profile == SANDBOX_SPOOL ? folder : NULL, NULL};
    if (sandbox_limit_files(profile, writable) < 0 || sandbox_limit_calls(profile, on_report) < 0)
        _exit(UNEXPECTED);
}

static bool has_sandbox(void)
{
    char text[SANDBOX_TEXT_BYTES];
    if (sandbox_probe(text) == SANDBOX_ALL)
        return true;
    printf("  not asked: %s\n", text);
    return false;
}

/* Runs it in a child and returns the wait status; what it reported lies in `reported`. */
static int in_child(void (*run)(void *), void *context)
{
    int fds[2], status;
    fflush(stdout);
    ASSERT_INT(pipe2(fds, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        report_fd = fds[1];
        log_init("child", LOG_LEVEL_ERROR);
        run(context);
        _exit(SURVIVED);
    }
    close(fds[1]);
    ssize_t count = read(fds[0], reported, sizeof reported - 1);
    reported[count > 0 ? count : 0] = '\0';
    close(fds[0]);
    ASSERT_INT(waitpid(pid, &status, 0), pid);
    return status;
}

static int exit_status(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* ---- single calls ---- */

struct attempt {
    enum sandbox_profile profile;
    const char *name;
    long number, arguments[6];
    long result; /* of a call that is refused: the errno */
};

static void make_attempt(void *context)
{
    const struct attempt *attempt = context;
    const long *a = attempt->arguments;
    enter(attempt->profile);
    errno = 0;
    long result = syscall(attempt->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (result != -1 || errno != attempt->result) {
        fprintf(stderr, "%s gives %ld, %s\n", attempt->name, result, strerror(errno));
        _exit(UNEXPECTED);
    }
}

#define CALL(call, ...)                                                                            \
    {                                                                                              \
        .name = #call, .number = SYS_##call, .arguments = { __VA_ARGS__ }                          \
    }

static char *const no_strings[] = {NULL};

/* Attempts that end the process: name and number are told. */
static void expect_ended(enum sandbox_profile profile, struct attempt *attempts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char text[SANDBOX_TEXT_BYTES];
        attempts[i].profile = profile;
        int status = in_child(make_attempt, &attempts[i]);
        snprintf(text, sizeof text, "its sandbox forbids the system call %s (%ld)",
                 attempts[i].name, attempts[i].number);
        if (exit_status(status) != SANDBOX_EXIT)
            fprintf(stderr, "%s is not forbidden\n", attempts[i].name);
        ASSERT_INT(exit_status(status), SANDBOX_EXIT);
        ASSERT_STR(reported, text);
    }
}

static void expect_refused(enum sandbox_profile profile, struct attempt *attempts, size_t count,
                           int error)
{
    for (size_t i = 0; i < count; i++) {
        attempts[i].profile = profile;
        attempts[i].result = error;
        int status = in_child(make_attempt, &attempts[i]);
        if (exit_status(status) != SURVIVED)
            fprintf(stderr, "%s is not refused\n", attempts[i].name);
        ASSERT_INT(exit_status(status), SURVIVED);
        ASSERT_STR(reported, "");
    }
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

TEST(what_only_an_intruder_asks_for_ends_the_process)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/x"};
    struct attempt attempts[] = {
        CALL(ptrace, 16 /* PTRACE_ATTACH */, getpid()),
        CALL(pidfd_getfd, 0, 0, 0),
        CALL(pidfd_send_signal, 0, SIGKILL),
        CALL(tkill, getpid(), 0),
        CALL(tgkill, getpid(), getpid(), 0),
        CALL(rt_sigqueueinfo, getpid(), 0),
        CALL(rt_tgsigqueueinfo, getpid(), getpid(), 0),
        CALL(bpf, 0),
        CALL(perf_event_open, 0),
        CALL(userfaultfd, 0),
        CALL(mount, (long)"none", (long)"/tmp", (long)"tmpfs"),
        CALL(chroot, (long)"/"),
        CALL(setns, 0, 0),
        CALL(unshare, 0),
        CALL(keyctl, 0),
        CALL(setuid, 0),
        CALL(setresuid, 0, 0, 0),
        CALL(capset, 0, 0),
    };
    struct attempt closed_only[] = {
        CALL(process_vm_readv, getpid()),
        CALL(process_vm_writev, getpid()),
        CALL(kcmp, getpid(), getpid(), 0, 0, 0),
        CALL(kill, getpid(), 0), /* the parent */
        CALL(kill, -1, 0),
        CALL(execve, (long)"/bin/true", (long)no_strings, (long)no_strings),
        CALL(execveat, AT_FDCWD, (long)"/bin/true", (long)no_strings, (long)no_strings),
        CALL(fork),
        CALL(vfork),
        CALL(clone, SIGCHLD),
        CALL(socket, AF_UNIX, SOCK_STREAM),
        CALL(socket, AF_INET, SOCK_STREAM),
        CALL(socketpair, AF_UNIX, SOCK_STREAM, 0, (long)reported),
        CALL(connect, 0, (long)&address, sizeof address),
        CALL(bind, 0, (long)&address, sizeof address),
        CALL(listen, 0, 1),
        CALL(accept, 0),
        CALL(accept4, 0),
    };
    if (!has_sandbox())
        return;
    expect_ended(SANDBOX_CLOSED, attempts, COUNT(attempts));
    expect_ended(SANDBOX_SPOOL, attempts, COUNT(attempts));
    expect_ended(SANDBOX_DEVICE, attempts, COUNT(attempts));
    expect_ended(SANDBOX_CLOSED, closed_only, COUNT(closed_only));
    expect_ended(SANDBOX_SPOOL, closed_only, COUNT(closed_only));
}

TEST(what_a_library_may_ask_for_is_refused)
{
    struct attempt attempts[] = {
        CALL(open, (long)"/dev/null", O_RDONLY),
        CALL(openat, AT_FDCWD, (long)"/dev/null", O_RDONLY),
        CALL(openat2, AT_FDCWD, (long)"/dev/null", 0, 0),
        CALL(creat, (long)"/tmp/x", 0600),
        CALL(open_by_handle_at, AT_FDCWD, 0, 0),
        CALL(memfd_create, (long)"x", 0),
        CALL(unlink, (long)"/tmp/x"),
        CALL(rename, (long)"/tmp/x", (long)"/tmp/y"),
        CALL(link, (long)"/tmp/x", (long)"/tmp/y"),
        CALL(mkdir, (long)"/tmp/x", 0700),
        CALL(chmod, (long)"/tmp/x", 0700),
        CALL(chdir, (long)"/"),
        CALL(readlink, (long)"/proc/self/exe", (long)reported, 1),
        CALL(stat, (long)"/etc/passwd", (long)reported),
        CALL(access, (long)"/etc/passwd", 0),
        CALL(inotify_init1, 0),
        CALL(ioctl, 0, 0x5401 /* TCGETS */, (long)reported),
        CALL(ioctl, 0, 0x5412 /* TIOCSTI: types into a terminal */, (long)"x"),
        CALL(fcntl, 0, F_SETOWN, getpid()), /* signals to others, by input and output */
        CALL(fcntl, 0, F_DUPFD, 0),
        CALL(mmap, 0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1),
        CALL(mprotect, (long)folder & -4096, 4096, PROT_READ | PROT_EXEC),
        CALL(pkey_mprotect, (long)folder & -4096, 4096, PROT_READ | PROT_EXEC, -1),
        CALL(prctl, PR_SET_DUMPABLE, 1),
        CALL(prctl, PR_SET_PDEATHSIG, 0),
        CALL(prctl, PR_SET_SECCOMP, 0),
        CALL(seccomp, 0, 0),
        CALL(setrlimit, RLIMIT_CORE, (long)reported),
        CALL(prlimit64, getpid(), RLIMIT_CORE, (long)reported),
        CALL(sendmsg, 0, (long)reported, 0),
        CALL(sendto, 0, (long)reported, 1, 0, (long)reported, 16),
        CALL(pidfd_open, getpid(), 0),
        CALL(sched_setscheduler, 0, 0, (long)reported),
        CALL(process_madvise, 0),
        CALL(io_uring_setup, 8, (long)reported),
        CALL(io_uring_register, 0, 0),
        CALL(rt_sigaction, SIGSYS, 0, 0, 8),
        {.name = "a number of the future", .number = 999},
    };
    struct attempt absent[] = {CALL(clone3, (long)reported, 88)};
    if (!has_sandbox())
        return;
    expect_refused(SANDBOX_CLOSED, attempts, COUNT(attempts), EPERM);
    expect_refused(SANDBOX_CLOSED, absent, 1, ENOSYS);
}

TEST(a_gpu_worker_is_refused_programs_sockets_rings_and_new_files)
{
    struct attempt attempts[] = {
        CALL(execve, (long)"/bin/true", (long)no_strings, (long)no_strings),
        CALL(execveat, AT_FDCWD, (long)"/bin/true", (long)no_strings, (long)no_strings),
        CALL(fork),
        CALL(vfork),
        CALL(clone, SIGCHLD),
        CALL(process_vm_readv, getpid()),
        CALL(process_vm_writev, getpid()),
        CALL(kill, getpid(), 0), /* the parent */
        CALL(kill, -1, 0),
        CALL(socket, AF_UNIX, SOCK_STREAM),
        CALL(socketpair, AF_UNIX, SOCK_STREAM, 0, (long)reported),
        CALL(connect, 0, 0, 0),
        CALL(io_uring_setup, 8, (long)reported),
        CALL(io_uring_register, 0, 0),
        CALL(rt_sigaction, SIGSYS, 0, 0, 8),
        CALL(prctl, PR_SET_DUMPABLE, 1),
        CALL(chmod, (long)folder, 0777),
    };
    char path[80];
    snprintf(path, sizeof path, "%s/there", folder);
    struct attempt files[] = {
        CALL(open, (long)path, O_RDWR),
        CALL(open, (long)path, O_WRONLY | O_TRUNC),
        CALL(openat, AT_FDCWD, (long)folder, O_TMPFILE | O_RDWR, 0600),
        CALL(unlink, (long)path),
        CALL(mkdir, (long)"/tmp/cuzk-never", 0700),
        CALL(symlink, (long)"/etc/passwd", (long)"/tmp/cuzk-never"),
    };
    struct attempt absent[] = {CALL(clone3, (long)reported, 88)};
    if (!has_sandbox())
        return;
    expect_refused(SANDBOX_DEVICE, attempts, COUNT(attempts), EPERM);
    expect_refused(SANDBOX_DEVICE, files, COUNT(files), EACCES);
    expect_refused(SANDBOX_DEVICE, absent, 1, ENOSYS);
}

static void read_as_a_driver_does(void *context)
{
    char text[64];
    (void)context;
    enter(SANDBOX_DEVICE);
    int fds[] = {open("/proc/self/maps", O_RDONLY), open("/dev/null", O_RDWR),
                 open("/sys/devices/system/cpu/online", O_RDONLY), open("/etc/passwd", O_RDONLY)};
    for (size_t i = 0; i < COUNT(fds); i++) {
        if (fds[i] < 0 || read(fds[i], text, sizeof text) < 0)
            _exit(UNEXPECTED);
    }
    if (ioctl(fds[1], 0x5401, text) == 0 || errno != ENOTTY) /* asked of the device, not refused */
        _exit(UNEXPECTED);
}

/* ---- the ring ---- */

struct ring_attempt {
    const char *name;
    uint8_t operation, flags;
    uint64_t address;
};

static void ring_attempts(void *context)
{
    static const struct ring_attempt attempts[] = {
        {"openat", IORING_OP_OPENAT, 0, (uintptr_t) "/dev/null"},
        {"openat2", IORING_OP_OPENAT2, 0, (uintptr_t) "/dev/null"},
        {"socket", IORING_OP_SOCKET, 0, 0},
        {"connect", IORING_OP_CONNECT, 0, 0},
        {"accept", IORING_OP_ACCEPT, 0, 0},
        {"send", IORING_OP_SEND, 0, 0},
        {"sendmsg", IORING_OP_SENDMSG, 0, 0},
        {"recvmsg", IORING_OP_RECVMSG, 0, 0},
        {"write", IORING_OP_WRITE, 0, (uintptr_t) "x"},
        {"writev", IORING_OP_WRITEV, 0, 0},
        {"unlinkat", IORING_OP_UNLINKAT, 0, (uintptr_t) "/tmp/x"},
        {"renameat", IORING_OP_RENAMEAT, 0, 0},
        {"linkat", IORING_OP_LINKAT, 0, 0},
        {"mkdirat", IORING_OP_MKDIRAT, 0, 0},
        {"statx", IORING_OP_STATX, 0, 0},
        {"splice", IORING_OP_SPLICE, 0, 0},
        {"fallocate", IORING_OP_FALLOCATE, 0, 0},
        {"files_update", IORING_OP_FILES_UPDATE, 0, 0},
        {"provide_buffers", IORING_OP_PROVIDE_BUFFERS, 0, 0},
        {"epoll_ctl", IORING_OP_EPOLL_CTL, 0, 0},
        {"msg_ring", IORING_OP_MSG_RING, 0, 0},
        {"uring_cmd", IORING_OP_URING_CMD, 0, 0},
        {"nop", IORING_OP_NOP, 0, 0},
        {"read of a registered file", IORING_OP_READ, IOSQE_FIXED_FILE, 0},
        {"read with a link", IORING_OP_READ, IOSQE_IO_LINK, 0},
        {"a later operation", 60, 0, 0},
    };
    struct io_uring ring;
    struct io_uring_cqe *cqe;
    const char *step;
    (void)context;
    if (uring_setup(&ring, &step) < 0)
        _exit(77);
    enter(SANDBOX_CLOSED);
    for (size_t i = 0; i < COUNT(attempts); i++) {
        struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
        if (!sqe)
            _exit(UNEXPECTED);
        memset(sqe, 0, sizeof *sqe);
        sqe->opcode = attempts[i].operation;
        sqe->flags = attempts[i].flags;
        sqe->fd = AT_FDCWD;
        sqe->addr = attempts[i].address;
        if (io_uring_submit_and_wait(&ring, 1) < 0 || io_uring_peek_cqe(&ring, &cqe) < 0)
            _exit(UNEXPECTED);
        /* Operations that this kernel does not know are refused as such. */
        if (cqe->res != -EACCES && cqe->res != -EINVAL) {
            fprintf(stderr, "%s through the ring gives %d\n", attempts[i].name, cqe->res);
            _exit(UNEXPECTED);
        }
        io_uring_cqe_seen(&ring, cqe);
    }
    /* The ring still does what it is for. */
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
    if (!sqe)
        _exit(UNEXPECTED);
    io_uring_prep_poll_add(sqe, report_fd, POLLOUT);
    if (io_uring_submit_and_wait(&ring, 1) < 0 || io_uring_peek_cqe(&ring, &cqe) < 0 ||
        cqe->res != POLLOUT)
        _exit(UNEXPECTED);
}

TEST(nothing_forbidden_goes_through_the_ring)
{
    if (!has_sandbox())
        return;
    int status = exit_status(in_child(ring_attempts, NULL));
    if (status == 77) {
        printf("  not asked: there is no io_uring here\n");
        return;
    }
    ASSERT_INT(status, SURVIVED);
}

/* ---- other ways round ---- */

static void replace_handler(void *context)
{
    (void)context;
    enter(SANDBOX_CLOSED);
    if (signal(SIGSYS, SIG_IGN) != SIG_ERR || errno != EPERM)
        _exit(UNEXPECTED);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL); /* a blocked SIGSYS ends it all the same */
    syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
}

TEST(a_violation_cannot_be_caught_or_held_back)
{
    if (!has_sandbox())
        return;
    ASSERT_INT(exit_status(in_child(replace_handler, NULL)), -SIGSYS);
}

static void other_numbers(void *context)
{
    (void)context;
    enter(SANDBOX_DEVICE);
    syscall(0x40000000 | SYS_getpid);
}

static void other_architecture(void *context)
{
    long result = 20; /* getpid of i386 */
    (void)context;
    enter(SANDBOX_DEVICE);
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
}

TEST(calls_under_other_numbers_end_the_process)
{
    if (!has_sandbox())
        return;
    ASSERT_INT(exit_status(in_child(other_numbers, NULL)), -SIGSYS);
    /* A kernel without 32-bit calls ends it with SIGSEGV. */
    int status = exit_status(in_child(other_architecture, NULL));
    ASSERT(status == -SIGSYS || status == -SIGSEGV);
}

static _Atomic int may_go;

static void *call_from_thread(void *context)
{
    (void)context;
    while (!atomic_load(&may_go))
        sched_yield();
    syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
    return NULL;
}

static void thread_from_before(void *context)
{
    pthread_t thread;
    (void)context;
    if (sandbox_limit_files(SANDBOX_CLOSED, NULL) < 0 ||
        pthread_create(&thread, NULL, call_from_thread, NULL) != 0 ||
        sandbox_limit_calls(SANDBOX_CLOSED, on_report) < 0)
        _exit(UNEXPECTED);
    atomic_store(&may_go, 1);
    pthread_join(thread, NULL);
}

TEST(threads_from_before_are_inside_too)
{
    if (!has_sandbox())
        return;
    ASSERT_INT(exit_status(in_child(thread_from_before, NULL)), SANDBOX_EXIT);
}

static void files_alone(void *context)
{
    (void)context;
    if (sandbox_limit_files(SANDBOX_CLOSED, NULL) < 0)
        _exit(UNEXPECTED);
    if (open("/dev/null", O_RDONLY) >= 0 || errno != EACCES || open("/", O_RDONLY) >= 0)
        _exit(UNEXPECTED);
    char *const argv[] = {(char *)"true", NULL};
    execv("/bin/true", argv);
    if (errno != EACCES)
        _exit(UNEXPECTED);
}

TEST(without_seccomp_files_stay_shut_and_programs_too)
{
    char text[SANDBOX_TEXT_BYTES];
    if (!(sandbox_probe(text) & SANDBOX_FILES))
        return;
    ASSERT_INT(exit_status(in_child(files_alone, NULL)), SURVIVED);
}

/* ---- what work needs ---- */

static void *count_up(void *context)
{
    char *memory = malloc(3 << 20);
    if (!memory)
        _exit(UNEXPECTED);
    memset(memory, 1, 3 << 20);
    free(memory);
    atomic_fetch_add((_Atomic int *)context, 1);
    return NULL;
}

static void work(void *context)
{
    enum { THREADS = 8, BYTES = 4 << 20 };
    static _Atomic int counter;
    pthread_t threads[THREADS];
    struct heap heap;
    struct heap_figures figures;
    int shared = memfd_create("shared", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    int bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), pair[2];
    uint64_t one = 1;
    (void)context;
    heap_init(&heap);
    if (ftruncate(shared, BYTES) < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
        _exit(UNEXPECTED);
    enter(SANDBOX_CLOSED);
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, count_up, &counter) != 0)
            _exit(UNEXPECTED);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    if (atomic_load(&counter) != THREADS || memory == MAP_FAILED)
        _exit(2);
    memset(memory, 7, BYTES);
    mlock(memory, 4096);
    struct stat status;
    if (madvise(memory, BYTES, MADV_DONTDUMP) < 0 || fallocate(shared, 0, 0, BYTES) < 0 ||
        fstat(shared, &status) < 0 || fcntl(shared, F_ADD_SEALS, F_SEAL_SHRINK) < 0 ||
        munmap(memory, BYTES) < 0)
        _exit(3);
    heap_trim_now();
    heap_sample(&heap, &figures);
    if (figures.pss_bytes == 0 || clock_now_ns() == 0)
        _exit(4);
    struct pollfd bells = {.fd = bell, .events = POLLIN};
    if (write(bell, &one, sizeof one) != sizeof one || poll(&bells, 1, 100) != 1 ||
        read(bell, &one, sizeof one) != sizeof one)
        _exit(5);
    struct msghdr packet = {0};
    if (recvmsg(pair[0], &packet, MSG_DONTWAIT) != -1 || errno != EAGAIN ||
        send(pair[0], "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
        _exit(6);
    usleep(1000);
    log_info("a line");
    log_error("a line that the test expects");
}

TEST(work_goes_on_inside)
{
    if (!has_sandbox())
        return;
    ASSERT_INT(exit_status(in_child(work, NULL)), SURVIVED);
    ASSERT_STR(reported, "");
}

static void abort_inside(void *context)
{
    (void)context;
    enter(SANDBOX_CLOSED);
    abort();
}

TEST(a_failed_check_still_aborts)
{
    if (!has_sandbox())
        return;
    ASSERT_INT(exit_status(in_child(abort_inside, NULL)), -SIGABRT);
}

static void spool(void *context)
{
    char temporary[96], whole[96];
    (void)context;
    snprintf(temporary, sizeof temporary, "%s/1.part", folder);
    snprintf(whole, sizeof whole, "%s/1", folder);
    enter(SANDBOX_SPOOL);
    int fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1 || fsync(fd) < 0 || ftruncate(fd, 0) < 0)
        _exit(2);
    if (sync_file_range(fd, 0, 1, SYNC_FILE_RANGE_WRITE) < 0 ||
        (ioctl(fd, 0x40049409 /* FICLONE */, fd) < 0 && errno == EPERM) || close(fd) < 0)
        _exit(7);
    if (renameat(AT_FDCWD, temporary, AT_FDCWD, whole) < 0 || unlinkat(AT_FDCWD, whole, 0) < 0)
        _exit(3);
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0)
        _exit(4);
    if (open("/etc/passwd", O_RDONLY) >= 0 || errno != EACCES)
        _exit(5);
    if (open("/tmp/cuzk-never", O_RDWR | O_CREAT, 0600) >= 0 || errno != EACCES)
        _exit(6);
}

TEST(the_intake_has_its_folder_and_no_other)
{
    if (!has_sandbox())
        return;
    ASSERT_INT(exit_status(in_child(spool, NULL)), SURVIVED);
}

TEST(words_for_policy_and_state)
{
    enum sandbox_policy policy;
    for (int i = SANDBOX_REQUIRE; i <= SANDBOX_OFF; i++) {
        ASSERT_INT(sandbox_policy_from_string(sandbox_policy_to_string(i), &policy), 0);
        ASSERT_INT(policy, i);
    }
    ASSERT_INT(sandbox_policy_from_string("maybe", &policy), -EINVAL);
    ASSERT_STR(sandbox_parts_to_string(0), "none");
    ASSERT_STR(sandbox_parts_to_string(SANDBOX_FILES), "files");
    ASSERT_STR(sandbox_parts_to_string(SANDBOX_CALLS), "calls");
    ASSERT_STR(sandbox_parts_to_string(SANDBOX_ALL), "full");
}

TEST(a_driver_may_read_and_use_devices)
{
    if (!has_sandbox())
        return;
    ASSERT_INT(exit_status(in_child(read_as_a_driver_does, NULL)), SURVIVED);
}

int main(void)
{
    static const struct test_case cases[] = {
        CASE(words_for_policy_and_state),
        CASE(what_only_an_intruder_asks_for_ends_the_process),
        CASE(what_a_library_may_ask_for_is_refused),
        CASE(a_gpu_worker_is_refused_programs_sockets_rings_and_new_files),
        CASE(a_driver_may_read_and_use_devices),
        CASE(nothing_forbidden_goes_through_the_ring),
        CASE(a_violation_cannot_be_caught_or_held_back),
        CASE(calls_under_other_numbers_end_the_process),
        CASE(threads_from_before_are_inside_too),
        CASE(without_seccomp_files_stay_shut_and_programs_too),
        CASE(work_goes_on_inside),
        CASE(a_failed_check_still_aborts),
        CASE(the_intake_has_its_folder_and_no_other),
    };
    char path[80];
    snprintf(folder, sizeof folder, "/tmp/cuzk-sandbox-XXXXXX");
    if (!mkdtemp(folder))
        return 99;
    snprintf(path, sizeof path, "%s/there", folder);
    close(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    int failed = test_main(cases, (int)COUNT(cases));
    unlink(path);
    rmdir(folder);
    return failed;
}
