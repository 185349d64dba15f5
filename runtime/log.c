/* Log lines to stderr. See runtime/log.h.
 *
 * Nothing here may block: a daemon that waits for its log's reader has stopped serving. A pipe is
 * opened anew, non-blocking, so that other holders of the same stderr keep their own mode; a socket
 * (journald's) takes MSG_DONTWAIT. */
#include "runtime/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    /* Below PIPE_BUF, so that lines of several processes on one pipe do not mix. */
    LINE_BYTES_MAX = 2048,
};

static struct {
    char name[64];
    int fd;
    int journal_fd; /* connected, -1: none */
    bool is_socket, is_journal;
    _Atomic int level;
    _Atomic uint64_t dropped;
} log_state = {.fd = STDERR_FILENO, .journal_fd = -1, .level = LOG_LEVEL_INFO};

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static const char journal_path[] = "/run/systemd/journal/socket";
static const int level_priorities[] = {3, 4, 6, 7}; /* syslog's, as journald reads them */

/* journald sets JOURNAL_STREAM to "dev:inode" of the stream it gave; a stderr that was redirected
 * afterwards is another one. */
static bool is_journal_stream(const struct stat *status)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;

    return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
           device == status->st_dev && inode == status->st_ino;
}

int log_open_journal(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int r = 0;

    if (log_state.journal_fd >= 0)
        close(log_state.journal_fd);
    log_state.journal_fd = -1;
    if (!path)
        return 0;
    if (strlen(path) >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        r = -errno;
    if (r < 0)
        close(fd);
    else
        log_state.journal_fd = fd;
    return r;
}

void log_init(const char *name, enum log_level max)
{
    struct stat status;

    signal(SIGPIPE, SIG_IGN);
    snprintf(log_state.name, sizeof log_state.name, "%s", name);
    log_set_level(max);
    tzset(); /* gmtime_r would open the time zone's file on first use, and perhaps may not then */
    if (log_state.fd != STDERR_FILENO)
        close(log_state.fd);
    log_state.fd = STDERR_FILENO;
    log_state.is_socket = log_state.is_journal = false;
    log_open_journal(NULL);
    if (fstat(STDERR_FILENO, &status) < 0)
        return;
    log_state.is_journal = is_journal_stream(&status);
    log_state.is_socket = S_ISSOCK(status.st_mode);
    if (log_state.is_journal)
        log_open_journal(journal_path); /* without it stderr takes all, priorities included */
    if (S_ISFIFO(status.st_mode)) {
        int fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0)
            log_state.fd = fd;
    }
}

void log_set_level(enum log_level max)
{
    atomic_store_explicit(&log_state.level, (int)max, memory_order_relaxed);
}

const char *log_level_to_string(enum log_level level)
{
    return (unsigned)level < 4 ? level_names[level] : "?";
}

int log_level_from_string(const char *text, enum log_level *ret)
{
    for (unsigned i = 0; i < 4; i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *ret = (enum log_level)i;
            return 0;
        }
    }
    return -EINVAL;
}

static bool write_line(const char *line, size_t bytes)
{
    struct pollfd poll_out = {.fd = log_state.fd, .events = POLLOUT};
    ssize_t written;

    if (log_state.is_socket) {
        written = send(log_state.fd, line, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
        if (poll(&poll_out, 1, 0) != 1 || !(poll_out.revents & POLLOUT))
            return false;
        written = write(log_state.fd, line, bytes);
    }
    return written >= 0;
}

static size_t put_prefix(char *line, size_t room, enum log_level level)
{
    struct timespec now;
    struct tm utc;
    int bytes;

    if (log_state.is_journal) {
        bytes = snprintf(line, room, "<%d>%s: ", level_priorities[level], log_state.name);
    } else {
        clock_gettime(CLOCK_REALTIME, &now);
        gmtime_r(&now.tv_sec, &utc);
        bytes =
            snprintf(line, room, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ %s %s: ", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     now.tv_nsec / 1000000, level_names[level], log_state.name);
    }
    return (size_t)bytes < room ? (size_t)bytes : room - 1;
}

/* Bytes of the well-formed UTF-8 character at text, 0 when there is none or it is a control
 * character (C0, DEL, C1): those could forge a line or drive the reader's terminal. */
static size_t printable_bytes(const unsigned char *text)
{
    unsigned char first = text[0];
    size_t bytes = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;

    if (bytes == 1)
        return first >= 0x20 && first != 0x7f;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((first == 0xc2 && text[1] < 0xa0) || (first == 0xe0 && text[1] < 0xa0) ||
        (first == 0xf0 && text[1] < 0x90) || (first == 0xed && text[1] > 0x9f) ||
        (first == 0xf4 && text[1] > 0x8f))
        return 0;
    return bytes;
}

/* Appends text with everything unprintable as \xNN. Keeps one byte of room for the newline. */
static size_t put_escaped(char *line, size_t at, size_t room, const char *text)
{
    const unsigned char *from = (const unsigned char *)text;

    while (*from) {
        size_t bytes = printable_bytes(from);
        if (at + (bytes ? bytes : 4) + 1 > room)
            break;
        if (bytes) {
            memcpy(line + at, from, bytes);
            at += bytes;
            from += bytes;
        } else {
            static const char digits[] = "0123456789abcdef";
            line[at++] = '\\';
            line[at++] = 'x';
            line[at++] = digits[*from >> 4];
            line[at++] = digits[*from++ & 15];
        }
    }
    return at;
}

/* "FIELD=number\n" for the first "word number" or "word=number" of the text. */
static size_t put_number(char *record, size_t at, size_t room, const char *field, const char *text,
                         const char *word)
{
    size_t bytes = strlen(word);

    for (const char *found = strstr(text, word); found; found = strstr(found + 1, word)) {
        bool is_word = found == text || found[-1] == ' ' || found[-1] == '(';
        if (!is_word || (found[bytes] != ' ' && found[bytes] != '='))
            continue;
        const char *digits = found + bytes + 1;
        size_t count = strspn(digits, "0123456789");
        if (count == 0 || count > 20)
            continue;
        return at +
               (size_t)snprintf(record + at, room - at, "%s=%.*s\n", field, (int)count, digits);
    }
    return at;
}

/* One record of journald's own protocol: a field a line, for no value of ours holds a newline.
 * False: it was not taken; *ret_is_gone: nor will another one be. */
static bool emit_record(enum log_level level, const char *text, bool *ret_is_gone)
{
    char record[LINE_BYTES_MAX + 512];
    bool is_worker = strcmp(log_state.name, "cuzkd") != 0;
    size_t at = (size_t)snprintf(record, sizeof record, "PRIORITY=%d\nSYSLOG_IDENTIFIER=cuzkd\n",
                                 level_priorities[level]);

    if (is_worker)
        at += (size_t)snprintf(record + at, sizeof record - at, "WORKER=%s\n", log_state.name);
    at = put_number(record, at, sizeof record, "JOB", text, "job");
    at = put_number(record, at, sizeof record, "PARTITION", text, "partition");
    at += (size_t)snprintf(record + at, sizeof record - at, "MESSAGE=%s: ", log_state.name);
    at = put_escaped(record, at, sizeof record, text);
    record[at++] = '\n';
    if (send(log_state.journal_fd, record, at, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return true;
    *ret_is_gone = errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS;
    return false;
}

static bool emit(enum log_level level, const char *text)
{
    char line[LINE_BYTES_MAX];
    bool is_gone = false;

    if (log_state.journal_fd >= 0) {
        if (emit_record(level, text, &is_gone))
            return true;
        if (!is_gone)
            return false;
    }
    size_t at = put_prefix(line, sizeof line, level);

    at = put_escaped(line, at, sizeof line, text);
    line[at++] = '\n';
    return write_line(line, at);
}

static void report_dropped(void)
{
    uint64_t dropped = atomic_exchange_explicit(&log_state.dropped, 0, memory_order_relaxed);
    char text[96];

    if (dropped == 0)
        return;
    snprintf(text, sizeof text, "%llu log lines dropped: the log's reader was too slow",
             (unsigned long long)dropped);
    if (!emit(LOG_LEVEL_WARN, text))
        atomic_fetch_add_explicit(&log_state.dropped, dropped, memory_order_relaxed);
}

void log_line(enum log_level level, const char *format, ...)
{
    char text[LINE_BYTES_MAX];
    int saved_errno = errno;
    va_list arguments;

    if ((int)level > atomic_load_explicit(&log_state.level, memory_order_relaxed))
        return;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) < 0)
        text[0] = '\0';
    va_end(arguments);
    report_dropped();
    if (!emit(level, text))
        atomic_fetch_add_explicit(&log_state.dropped, 1, memory_order_relaxed);
    errno = saved_errno;
}
