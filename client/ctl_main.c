/* cuzkctl: what people and scripts type. The table of verbs, and nothing else. */
#include <signal.h>
#include <stdio.h>

#include "client/ctl.h"
#include "runtime/files.h"

static const struct ctl_option no_options[] = {{0}};

static const struct ctl_option submit_options[] = {
    {"circuit", "NAME", true, false, "the circuit"},
    {"witness", "FILE", true, true, "a witness (.wtns); each makes one proof of the same job"},
    {"priority", "CLASS", false, false, "low, normal (default), high or critical"},
    {"client-key", "KEY", false, false,
     "your own name for the job: the same key and input again are the same job"},
    {"deadline", "TIME", false, false, "the job fails when it is not done by then"},
    {"not-durable", NULL, false, false,
     "read large witnesses in place; a restart of the daemon fails the job"},
    {0},
};

static const struct ctl_option prove_options[] = {
    {"circuit", "NAME", true, false, "the circuit"},
    {"witness", "FILE", true, true, "a witness (.wtns); each makes one proof of the same job"},
    {"priority", "CLASS", false, false, "low, normal (default), high or critical"},
    {"client-key", "KEY", false, false,
     "your own name for the job: the same key and input again are the same job"},
    {"deadline", "TIME", false, false, "the job fails when it is not done by then"},
    {"not-durable", NULL, false, false,
     "read large witnesses in place; a restart of the daemon fails the job"},
    {"proof", "FILE", true, false, "where the proof goes (snarkjs JSON)"},
    {"public", "FILE", true, false, "where the public inputs go (snarkjs JSON)"},
    {"timeout", "TIME", false, false, "how long to wait, such as 10min (default: for ever)"},
    {0},
};

static const struct ctl_option wait_options[] = {
    {"timeout", "TIME", false, false, "how long to wait, such as 10min (default: for ever)"},
    {0},
};

static const struct ctl_option result_options[] = {
    {"proof", "FILE", false, false, "where the proof goes (snarkjs JSON)"},
    {"public", "FILE", false, false, "where the public inputs go (snarkjs JSON)"},
    {0},
};

static const struct ctl_option jobs_options[] = {
    {"limit", "N", false, false, "how many, newest first (default 100, at most 1000)"},
    {"state", "STATE", false, false, "only queued, running, done, failed or cancelled ones"},
    {0},
};

static const struct ctl_option circuit_add_options[] = {
    {"zkey", "FILE", true, false,
     "the proving key (snarkjs .zkey, Groth16), or one that is prepared"},
    {"r1cs", "FILE", false, false,
     "the circuit: witnesses are then checked before they are proved"},
    {0},
};

static const struct ctl_option restart_options[] = {
    {"now", NULL, false, false, "do not finish what it holds: that is put back, at no cost"},
    {"no-wait", NULL, false, false, "give the order and leave"},
    {"timeout", "TIME", false, false, "how long to wait, such as 10min (default: for ever)"},
    {0},
};

static const struct ctl_option order_options[] = {
    {"no-wait", NULL, false, false, "give the order and leave"},
    {"timeout", "TIME", false, false, "how long to wait, such as 10min (default: for ever)"},
    {0},
};

static const struct ctl_option doctor_options[] = {
    {"config", "FILE", false, false, "the daemon's configuration (default /etc/cuzkd/cuzkd.conf)"},
    {0},
};

#define WORKER_WORDS "WORKER is a name such as gpu-0, a kind (synth, gpu, finalizer) or all. "

static const struct ctl_option verify_options[] = {
    {"vkey", "FILE", true, false, "the verification key (snarkjs JSON)"},
    {"proof", "FILE", true, false, "a proof, or an array of them"},
    {"public", "FILE", true, false, "its public inputs, or an array of arrays"},
    {0},
};

static const struct ctl_verb verbs[] = {
    {"prove", "", 0, prove_options, "prove witnesses and write the proofs",
     "Submits one job, waits for it and writes its outputs. With several witnesses the outputs are "
     "arrays, in the order of the witnesses. ^C cancels the job, a second ^C leaves at once. When "
     "the time is over the job goes on: the message says how to come back to it. A restart of the "
     "daemon meanwhile is waited for, two minutes long, and the job goes on.",
     ctl_prove},
    {"submit", "", 0, submit_options, "submit a job and print its number", "", ctl_submit},
    {"wait", "JOB", 1, wait_options, "wait until a job has ended",
     "Exits with 0 when it is done, 1 when it failed (4 for a bad input), 6 when it was cancelled, "
     "7 when the time is over. JOB is a number, here and below, or @KEY: the job with that client "
     "key.",
     ctl_wait},
    {"result", "JOB", 1, result_options, "fetch the proofs of a finished job",
     "Without --proof and --public the whole result is printed as JSON.", ctl_result},
    {"cancel", "JOB", 1, no_options, "cancel a job", "Exits with 1 when the job had already ended.",
     ctl_cancel},
    {"jobs", "", 0, jobs_options, "list jobs", "", ctl_jobs},
    {"status", "", 0, no_options, "show the state of the daemon", "", ctl_status},
    {"workers", "", 0, no_options, "show the worker processes", "", ctl_workers},
    {"restart", "WORKER", 1, restart_options, "replace a worker's process (admin)",
     WORKER_WORDS
     "It finishes what it holds, then a new process of the program as it is installed now takes "
     "its place; of several of a kind one at a time. Refused while the new one could not start. "
     "Exits with 0 when the new ones are ready, 1 when one is not, 7 when the time is over: the "
     "order stands.",
     ctl_restart},
    {"drain", "WORKER", 1, order_options, "finish what a worker holds, then keep it down (admin)",
     WORKER_WORDS "It stays down until resume, also when the configuration is read again.",
     ctl_drain},
    {"resume", "WORKER", 1, order_options, "start a drained worker again (admin)", WORKER_WORDS,
     ctl_resume},
    {"trim", "WORKER", 1, order_options, "give free heap memory back to the kernel (admin)",
     WORKER_WORDS "Says how much of it went.", ctl_trim},
    {"log-level", "LEVEL [WORKER]", 1, no_options, "log more or less from now on (admin)",
     "LEVEL is error, warn, info or debug. Without WORKER: the daemon and all workers, also those "
     "that are started later. WORKER may also be cuzkd, the daemon's main process alone.",
     ctl_log_level, 1},
    {"check", "", 0, no_options, "check the daemon's own records (admin)",
     "Slots, slabs, queues, counters, child processes and descriptors must agree with each other "
     "and with what the kernel says. Exits with 8 when something does not hold: please report "
     "that, with the output. Works at any time; while nothing is in flight it can tell more.",
     ctl_check},
    {"reload", "", 0, no_options, "read the configuration again (admin)",
     "Says what has changed and begins it; jobs go on. Most keys act at once, some as workers are "
     "replaced one by one, and some need the daemon restarted, which is said. With a fault in the "
     "file nothing changes. How far rings and workers are stands in status and workers.",
     ctl_reload},
    {"doctor", "", 0, doctor_options, "look at the host: what keeps the service from working well",
     "Hugepages, cgroups, locked memory, swap, disks, io_uring, sandbox, the GPU's driver and "
     "nodes, "
     "sockets and configuration: what is, what it means, what to change. Works with and without a "
     "daemon. Exits with 1 when something fails; warnings alone are 0.",
     ctl_doctor},
    {"circuit add", "NAME", 1, circuit_add_options, "register a circuit (admin)",
     "The key is checked point by point and prepared, which takes minutes for a large one; it is "
     "kept over restarts of the daemon.",
     ctl_circuit_add},
    {"circuit list", "", 0, no_options, "list the circuits", "", ctl_circuit_list},
    {"circuit remove", "NAME", 1, no_options, "forget a circuit (admin)", "", ctl_circuit_remove},
    {"verify", "", 0, verify_options, "verify proofs, without a daemon",
     "Exits with 0 only when every proof is valid.", ctl_verify},
    {0},
};

int main(int argc, char **argv)
{
    struct ctl ctl = {0};

    files_open_standard();
    /* A reader that has gone (head, less) ends the output, not the program with a signal. */
    signal(SIGPIPE, SIG_IGN);
    int r = ctl_parse(&ctl, verbs, argc, argv);
    if (r != CTL_OK)
        return r;
    if (ctl.wants_version) {
        printf("cuzkctl %s\n", cuzk_version());
    } else if (ctl.wants_help) {
        ctl_print_help(&ctl, verbs);
    } else {
        r = ctl.verb->run(&ctl);
    }
    if (fflush(stdout) != 0 && r == CTL_OK)
        r = CTL_FAILED;
    return r;
}
