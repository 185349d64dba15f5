/* cuzk-synth: a synthesis worker, or one of two disposable jobs around keys, which parse what a
 * client gave and may die of it:
 *
 *   cuzk-synth --prepare [--r1cs] ...   a .zkey becomes a prepared key (prepare.c)
 *   cuzk-synth --load --digest HEX ...  a prepared key goes into shared memory (load.c)
 *   cuzk-synth --index N ...            the worker (worker.c) */
#include <string.h>

#include "synth-worker/load.h"
#include "synth-worker/prepare.h"
#include "synth-worker/worker.h"

/* Large: keys of every circuit. */
static struct synth_worker worker;

static int synth_main(int argc, char **argv)
{
    struct worker_options options;
    int status = WORKER_EXIT_START;
    if (worker_options_parse(argc, argv, &options) < 0)
        return WORKER_EXIT_START;
    if (options.check[0])
        return worker_check(&options);
    if (worker_open(&worker.frame, WORKER_SYNTH, &options, 2) < 0)
        return WORKER_EXIT_START;
    if (worker_limit_files(&worker.frame, SANDBOX_CLOSED, NULL) < 0) {
        worker_close(&worker.frame);
        return WORKER_EXIT_START;
    }
    const int error = pool_create(options.threads, &worker.pool);
    if (error < 0) {
        log_error("cannot make %u threads: %s; lower [Synthesis] Threads= or raise the limit on "
                  "tasks",
                  options.threads, strerror(-error));
    } else {
        if (worker_ready(&worker.frame, NULL, NULL, 0) == 0)
            status = synth_worker_run(&worker);
        pool_free(worker.pool);
    }
    worker_close(&worker.frame);
    return status;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--prepare") == 0)
            return prepare_main(argc, argv);
        if (strcmp(argv[i], "--load") == 0)
            return load_main(argc, argv);
    }
    return synth_main(argc, argv);
}
