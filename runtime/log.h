/* Log lines of every process to stderr: under systemd with a "<N>" priority prefix (journald reads
 * it), elsewhere with an ISO-8601 UTC time in front. One write(2) a line, which never blocks: lines
 * that find the pipe full are counted, and the count is reported when the reader is back. Survives
 * EPIPE (log_init ignores SIGPIPE). Control characters and malformed UTF-8 in a message come out as
 * \xNN, so that a client's text cannot forge a line. Never logs witness data.
 *
 * Where stderr is the journal's, lines go to it as records with fields instead (`journalctl
 * WORKER=gpu-0`, `JOB=1001 PARTITION=3`): WORKER is the name when it is not the supervisor's, JOB
 * and PARTITION the first numbers that the message itself names so ("job 7", "partition=3"). The
 * socket for that is opened by log_init, before any sandbox, and used connected; once journald is
 * no longer behind it, lines go to stderr again, whose other end journald keeps across its own
 * restart. */
#pragma once

#include <stdint.h>

enum log_level {
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARN,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG,
};

/* name: "cuzkd", "synth-0", ... put in every line. */
void log_init(const char *name, enum log_level max);
/* Records go to the journal at this path (of a datagram socket); NULL: to stderr. Called by
 * log_init where stderr is the journal's. 0 or negative errno. */
int log_open_journal(const char *path);
void log_set_level(enum log_level max);
const char *log_level_to_string(enum log_level level);
int log_level_from_string(const char *text, enum log_level *ret);
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
