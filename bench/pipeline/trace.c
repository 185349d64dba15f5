/* cuzk-bench-pipeline trace: follows the trace rings of a running daemon's workers (shm/trace.h)
 * and writes every event as a line, so that a measurement knows when each phase of each partition
 * ran. Reads the channels through /proc: needs root, or the daemon's user where it may trace its
 * processes. */
#include "bench/pipeline/parts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/limits.h"
#include "shm/channel.h"
#include "shm/port.h"

enum {
    INTERVAL_US = 50000,
    /* Events that the writer may add between the two looks at its count; repeats are dropped by
     * whoever reads the lines. */
    SLACK = 64,
    FOLLOWED_MAX = 4 * WORKERS_MAX, /* with those that were replaced */
};

struct followed {
    pid_t pid;
    struct channel channel;
    uint64_t written; /* lines are out up to here */
};

static struct {
    struct followed workers[FOLLOWED_MAX];
    unsigned count;
    struct trace_event events[TRACE_ENTRIES];
} trace;

static volatile sig_atomic_t is_ended;

static void on_signal(int number)
{
    (void)number;
    is_ended = 1;
}

static pid_t parent_of(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    const size_t bytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[bytes] = '\0';
    const char *after_name = strrchr(text, ')');
    int parent = 0;
    return after_name && sscanf(after_name, ") %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

static bool is_known(pid_t pid)
{
    for (unsigned i = 0; i < trace.count; i++)
        if (trace.workers[i].pid == pid)
            return true;
    return false;
}

/* Children without a channel (helpers, or not yet executed) are looked at again next time. */
static void follow(pid_t pid)
{
    struct followed *worker = &trace.workers[trace.count];
    char path[64];
    if (trace.count == FOLLOWED_MAX)
        return;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, PORT_FD_CHANNEL);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    *worker = (struct followed){.pid = pid};
    if (channel_attach_read_only(fd, &worker->channel) < 0)
        close(fd);
    else
        trace.count++;
}

static void find_workers(pid_t supervisor)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        const pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
        if (pid > 0 && !is_known(pid) && parent_of(pid) == supervisor)
            follow(pid);
    }
    if (folder)
        closedir(folder);
}

static void write_events(struct followed *worker, FILE *out)
{
    struct channel_layout *layout = worker->channel.layout;
    const uint64_t written = atomic_load_explicit(&layout->trace.written, memory_order_acquire);
    const uint64_t wanted = written - worker->written + SLACK;
    if (written == worker->written)
        return;
    const uint32_t count = trace_read(&layout->trace, trace.events,
                                      wanted < TRACE_ENTRIES ? (uint32_t)wanted : TRACE_ENTRIES);
    if (written - worker->written > TRACE_ENTRIES)
        fprintf(out, "# lost %" PRIu64 "\n", written - worker->written - TRACE_ENTRIES);
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_event *event = &trace.events[i];
        fprintf(out, "%s-%u\t%d\t%" PRIu64 "\t%u\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
                worker_kind_to_string((enum worker_kind)layout->header.kind), layout->header.index,
                (int)worker->pid, event->job, event->partition,
                phase_to_string((enum phase)event->phase), event->begin_ns, event->end_ns,
                event->bytes);
    }
    worker->written = written;
}

static void print_usage(FILE *out)
{
    fputs("Usage: cuzk-bench-pipeline trace --pid N\n\n"
          "Writes to standard output what the workers of the daemon with this process id record,\n"
          "until SIGTERM or the daemon's end. A line an event, tab-separated: worker, pid, job,\n"
          "partition, phase, begin and end (ns of CLOCK_MONOTONIC), bytes. Lines may repeat.\n",
          out);
}

int parts_trace(int argc, char **argv)
{
    static const struct option longs[] = {{"pid", required_argument, NULL, 'p'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    const struct sigaction action = {.sa_handler = on_signal};
    pid_t supervisor = 0;
    int option;
    while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        if (option == 'h') {
            print_usage(stdout);
            return 0;
        }
        if (option != 'p') {
            print_usage(stderr);
            return 2;
        }
        supervisor = (pid_t)strtol(optarg, NULL, 10);
    }
    if (supervisor <= 0 || optind != argc) {
        print_usage(stderr);
        return 2;
    }
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    printf("# worker\tpid\tjob\tpartition\tphase\tbegin_ns\tend_ns\tbytes\n");
    for (bool is_last = false; !is_last;) {
        is_last = is_ended || kill(supervisor, 0) < 0;
        find_workers(supervisor);
        for (unsigned i = 0; i < trace.count; i++)
            write_events(&trace.workers[i], stdout);
        if (fflush(stdout) != 0)
            return 1;
        if (!is_last)
            usleep(INTERVAL_US);
    }
    for (unsigned i = 0; i < trace.count; i++)
        channel_destroy(&trace.workers[i].channel);
    return 0;
}
