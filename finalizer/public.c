/* Upstream: the spooled witness; downstream: verification, then the client's public.json. */
#include "finalizer/public.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "groth16/key/wtns.h"

static int public_pread(int fd, void *ret, uint64_t bytes, uint64_t off, struct reason *reason)
{
    uint64_t done = 0;
    while (done < bytes) {
        const ssize_t count = pread(fd, (char *)ret + done, bytes - done, (off_t)(off + done));
        if (count > 0)
            done += (uint64_t)count;
        else if (count == 0)
            return reason_set(reason, -EBADMSG,
                              "the witness file became shorter while its job ran: it ends at byte "
                              "%llu; do not change a file before its job is done",
                              (unsigned long long)(off + done));
        else if (errno != EINTR)
            return reason_set(reason, -errno, "reading the public inputs failed: %s",
                              strerror(errno));
    }
    return 0;
}

int public_read(int fd, const struct prepared *key, uint64_t *ret_scalars, struct reason *reason)
{
    const uint64_t count = key->shape.public_count;
    struct wtns wtns;
    int error = wtns_open(fd, &wtns, reason);
    if (error == 0)
        error = wtns_match(&wtns, key->curve, key->shape.variable_count, reason);
    if (error == 0)
        error = public_pread(fd, ret_scalars, count * CURVE_FR_BYTES,
                             wtns.data_off + CURVE_FR_BYTES, reason);
    if (error < 0)
        return error;
    const size_t bad = key->curve->scalars_check(ret_scalars, count);
    if (bad < count)
        return reason_set(reason, -EBADMSG,
                          "public input %zu (byte %llu of the witness file) is not below the prime "
                          "of %s: the file was changed while its job ran",
                          bad, (unsigned long long)(wtns.data_off + 32 * (uint64_t)(bad + 1)),
                          key->curve->name);
    return 0;
}

int public_write(int fd, const uint64_t *scalars, uint64_t count)
{
    const uint64_t bytes = count * CURVE_FR_BYTES;
    uint64_t done = 0;
    while (done < bytes) {
        const ssize_t written = pwrite(fd, (const char *)scalars + done, bytes - done, (off_t)done);
        if (written >= 0)
            done += (uint64_t)written;
        else if (errno != EINTR)
            return -errno;
    }
    return 0;
}
