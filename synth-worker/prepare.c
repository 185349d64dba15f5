/* Upstream: `circuit add`, [Circuit] sections; downstream: the key cache, then load.c. */
#include "synth-worker/prepare.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "groth16/key/prepared.h"
#include "groth16/key/r1cs.h"
#include "groth16/key/zkey.h"
#include "synth-worker/helper.h"

/* What lies in the output is synced and described, if it has that digest. */
static int finish(const uint8_t digest[PREPARED_DIGEST_BYTES])
{
    struct prepared prepared;
    struct stat status;
    struct reason reason = {""};

    if (fsync(HELPER_FD_OUTPUT) < 0 && errno != EINVAL) /* EINVAL: a memfd, nothing to sync */
        return helper_fail_reason("writing the prepared key", -errno, &reason);
    int error = prepared_read_header(HELPER_FD_OUTPUT, &prepared, &reason);
    if (error == 0 && fstat(HELPER_FD_OUTPUT, &status) < 0)
        error = -errno;
    if (error == 0 && memcmp(digest, prepared.digest, sizeof prepared.digest) != 0)
        error = -EIO;
    if (error < 0)
        return helper_fail_reason("reading the prepared key back", error, &reason);
    return helper_succeed(&prepared, (uint64_t)status.st_size);
}

/* A key that was prepared elsewhere. */
static int take_prepared(struct helper *helper)
{
    struct reason reason = {""};
    uint8_t digest[PREPARED_DIGEST_BYTES];

    if (helper->has_r1cs) {
        reason_set(&reason, -EINVAL,
                   "a prepared key holds its constraints already: leave the .r1cs out");
        return helper_fail_reason("the proving key", -EINVAL, &reason);
    }
    int error = prepared_copy(HELPER_FD_INPUT, HELPER_FD_OUTPUT, helper->pool, &helper->progress,
                              digest, &reason);
    return error < 0 ? helper_fail_reason("the proving key", error, &reason) : finish(digest);
}

static int prepare_run(struct helper *helper)
{
    struct zkey zkey;
    struct r1cs r1cs;
    struct reason reason = {""};
    uint8_t digest[PREPARED_DIGEST_BYTES];

    if (prepared_is(HELPER_FD_INPUT))
        return take_prepared(helper);
    int error = zkey_open(HELPER_FD_INPUT, &zkey, &reason);
    if (error < 0)
        return helper_fail_reason("the proving key (.zkey)", error, &reason);
    if (helper->has_r1cs) {
        error = r1cs_open(HELPER_FD_R1CS, &r1cs, &reason);
        if (error < 0)
            return helper_fail_reason("the constraints (.r1cs)", error, &reason);
    }
    error = prepared_write(&zkey, helper->has_r1cs ? &r1cs : NULL, HELPER_FD_OUTPUT, helper->pool,
                           &helper->progress, digest, &reason);
    return error < 0 ? helper_fail_reason("preparing the key", error, &reason) : finish(digest);
}

int prepare_main(int argc, char **argv)
{
    struct helper helper;
    int status = 1;
    if (helper_open(argc, argv, "prepare", &helper) == 0)
        status = prepare_run(&helper);
    helper_close(&helper);
    return status;
}
