/* The system calls of each profile, x86-64. See runtime/sandbox_table.h. */
#include "runtime/sandbox_table.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Headers of Debian 12 lack some of these, and linux/fs.h clashes with the C library's. */
enum {
    CALL_FUTEX_WAITV = 449,
    CALL_FUTEX_WAKE = 454,
    CALL_FUTEX_WAIT = 455,
    CALL_FUTEX_REQUEUE = 456,
    PRCTL_SET_VMA = 0x53564d41, /* newer C libraries name their memory with it */
    PRCTL_SET_PTRACER = 0x59616d61,
    IOCTL_FICLONE = 0x40049409,
};

#define ROW(call, condition_, argument_, value_, action_)                                          \
    {                                                                                              \
        .number = SYS_##call, .condition = (condition_), .argument = (argument_),                  \
        .value = (value_), .action = (action_)                                                     \
    }
#define ALLOW(call)  ROW(call, SANDBOX_ALWAYS, 0, 0, SANDBOX_ALLOW)
#define REFUSE(call) ROW(call, SANDBOX_ALWAYS, 0, 0, SANDBOX_REFUSE)
#define END(call)                                                                                  \
    {                                                                                              \
        .number = SYS_##call, .action = SANDBOX_END, .name = #call                                 \
    }
#define ALLOW_IF(call, condition, argument, value)                                                 \
    ROW(call, condition, argument, value, SANDBOX_ALLOW)
#define REFUSE_IF(call, condition, argument, value)                                                \
    ROW(call, condition, argument, value, SANDBOX_REFUSE)

/* Nobody of ours asks for these once it runs: not the C library, not a driver. First in every
 * table. */
static const struct sandbox_row intrusions[] = {
    END(ptrace),
    END(process_vm_readv),
    END(process_vm_writev),
    END(pidfd_getfd),
    END(pidfd_send_signal),
    END(kcmp),
    ALLOW_IF(kill, SANDBOX_IF_OWN_PID, 0, 0),
    END(kill),
    END(tkill),
    END(rt_sigqueueinfo),
    ALLOW_IF(tgkill, SANDBOX_IF_OWN_PID, 0, 0), /* abort, pthread_kill */
    END(tgkill),
    END(rt_tgsigqueueinfo),
    END(bpf),
    END(perf_event_open),
    END(userfaultfd),
    END(mount),
    END(umount2),
    END(pivot_root),
    END(chroot),
    END(open_tree),
    END(move_mount),
    END(fsopen),
    END(setns),
    END(unshare),
    END(init_module),
    END(finit_module),
    END(delete_module),
    END(kexec_load),
    END(kexec_file_load),
    END(reboot),
    END(swapon),
    END(swapoff),
    END(sethostname),
    END(setdomainname),
    END(settimeofday),
    END(clock_settime),
    END(adjtimex),
    END(clock_adjtime),
    END(acct),
    END(quotactl),
    END(iopl),
    END(ioperm),
    END(add_key),
    END(request_key),
    END(keyctl),
    END(setuid),
    END(setgid),
    END(setreuid),
    END(setregid),
    END(setresuid),
    END(setresgid),
    END(setgroups),
    END(setfsuid),
    END(setfsgid),
    END(capset),
    /* A ring of its own would pass this filter by. */
    REFUSE(io_uring_setup),
    REFUSE(io_uring_register),
    /* The handler that tells of an end stays. */
    REFUSE_IF(rt_sigaction, SANDBOX_IF_EQUAL, 0, SIGSYS),
    REFUSE_IF(prctl, SANDBOX_IF_EQUAL, 0, PR_SET_DUMPABLE),
    REFUSE_IF(prctl, SANDBOX_IF_EQUAL, 0, PR_SET_PDEATHSIG),
    REFUSE_IF(prctl, SANDBOX_IF_EQUAL, 0, PRCTL_SET_PTRACER),
};

/* Programs, processes and sockets, where nobody asks to find out. */
static const struct sandbox_row closed_ends[] = {
    END(execve),
    END(execveat),
    END(fork),
    END(vfork),
    ALLOW_IF(clone, SANDBOX_IF_HAS, 0, CLONE_THREAD),
    END(clone),
    ROW(clone3, SANDBOX_ALWAYS, 0, 0, SANDBOX_ABSENT), /* its flags lie in memory */
    END(socket),
    END(socketpair),
    END(connect),
    END(bind),
    END(listen),
    END(accept),
    END(accept4),
};

/* A driver's library may try a helper program, another process's socket or whether a process lives,
 * and goes on without. First in its table: these do not end it. */
static const struct sandbox_row device_refusals[] = {
    REFUSE(process_vm_readv),
    REFUSE(process_vm_writev),
    REFUSE(kcmp),
    ALLOW_IF(kill, SANDBOX_IF_OWN_PID, 0, 0),
    REFUSE(kill),
    REFUSE(execve),
    REFUSE(execveat),
    REFUSE(fork),
    REFUSE(vfork),
    ALLOW_IF(clone, SANDBOX_IF_HAS, 0, CLONE_THREAD),
    REFUSE(clone),
    ROW(clone3, SANDBOX_ALWAYS, 0, 0, SANDBOX_ABSENT),
    REFUSE(socket),
    REFUSE(socketpair),
    REFUSE(connect),
    REFUSE(bind),
    REFUSE(listen),
    REFUSE(accept),
    REFUSE(accept4),
    REFUSE(personality),
    REFUSE(chmod),
    REFUSE(fchmodat),
    REFUSE(chown),
    REFUSE(lchown),
    REFUSE(fchownat),
};

/* What work needs: own memory, threads, time, descriptors that were handed over. */
static const struct sandbox_row closed_work[] = {
    ALLOW(read),
    ALLOW(write),
    ALLOW(io_uring_enter),
    ALLOW(futex),
    {.number = CALL_FUTEX_WAITV, .action = SANDBOX_ALLOW},
    {.number = CALL_FUTEX_WAKE, .action = SANDBOX_ALLOW},
    {.number = CALL_FUTEX_WAIT, .action = SANDBOX_ALLOW},
    {.number = CALL_FUTEX_REQUEUE, .action = SANDBOX_ALLOW},
    ALLOW(poll),
    ALLOW(ppoll),
    ALLOW(recvmsg),
    ALLOW_IF(sendto, SANDBOX_IF_NULL, 4, 0), /* the log's socket, connected */
    ALLOW(close),
    ALLOW(pread64),
    ALLOW(pwrite64),
    ALLOW(preadv),
    ALLOW(pwritev),
    ALLOW(readv),
    ALLOW(writev),
    ALLOW(lseek),
    ALLOW(fstat),
    ALLOW_IF(newfstatat, SANDBOX_IF_EQUAL, 3, AT_EMPTY_PATH), /* fstat of the C library */
    ALLOW(fstatfs),                                           /* is this memory on hugepages? */
    ALLOW(fsync),
    ALLOW(fdatasync),
    ALLOW(fallocate),
    ALLOW(ftruncate),
    ALLOW(copy_file_range),
    ALLOW_IF(fcntl, SANDBOX_IF_EQUAL, 1, F_GETFL),
    ALLOW_IF(fcntl, SANDBOX_IF_EQUAL, 1, F_GETFD),
    ALLOW_IF(fcntl, SANDBOX_IF_EQUAL, 1, F_SETFD),
    ALLOW_IF(fcntl, SANDBOX_IF_EQUAL, 1, F_GET_SEALS),
    ALLOW_IF(fcntl, SANDBOX_IF_EQUAL, 1, F_ADD_SEALS),
    /* Memory that is written is never run. */
    ALLOW(brk),
    ALLOW_IF(mmap, SANDBOX_IF_LACKS, 2, PROT_EXEC),
    ALLOW_IF(mprotect, SANDBOX_IF_LACKS, 2, PROT_EXEC),
    ALLOW(munmap),
    ALLOW(mremap),
    ALLOW(madvise),
    ALLOW(mlock),
    ALLOW(mlock2),
    ALLOW(munlock),
    ALLOW(mincore),
    ALLOW(msync),
    ALLOW(clock_gettime),
    ALLOW(clock_getres),
    ALLOW(clock_nanosleep),
    ALLOW(nanosleep),
    ALLOW(gettimeofday),
    ALLOW(time),
    ALLOW(getrandom),
    ALLOW(getpid),
    ALLOW(getppid),
    ALLOW(gettid),
    ALLOW(getuid),
    ALLOW(geteuid),
    ALLOW(getgid),
    ALLOW(getegid),
    ALLOW(getcpu),
    ALLOW(getrusage),
    ALLOW(sysinfo),
    ALLOW(uname),
    ALLOW_IF(prlimit64, SANDBOX_IF_NULL, 2, 0), /* reading */
    ALLOW(getrlimit),
    ALLOW(sched_yield),
    ALLOW(sched_getaffinity),
    ALLOW(set_robust_list),
    ALLOW(set_tid_address),
    ALLOW(rseq),
    ALLOW(membarrier),
    ALLOW_IF(prctl, SANDBOX_IF_EQUAL, 0, PR_SET_NAME),
    ALLOW_IF(prctl, SANDBOX_IF_EQUAL, 0, PRCTL_SET_VMA),
    ALLOW(sigaltstack),
    ALLOW(rt_sigaction),
    ALLOW(rt_sigprocmask),
    ALLOW(rt_sigreturn),
    ALLOW(restart_syscall),
    ALLOW(exit),
    ALLOW(exit_group),
};

/* What copies into the spool needs beyond that; which files, Landlock says. */
static const struct sandbox_row spool_work[] = {
    ALLOW(openat),
    ALLOW(newfstatat),
    ALLOW(statx),
    ALLOW(renameat),
    ALLOW(renameat2),
    ALLOW(linkat),
    ALLOW(unlinkat),
    ALLOW(getdents64),
    ALLOW(fchmod),
    ALLOW(flock),
    ALLOW(fadvise64),
    ALLOW(sync_file_range),
    ALLOW(splice),
    ALLOW(sendfile),
    ALLOW(sendmsg), /* descriptors back over its courier: it can make no other socket */
    ALLOW(dup),
    ALLOW(dup3),
    ALLOW_IF(fcntl, SANDBOX_IF_EQUAL, 1, F_DUPFD_CLOEXEC),
    ALLOW_IF(fcntl, SANDBOX_IF_EQUAL, 1, F_SETFL),
    ALLOW_IF(ioctl, SANDBOX_IF_EQUAL, 1, IOCTL_FICLONE),
};

#define PART(rows) sizeof(rows) / sizeof(rows)[0]

/* What ends a process is asked first, so that no later row allows it. */
static const struct sandbox_table tables[] = {
    [SANDBOX_CLOSED] = {.parts = {intrusions, closed_ends, closed_work},
                        .counts = {PART(intrusions), PART(closed_ends), PART(closed_work)},
                        .otherwise = SANDBOX_REFUSE},
    [SANDBOX_DEVICE] = {.parts = {device_refusals, intrusions},
                        .counts = {PART(device_refusals), PART(intrusions)},
                        .otherwise = SANDBOX_ALLOW},
    [SANDBOX_SPOOL] = {.parts = {intrusions, closed_ends, spool_work, closed_work},
                       .counts = {PART(intrusions), PART(closed_ends), PART(spool_work),
                                  PART(closed_work)},
                       .otherwise = SANDBOX_REFUSE},
};

const struct sandbox_table *sandbox_table(enum sandbox_profile profile)
{
    return &tables[profile];
}

static const char *name_in(const struct sandbox_row *rows, uint32_t count, uint32_t number)
{
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].number == number && rows[i].name)
            return rows[i].name;
    }
    return NULL;
}

const char *sandbox_table_name(uint32_t number)
{
    const char *name = name_in(intrusions, PART(intrusions), number);
    if (!name)
        name = name_in(closed_ends, PART(closed_ends), number);
    return name ? name : "";
}
