/* seccomp: a table of runtime/sandbox_table.c becomes a BPF program for all threads of the process.
 * Written by hand, not with libseccomp: the program is a list of comparisons, the parsers of
 * hostile files link one library less, and calls newer than that library's tables are known by
 * number. See runtime/sandbox.h. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/check.h"
#include "runtime/log.h"
#include "runtime/sandbox.h"
#include "runtime/sandbox_files.h"
#include "runtime/sandbox_table.h"

enum {
    ROW_INSTRUCTIONS = 8, /* at most */
    PROGRAM_INSTRUCTIONS_MAX = 4096,
    SIGSYS_BY_FILTER = 1,   /* si_code SYS_SECCOMP, which signal.h lacks */
    X32_CALLS = 0x40000000, /* the same calls under other numbers */
};

struct program {
    struct sock_filter code[PROGRAM_INSTRUCTIONS_MAX];
    uint16_t count;
};

static void (*on_violation_report)(const char *text);

/* The call was not made. Runs on the thread that made it. */
static void on_violation(int signal, siginfo_t *info, void *context)
{
    char text[SANDBOX_TEXT_BYTES];
    (void)signal;
    (void)context;
    if (info->si_code == SIGSYS_BY_FILTER) {
        const uint32_t number = (uint32_t)info->si_syscall;
        snprintf(text, sizeof text, "its sandbox forbids the system call %s (%u)",
                 sandbox_table_name(number), number);
        log_error("%s: a file may have broken this process; it ends", text);
        if (on_violation_report)
            on_violation_report(text);
    }
    _exit(SANDBOX_EXIT);
}

static void put(struct program *program, uint16_t code, uint32_t value, uint8_t if_true,
                uint8_t if_false)
{
    CHECK(program->count < PROGRAM_INSTRUCTIONS_MAX);
    program->code[program->count++] =
        (struct sock_filter){.code = code, .jt = if_true, .jf = if_false, .k = value};
}

static void load(struct program *program, size_t offset)
{
    put(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void answer(struct program *program, enum sandbox_action action)
{
    static const uint32_t values[] = {
        [SANDBOX_ALLOW] = SECCOMP_RET_ALLOW,
        [SANDBOX_REFUSE] = SECCOMP_RET_ERRNO | EPERM,
        [SANDBOX_ABSENT] = SECCOMP_RET_ERRNO | ENOSYS,
        [SANDBOX_END] = SECCOMP_RET_TRAP,
    };
    put(program, BPF_RET | BPF_K, values[action], 0, 0);
}

/* The number is in the accumulator before and after. Jumps lead to the next row. */
static void put_row(struct program *program, const struct sandbox_row *row)
{
    const size_t low = offsetof(struct seccomp_data, args) + 8u * row->argument;
    const uint16_t begin = program->count;
    put(program, BPF_JMP | BPF_JEQ | BPF_K, row->number, 0, 0); /* its way out is set below */
    switch ((enum sandbox_condition)row->condition) {
    case SANDBOX_ALWAYS:
        break;
    case SANDBOX_IF_EQUAL:
    case SANDBOX_IF_OWN_PID:
        load(program, low);
        put(program, BPF_JMP | BPF_JEQ | BPF_K,
            row->condition == SANDBOX_IF_EQUAL ? row->value : (uint32_t)getpid(), 0, 1);
        break;
    case SANDBOX_IF_HAS:
        load(program, low);
        put(program, BPF_JMP | BPF_JSET | BPF_K, row->value, 0, 1);
        break;
    case SANDBOX_IF_LACKS:
        load(program, low);
        put(program, BPF_JMP | BPF_JSET | BPF_K, row->value, 1, 0);
        break;
    case SANDBOX_IF_NULL:
        load(program, low);
        put(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
        load(program, low + 4);
        put(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
        break;
    }
    answer(program, (enum sandbox_action)row->action);
    if (row->condition != SANDBOX_ALWAYS)
        load(program, offsetof(struct seccomp_data, nr));
    program->code[begin].jf = (uint8_t)(program->count - begin - 1);
}

static void compile(struct program *program, const struct sandbox_table *table)
{
    program->count = 0;
    load(program, offsetof(struct seccomp_data, arch));
    put(program, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
    put(program, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    load(program, offsetof(struct seccomp_data, nr));
    put(program, BPF_JMP | BPF_JGE | BPF_K, X32_CALLS, 0, 1);
    put(program, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    for (size_t part = 0; part < sizeof table->parts / sizeof table->parts[0]; part++) {
        for (uint32_t i = 0; i < table->counts[part]; i++)
            put_row(program, &table->parts[part][i]);
    }
    answer(program, table->otherwise);
}

int sandbox_limit_calls(enum sandbox_profile profile, void (*report)(const char *text))
{
    static struct program program;
    const struct sigaction action = {.sa_sigaction = on_violation, .sa_flags = SA_SIGINFO};
    sigset_t unblocked;
    on_violation_report = report;
    sigemptyset(&unblocked);
    sigaddset(&unblocked, SIGSYS);
    if (sigaction(SIGSYS, &action, NULL) < 0 || sigprocmask(SIG_UNBLOCK, &unblocked, NULL) < 0)
        return -errno;
    compile(&program, sandbox_table(profile));
    const struct sock_fprog filter = {.len = program.count, .filter = program.code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    const long result =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
    if (result < 0)
        return -errno;
    return result > 0 ? -ESRCH : 0; /* a thread that has a filter of its own */
}

unsigned sandbox_probe(char *ret_text)
{
    const uint32_t action = SECCOMP_RET_TRAP;
    unsigned parts = 0;
    const int abi = sandbox_files_abi();
    ret_text[0] = '\0';
    if (abi >= 1)
        parts |= SANDBOX_FILES;
    else
        snprintf(ret_text, SANDBOX_TEXT_BYTES, "Landlock: %s%s", strerror(-abi),
                 abi == -EOPNOTSUPP ? " (add landlock to lsm= on the kernel's command line)"
                 : abi == -ENOSYS   ? " (the kernel is built without it)"
                                    : " (a container's seccomp filter)");
    if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0)
        return parts | SANDBOX_CALLS;
    const size_t used = strlen(ret_text);
    snprintf(ret_text + used, SANDBOX_TEXT_BYTES - used, "%sseccomp: %s", used ? "; " : "",
             strerror(errno));
    return parts;
}
