/* Upstream: the key cache written by prepare.c; downstream: every worker maps the memory. */
#include "synth-worker/load.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "groth16/key/prepared.h"
#include "synth-worker/helper.h"

static int load_run(struct helper *helper)
{
    struct stat file, shared;
    struct prepared prepared;
    struct reason reason = {""};
    if (!helper->has_digest)
        return helper_fail("the helper process was started without the key's digest");
    if (fstat(HELPER_FD_INPUT, &file) < 0 || fstat(HELPER_FD_OUTPUT, &shared) < 0)
        return helper_fail_reason("examining the descriptors", -errno, &reason);
    const size_t bytes = (size_t)shared.st_size;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, HELPER_FD_OUTPUT, 0);
    if (memory == MAP_FAILED)
        return helper_fail_reason("mapping memory for the key", -errno, &reason);
    int error = prepared_load(HELPER_FD_INPUT, memory, bytes, helper->digest, helper->pool,
                              &helper->progress, &reason);
    if (error == -EFAULT)
        reason_set(&reason, error, "pages that were promised were not given");
    /* Every page is there, also behind the key: nobody dies of a shortage later. */
    if (error == 0 && fallocate(HELPER_FD_OUTPUT, 0, 0, (off_t)bytes) < 0)
        error = reason_set(&reason, -errno, "its last pages cannot be had: %m");
    if (error == 0)
        error = prepared_attach(memory, bytes, &prepared, &reason);
    /* Before the result is told: the supervisor then seals the memory against writing. */
    munmap(memory, bytes);
    if (error < 0)
        return helper_fail_reason("loading the prepared key", error, &reason);
    return helper_succeed(&prepared, (uint64_t)file.st_size);
}

int load_main(int argc, char **argv)
{
    struct helper helper;
    int status = 1;
    if (helper_open(argc, argv, "load", &helper) == 0)
        status = load_run(&helper);
    helper_close(&helper);
    return status;
}
