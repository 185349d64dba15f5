/* cuzk-finalizer: assembles and checks proofs (worker.c). */
#include "finalizer/worker.h"

/* Large: keys of every circuit and the public inputs of one partition. */
static struct finalizer_worker worker;

int main(int argc, char **argv)
{
    struct worker_options options;
    int status = WORKER_EXIT_START;
    if (worker_options_parse(argc, argv, &options) < 0)
        return WORKER_EXIT_START;
    if (options.check[0])
        return worker_check(&options);
    if (worker_open(&worker.frame, WORKER_FINALIZER, &options, 0) < 0)
        return WORKER_EXIT_START;
    if (worker_limit_files(&worker.frame, SANDBOX_CLOSED, NULL) == 0 &&
        worker_ready(&worker.frame, NULL, NULL, 0) == 0)
        status = finalizer_worker_run(&worker);
    worker_close(&worker.frame);
    return status;
}
