/* The children: what runs, what each holds, and what is on its way to it. Spawning, READY, restart
 * with back-off and the certain death are here; what a death means for the slots is in recovery.c,
 * what an answer means in completions.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/limits.h"
#include "runtime/cgroup.h"
#include "runtime/child.h"
#include "runtime/loop.h"
#include "shm/channel.h"
#include "supervisor/busy.h"
#include "supervisor/liveness.h"
#include "supervisor/worker_calls.h"
#include "supervisor/worker_check.h"
#include "supervisor/worker_orders.h"

struct supervisor;
struct slot;
struct circuit;

enum worker_state {
    WORKER_DOWN,     /* to be started at restart_at_ns */
    WORKER_STARTING, /* spawned, READY not heard yet */
    WORKER_RUNNING,
    WORKER_STOPPING, /* told to stop, with nothing in hand or as the service ends */
    WORKER_KILLED,   /* by us, for no breach: what it had said by then counts */
    WORKER_DOOMED,   /* killed for a breach of contract: nothing it says counts any more */
    /* Killed, and not gone after WORKER_KILL_S_MAX: what it held has been taken from it except the
     * slabs that it may still write. It keeps its index and its device until it is gone. */
    WORKER_WRITTEN_OFF,
};

/* What a worker knows of one key. */
enum worker_key_state {
    WORKER_KEY_ABSENT,
    WORKER_KEY_WANTED, /* to be sent */
    WORKER_KEY_ASKED,  /* LOAD_KEY is granted (gpu workers answer it) */
    WORKER_KEY_HELD,
    WORKER_KEY_DROPPING, /* DROP_KEY is to be pushed */
    WORKER_KEY_GOING,    /* it is pushed and not answered */
};

enum {
    WORKER_BACKOFF_FIRST_MS = 100, /* after the first restart, which is at once */
    WORKER_BACKOFF_MAX_MS = 10000,
    /* One that ran this long starts over with no back-off. */
    WORKER_STEADY_MS = 10000,
    /* From here on the service calls a worker broken (it goes on trying). */
    WORKER_START_FAILURES_MAX = 3,
    WORKER_DELIVERY_RETRY_MS = 2,
    /* From SIGKILL to its certain death. The kernel takes back a large registered memory at some
     * 20 ms a GiB meanwhile; who needs more hangs in a driver or a file system. */
    WORKER_KILL_S_MAX = 30,
    /* Its cgroup is looked at again, to be empty; rarely once it is written off. */
    WORKER_BURY_RETRY_MS = 2,
    WORKER_BURY_RETRY_MS_MAX = 500,
};

struct worker {
    struct supervisor *supervisor;
    enum worker_kind kind;
    uint32_t index; /* within the kind */
    enum worker_state state;
    char name[24]; /* "synth-0" */

    struct child child;
    struct cgroup cgroup; /* it alone lives there; not open where none was delegated */
    uint64_t bury_at_ns;  /* its process is dead and its cgroup was not empty; 0: not so */
    int bell_in, bell_out, courier; /* -1 when down */
    struct channel channel;
    struct loop_watch death_watch, bell_watch;

    uint32_t held[GRANTS_HELD_MAX]; /* slots granted and not yet answered */
    uint32_t held_count;

    uint8_t slabs[SLABS_MAX]; /* enum worker_slab_state; slab_deliveries.c keeps all of them */
    uint64_t slab_generations[SLABS_MAX];
    uint64_t slabs_revision;    /* of struct memory, up to which everything was sent */
    uint32_t slab_calls;        /* pushed and not answered yet */
    uint8_t keys[CIRCUITS_MAX]; /* enum worker_key_state */
    uint64_t key_generations[CIRCUITS_MAX];
    uint32_t keys_open;        /* WANTED, ASKED or DROPPING */
    uint32_t key_calls;        /* pushed and not answered yet */
    bool loads_alone;          /* of these one is of a suspect: no other is pushed */
    bool is_caught_up;         /* has had every slab and key since READY */
    bool has_untold;           /* some cancel did not fit the submission ring */
    uint64_t delayed_until_ns; /* the courier was full */

    uint64_t ready_ns, restart_at_ns, backoff_ms;
    uint32_t restarts, start_failures;
    uint64_t partitions_done_before; /* of earlier processes */
    char last_error[512];
    struct ready_device device; /* gpu: what READY said; texts end and are printable */
    bool uses_cpu;              /* gpu: it proves on the CPU */
    unsigned sandbox;           /* enum sandbox_part, as READY said */
    struct busy busy;

    /* Orders, see worker_orders.h. */
    struct worker_order order;
    struct worker_trim trim;
    bool has_log_level; /* its own, else the configuration's */
    enum log_level log_level;
    bool has_untold_level; /* of the process that runs */
    struct worker_check check;
    bool is_drained;    /* an operator wants it down, until resume */
    bool is_removed;    /* the configuration has fewer of its kind; down: it is absent */
    bool is_draining;   /* nothing more is granted to this process, and then it ends */
    bool is_wanted_end; /* it was told so, or killed for it: costs no attempt, makes no suspects */

    struct liveness liveness;
    char killed_why[192]; /* of one that stood still, "" otherwise: what its partitions are told */
    uint64_t killed_ns;   /* SIGKILL was sent; 0: not */
    uint64_t died_ns;     /* its predecessor, for the time to the next grant; 0: counted */
    int slabs_left[GRANTS_HELD_MAX]; /* of one that is written off: bound until it is gone */
    uint32_t slabs_left_count;
};

struct workers {
    struct worker *entries; /* WORKERS_MAX */
    uint32_t count;
    char *paths[WORKER_KIND_COUNT]; /* executables; [WORKER_SYNTH] also prepares and loads keys */
    char **environment;             /* of every child: without what is for us alone */
    uint64_t last_order;
    uint64_t looked_ns; /* for stalls */
};

/* Finds the executables and lays out the table. Logs what is missing. */
int workers_init(struct supervisor *supervisor);
void workers_destroy(struct workers *workers);
/* Starts what is due, delivers slabs, keys and cancels, samples figures. */
void workers_tick(struct supervisor *supervisor);
/* When workers_tick has something to do next; UINT64_MAX: only after an event. */
uint64_t workers_deadline(const struct supervisor *supervisor);
/* READY was heard; device: of a GPU worker, its texts cleaned. */
void workers_ready(struct worker *worker, const struct message *ready,
                   const struct ready_device *device);
/* Time with a partition in computation, of this process. */
uint64_t workers_busy_ns(const struct worker *worker);
/* SIGKILL: it broke the contract (why, in words). Its slots stay its own until it is dead. */
void workers_doom(struct worker *worker, const char *why);
/* The process shall end now, by our own wish: told to stop when it can hear it and holds nothing,
 * else killed; what it holds is put back at nobody's cost. */
void workers_end(struct worker *worker);
/* SIGKILL for a reason that is no breach (why: for log and status). */
void workers_kill_one(struct worker *worker, const char *why);
/* So many of the kind from now on: those beyond are drained and then absent, new ones are started,
 * and those drained on their way to absence stay. Workers keep their index and their record. */
void workers_set_count(struct supervisor *supervisor, enum worker_kind kind, uint32_t count);
/* By its name, "gpu-0"; NULL: there is none. */
struct worker *workers_find(struct supervisor *supervisor, const char *name);
/* Tells every running worker to finish what it holds and exit; kills those that are starting. */
void workers_stop(struct supervisor *supervisor);
void workers_kill(struct supervisor *supervisor);
bool workers_are_gone(const struct workers *workers);
/* Every worker is running or has failed to start WORKER_START_FAILURES_MAX times. */
bool workers_have_settled(const struct workers *workers);
/* One worker of each kind at least is up. */
bool workers_can_prove(const struct workers *workers);
uint32_t workers_running_count(const struct workers *workers);
/* Of the configuration, absent ones not counted. */
uint32_t workers_present_count(const struct workers *workers);

/* False: removed, and its last process is gone. Such an entry keeps its place in the table. */
bool worker_is_present(const struct worker *worker);
/* No grant, key or other call is open. */
bool worker_holds_nothing(const struct worker *worker);

bool worker_is_available(const struct worker *worker, uint64_t now_ns);
bool worker_has_suspect(const struct worker *worker);
void workers_own(struct worker *worker, struct slot *slot);
void workers_disown(struct worker *worker, struct slot *slot);
void workers_tell_cancel(struct worker *worker, struct slot *slot);
/* Pushes one grant and rings. -EAGAIN when the ring is full. */
int workers_push(struct worker *worker, const struct message *grant);
/* More completions wait than one turn takes: they get the next one. */
void workers_ring_again(struct worker *worker);
