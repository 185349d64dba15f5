/* The parts of cuzkctl: one table of verbs, one parser of options, one way to fail. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "client/libcuzk.h"

/* Exit codes, documented in cuzkctl(1). */
enum ctl_exit {
    CTL_OK = 0,
    CTL_FAILED = 1, /* also: not verified */
    CTL_USAGE = 2,
    CTL_NO_DAEMON = 3,
    CTL_BAD_INPUT = 4,
    CTL_BUSY = 5,
    CTL_CANCELLED = 6,
    CTL_TIMEOUT = 7,
    CTL_BROKEN = 8, /* check: something does not hold */
    CTL_EXISTS = 9, /* the name is taken */
};

struct ctl_option {
    const char *name;  /* without the dashes */
    const char *value; /* what stands in the help for its value; NULL: takes none */
    bool is_required, is_repeatable;
    const char *help;
};

enum {
    CTL_GIVEN_MAX = 256,
    CTL_POSITIONAL_MAX = 4,
    /* A restart opens its sockets after 45 s at most (what it waits for is in leftovers.h), and a
     * service manager may wait before. One that is gone for longer was stopped for good. */
    CTL_RECONNECT_S = 120,
};

struct ctl;

struct ctl_verb {
    const char *name;                 /* "prove", "circuit add" */
    const char *positional;           /* "JOB", "" */
    unsigned positional_count;        /* that are required */
    const struct ctl_option *options; /* ends with a NULL name */
    const char *summary;              /* one line */
    const char *details;              /* more, for --help; may be "" */
    int (*run)(struct ctl *ctl);      /* returns an enum ctl_exit */
    unsigned optional_count;          /* of positional, behind those that are required */
};

/* One run of the program. */
struct ctl {
    const struct ctl_verb *verb;
    bool is_json, is_verbose, wants_help, wants_version;
    const char *socket; /* NULL: not given */
    const char *positional[CTL_POSITIONAL_MAX];
    unsigned positional_count;
    struct {
        const struct ctl_option *option;
        const char *value;
    } given[CTL_GIVEN_MAX];
    unsigned given_count;
};

/* ctl_options.c */
extern const struct ctl_option ctl_global_options[];
/* Finds the verb and reads all options. CTL_OK or CTL_USAGE, with a message written. */
int ctl_parse(struct ctl *ctl, const struct ctl_verb *verbs, int argc, char **argv);
/* The first value of an option, or NULL. */
const char *ctl_value(const struct ctl *ctl, const char *name);
/* Whether an option that takes no value is given. */
bool ctl_has(const struct ctl *ctl, const char *name);
/* The index-th value of an option, or NULL when there are fewer. */
const char *ctl_value_at(const struct ctl *ctl, const char *name, unsigned index);
void ctl_print_help(const struct ctl *ctl, const struct ctl_verb *verbs);
/* A job number (0 for @KEY, which is for cuzk_find), a time for an option (UINT32_MAX when not given). CTL_OK or CTL_USAGE. */
int ctl_job_number(struct ctl *ctl, uint64_t *ret_job);
int ctl_time_ms(struct ctl *ctl, const char *name, uint32_t *ret_ms);

/* ctl_output.c */
/* Says why on stderr, with --json also as an object on stdout. Returns the exit code. */
int ctl_fail(struct ctl *ctl, const struct cuzk_error *error);
int ctl_failf(struct ctl *ctl, enum cuzk_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int ctl_exit_of(enum cuzk_code code);
/* Prints a JSON object in one line and gives it back to jansson. */
int ctl_print_json(struct ctl *ctl, json_t *value);
/* Opens the submit or the admin socket; with a failure the message is out. */
int ctl_open(struct ctl *ctl, bool is_admin, struct cuzk **ret_cuzk);
/* Parses what libcuzk gave and frees the text. NULL after a message. */
json_t *ctl_json(struct ctl *ctl, char *text);

/* Shows what libcuzk gave and frees it: as it is with --json, else by `print`. An exit code. */
int ctl_show_text(struct ctl *ctl, char *text, void (*print)(const json_t *value));
/* The same with what a question to the daemon gives. */
int ctl_show(struct ctl *ctl,
             int (*ask)(struct cuzk *cuzk, char **ret_json, struct cuzk_error *ret_error),
             void (*print)(const json_t *value));

/* A table of text: widths fit what is in it, numbers flush right. */
struct ctl_table;
struct ctl_table *ctl_table_new(const char *const *headings, unsigned column_count);
void ctl_table_cell(struct ctl_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The value of a key of a JSON object, "-" when there is none. */
void ctl_table_json(struct ctl_table *table, const json_t *row, const char *key);
/* Prints and frees. */
void ctl_table_print(struct ctl_table *table, FILE *out);

/* ctl_file.c */
/* Whether a file can be made there, before hours of work go into its content. CTL_OK or a message
 * and an exit code. */
int ctl_file_check(struct ctl *ctl, const char *path);
/* Exactly these bytes: written beside it, synced, renamed over it. */
int ctl_file_write(struct ctl *ctl, const char *path, const char *text, size_t bytes);

/* ctl_wait.c */
/* From now on ^C is noticed by ctl_wait_job; a second one ends the program. */
void ctl_catch_interrupts(void);
/* Waits for the end of a job with a progress line on a terminal; ^C cancels the job when
 * cancels_on_interrupt. CTL_OK when the job is done; else its message is out. */
int ctl_wait_job(struct ctl *ctl, struct cuzk *cuzk, uint64_t job, uint32_t timeout_ms,
                 bool cancels_on_interrupt, struct cuzk_job *ret_job);
/* A call that waits while the daemon is away. */
struct ctl_patience {
    const char *what;     /* is waited for, and how to go on later: for messages */
    uint64_t deadline_ns; /* UINT64_MAX: only CTL_RECONNECT_S */
    uint64_t gone_ns;     /* since then nothing was answered; 0 again after an answer */
};

/* The daemon is gone or about to go (error says how): waits for it to be back and connects again. Blocking, until
 * CTL_RECONNECT_S after patience->gone_ns or the deadline. CTL_OK, or a message is out and its exit
 * code comes back. */
int ctl_reconnect(struct ctl *ctl, struct cuzk *cuzk, struct ctl_patience *patience,
                  struct cuzk_error *error);
/* Fetches proofs and public inputs and writes them to --proof and --public. */
int ctl_write_results(struct ctl *ctl, struct cuzk *cuzk, uint64_t job, json_t **ret_result);
/* Times per phase, to stderr. */
void ctl_print_phases(const json_t *result);

/* The verbs. */
int ctl_prove(struct ctl *ctl);
int ctl_submit(struct ctl *ctl);
int ctl_wait(struct ctl *ctl);
int ctl_result(struct ctl *ctl);
int ctl_cancel(struct ctl *ctl);
int ctl_jobs(struct ctl *ctl);
int ctl_status(struct ctl *ctl);
int ctl_doctor(struct ctl *ctl);
int ctl_workers(struct ctl *ctl);
int ctl_restart(struct ctl *ctl);
int ctl_drain(struct ctl *ctl);
int ctl_resume(struct ctl *ctl);
int ctl_trim(struct ctl *ctl);
int ctl_log_level(struct ctl *ctl);
int ctl_check(struct ctl *ctl);
int ctl_reload(struct ctl *ctl);
int ctl_circuit_add(struct ctl *ctl);
int ctl_circuit_list(struct ctl *ctl);
int ctl_circuit_remove(struct ctl *ctl);
int ctl_verify(struct ctl *ctl);
