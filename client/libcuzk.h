/* libcuzk: the client library of the proving daemon cuzkd. Link with -lcuzk.
 *
 * Every call names a connection, and most a job; calls block until the daemon has answered. A
 * connection belongs to one thread at a time; open as many as you like. Functions return CUZK_OK or
 * another enum cuzk_code; with an error, *ret_error (may be NULL) says in words what failed, where,
 * and what to do. Outputs named ret_... are written only on success. Texts that the library hands
 * out are NUL-terminated and yours: free them with cuzk_free().
 *
 * A minimal program:
 *
 *     struct cuzk *cuzk;
 *     struct cuzk_error error;
 *     struct cuzk_input witness = {.path = "witness.wtns"};
 *     struct cuzk_job job;
 *     uint64_t number;
 *     char *proof;
 *     if (cuzk_open(NULL, &cuzk, &error) != CUZK_OK ||
 *         cuzk_submit(cuzk, "mycircuit", CUZK_PRIORITY_NORMAL, &witness, 1, &number, &error) ||
 *         cuzk_wait(cuzk, number, CUZK_FOREVER, NULL, &job, &error) ||
 *         cuzk_proof(cuzk, number, &proof, &error))
 *         errx(1, "%s", error.message);
 *     puts(proof);
 *
 * Versions: the major version changes when a program has to be changed or compiled again; the minor
 * one when something is added. Enum values and struct layouts are kept within a major version. */
#ifndef LIBCUZK_H
#define LIBCUZK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUZK_VERSION_MAJOR 0
#define CUZK_VERSION_MINOR 1

/* The library's own version, "0.1.0", of the binary that runs. */
const char *cuzk_version(void);

enum cuzk_code {
    CUZK_OK = 0,
    CUZK_USAGE = 1,          /* an argument is malformed or out of range */
    CUZK_NO_DAEMON = 2,      /* nobody listens, no permission, or the connection broke */
    CUZK_BAD_INPUT = 3,      /* a file is missing, unreadable, malformed or does not fit */
    CUZK_NOT_FOUND = 4,      /* no such job of yours, or circuit */
    CUZK_BUSY = 5,           /* nothing was accepted; try after retry_after_ms */
    CUZK_DENIED = 6,         /* needs the admin socket */
    CUZK_FAILED = 7,         /* the job failed, or the daemon could not do it */
    CUZK_CANCELLED = 8,      /* the job was cancelled */
    CUZK_TIMEOUT = 9,        /* not finished, or no answer, in time */
    CUZK_TOO_LATE = 10,      /* the job had already ended */
    CUZK_SHUTTING_DOWN = 11, /* the daemon is stopping */
    CUZK_EXISTS = 12,        /* the name is taken */
    CUZK_INTERRUPTED = 13,   /* a signal handler ran during cuzk_wait or cuzk_circuit_add; the
                                connection can still be used */
    CUZK_PROTOCOL = 14,      /* the other side does not speak the protocol */
    CUZK_NO_MEMORY = 15,
    CUZK_KEY_CONFLICT = 16,  /* the client key belongs to a job of other input */
    CUZK_EXPIRED = 17,       /* the job's result is no longer kept */
    CUZK_DEADLINE = 18,      /* the job's deadline passed before it was done */
};

/* "ok", "usage", "no_daemon", ... */
const char *cuzk_code_to_string(enum cuzk_code code);

struct cuzk_error {
    enum cuzk_code code;
    uint32_t retry_after_ms; /* with CUZK_BUSY */
    char message[1024];      /* printable ASCII, one or two sentences */
};

struct cuzk; /* a connection */

#define CUZK_SOCKET_DEFAULT "/run/cuzkd/cuzkd.sock"
#define CUZK_FOREVER        UINT32_MAX

/* Connects. path NULL: the environment variable CUZK_SOCKET or, without it, CUZK_SOCKET_DEFAULT. */
int cuzk_open(const char *path, struct cuzk **ret, struct cuzk_error *ret_error);
/* Connects to the admin socket that belongs to that submit socket ("-admin" before ".sock"):
 * needed for cuzk_circuit_add and cuzk_circuit_remove; shows the jobs of all users. */
int cuzk_open_admin(const char *path, struct cuzk **ret, struct cuzk_error *ret_error);
/* Accepts NULL. Jobs go on. */
void cuzk_close(struct cuzk *cuzk);
/* Connects once more to the same socket, after CUZK_NO_DAEMON: jobs and their numbers outlive a
 * restart of the daemon. On failure the object is as before, and may be tried again. */
int cuzk_reconnect(struct cuzk *cuzk, struct cuzk_error *ret_error);
/* How long the daemon may take to answer a call (default 60,000 ms) beyond what the call itself
 * waits for; cuzk_circuit_add is not limited. CUZK_FOREVER: no limit. */
void cuzk_set_patience(struct cuzk *cuzk, uint32_t patience_ms);
void cuzk_free(void *text);

enum cuzk_priority {
    CUZK_PRIORITY_LOW = 0,
    CUZK_PRIORITY_NORMAL = 1,
    CUZK_PRIORITY_HIGH = 2,
    CUZK_PRIORITY_CRITICAL = 3,
};

/* One witness (.wtns). The first of these that is set counts: a path, which the library opens
 * (regular files only: a directory, FIFO or device is refused, never waited for); bytes in memory,
 * up to 65,536; a descriptor open for reading, which stays yours and may be closed after the call.
 * Files must not change until the job has ended. */
struct cuzk_input {
    const char *path;
    const void *bytes;
    size_t byte_count;
    int fd;
};

#define CUZK_INPUTS_MAX       128
#define CUZK_INPUT_INLINE_MAX 65536

/* Submits one job of `input_count` partitions, proofs in the same order. Returns when the job is
 * accepted; *ret_job is its number. */
int cuzk_submit(struct cuzk *cuzk, const char *circuit, enum cuzk_priority priority,
                const struct cuzk_input *inputs, size_t input_count, uint64_t *ret_job,
                struct cuzk_error *ret_error);

#define CUZK_CLIENT_KEY_MAX 64

/* The same with everything that can be said of a job. Zeroed members are defaults. */
struct cuzk_submission {
    const char *circuit;
    enum cuzk_priority priority; /* zero is CUZK_PRIORITY_LOW */
    const struct cuzk_input *inputs;
    size_t input_count;
    /* A name of your own for the job, 1 to CUZK_CLIENT_KEY_MAX printable ASCII characters without
     * spaces; NULL: none. Submitting the same input under the same key again gives the same job,
     * whatever happened in between; other input is CUZK_KEY_CONFLICT. A job that failed for
     * another reason than its input, or was cancelled, is made anew. */
    const char *client_key;
    uint32_t deadline_ms; /* from now, for the whole job; 0: none */
    /* Not zero: large inputs are read from your files, not copied first, and a restart of the
     * daemon fails the job. Not together with a client key. */
    int not_durable;
};
int cuzk_submit_job(struct cuzk *cuzk, const struct cuzk_submission *submission, uint64_t *ret_job,
                    struct cuzk_error *ret_error);
/* The number of the job that you submitted under this client key. */
int cuzk_find(struct cuzk *cuzk, const char *client_key, uint64_t *ret_job,
              struct cuzk_error *ret_error);

enum cuzk_job_state {
    CUZK_JOB_QUEUED = 0,
    CUZK_JOB_RUNNING = 1,
    CUZK_JOB_DONE = 2,
    CUZK_JOB_FAILED = 3,
    CUZK_JOB_CANCELLED = 4,
};

const char *cuzk_job_state_to_string(enum cuzk_job_state state);

struct cuzk_job {
    uint64_t job;
    enum cuzk_job_state state;
    uint32_t partitions, done;
    uint64_t version;         /* grows with every change */
    int32_t failed_partition; /* from 0; -1 when none is to blame */
    enum cuzk_code code;      /* when failed or cancelled: CUZK_BAD_INPUT, CUZK_FAILED, ... */
    char message[1024];       /* why, "" otherwise */
};

/* Waits until the job has ended or timeout_ms have passed; with `seen` (the version of an earlier
 * answer) also until anything has changed. That the time is over, or that the job failed, is no
 * error of this call: look at ret_job->state. */
int cuzk_wait(struct cuzk *cuzk, uint64_t job, uint32_t timeout_ms, const uint64_t *seen,
              struct cuzk_job *ret_job, struct cuzk_error *ret_error);

/* The proofs of a job that is done, as snarkjs's proof.json, byte for byte; for a job of several
 * partitions a JSON array of them. CUZK_TIMEOUT while it is not done. */
int cuzk_proof(struct cuzk *cuzk, uint64_t job, char **ret_json, struct cuzk_error *ret_error);
/* The public inputs likewise, as snarkjs's public.json; several: an array of arrays. */
int cuzk_public(struct cuzk *cuzk, uint64_t job, char **ret_json, struct cuzk_error *ret_error);
/* Everything the daemon says about a finished job: circuit, curve, proofs, times per phase. */
int cuzk_result(struct cuzk *cuzk, uint64_t job, char **ret_json, struct cuzk_error *ret_error);

/* CUZK_OK: it is cancelled now and stays so. CUZK_TOO_LATE: it had ended. */
int cuzk_cancel(struct cuzk *cuzk, uint64_t job, struct cuzk_error *ret_error);

/* As compact JSON, the fields of PROTOCOL.md. limit 0: the newest 100; state NULL: all. */
int cuzk_jobs(struct cuzk *cuzk, uint32_t limit, const enum cuzk_job_state *state, char **ret_json,
              struct cuzk_error *ret_error);
int cuzk_status(struct cuzk *cuzk, char **ret_json, struct cuzk_error *ret_error);
int cuzk_workers(struct cuzk *cuzk, char **ret_json, struct cuzk_error *ret_error);
/* Admin socket. */
int cuzk_check(struct cuzk *cuzk, char **ret_json, struct cuzk_error *ret_error);
int cuzk_reload(struct cuzk *cuzk, char **ret_json, struct cuzk_error *ret_error);
int cuzk_circuit_list(struct cuzk *cuzk, char **ret_json, struct cuzk_error *ret_error);
/* On an admin connection. r1cs_path may be NULL. Takes as long as the key is large. */
int cuzk_circuit_add(struct cuzk *cuzk, const char *name, const char *zkey_path,
                     const char *r1cs_path, char **ret_json, struct cuzk_error *ret_error);
int cuzk_circuit_remove(struct cuzk *cuzk, const char *name, struct cuzk_error *ret_error);

enum cuzk_worker_order {
    CUZK_WORKER_RESTART = 0,     /* finish what it holds, then replace it */
    CUZK_WORKER_RESTART_NOW = 1, /* what it holds is put back */
    CUZK_WORKER_DRAIN = 2,       /* finish what it holds, then stay down */
    CUZK_WORKER_RESUME = 3,
    CUZK_WORKER_TRIM = 4, /* give free heap memory back to the kernel */
};

/* On an admin connection. worker: a name as cuzk_workers() shows it ("gpu-0"), a kind, or "all".
 * Returns when the order is given: *ret_json lists the workers with the `number` of each order, or
 * `error`; cuzk_workers() shows how far they are. */
int cuzk_worker_order(struct cuzk *cuzk, enum cuzk_worker_order order, const char *worker,
                      char **ret_json, struct cuzk_error *ret_error);
/* level: "error", "warn", "info" or "debug". worker NULL: the daemon and all workers. */
int cuzk_log_level(struct cuzk *cuzk, const char *level, const char *worker,
                   struct cuzk_error *ret_error);

#ifdef __cplusplus
}
#endif

#endif
