/* Upstream: the descriptor a client gave, through intake and courier. Downstream: check.c. */
#include "synth-worker/read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void read_fail(struct read *read)
{
    read->state = READ_FAILED;
}

static void read_on_done(struct loop_read *request, int64_t result)
{
    struct read *read = (struct read *)((char *)request - offsetof(struct read, request));
    read->is_flying = false;
    read->result = result;
}

static void read_request(struct read *read, void *memory, uint64_t bytes, uint64_t offset)
{
    read->request = (struct loop_read){
        .fd = read->fd,
        .memory = memory,
        .bytes = bytes,
        .offset = offset,
        .on_done = read_on_done,
    };
    read->is_flying = true;
    const int error = loop_read_start(read->loop, &read->request);
    if (error < 0) {
        read->is_flying = false;
        read->result = error;
    }
}

void read_start(struct read *read, struct loop *loop, int fd, const struct prepared *key,
                void *witness)
{
    struct stat status;
    memset(read, 0, offsetof(struct read, head));
    read->fd = fd;
    read->loop = loop;
    read->key = key;
    read->witness = witness;
    if (fstat(fd, &status) < 0) {
        reason_set(&read->reason, -errno, "the witness cannot be examined: %s", strerror(errno));
        read_fail(read);
        return;
    }
    if (!S_ISREG(status.st_mode)) {
        reason_set(&read->reason, -EINVAL,
                   "the witness is not a regular file (it is a %s); write it to a file first",
                   S_ISDIR(status.st_mode)    ? "directory"
                   : S_ISFIFO(status.st_mode) ? "pipe"
                                              : "special file");
        read_fail(read);
        return;
    }
    /* A read past the page cache is the disk's own: it may write into the slab's next owner long
     * after this process was killed. */
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || flags & O_DIRECT) {
        reason_set(&read->reason, -EINVAL,
                   "the witness file is open with O_DIRECT; open it without");
        read_fail(read);
        return;
    }
    read->file_bytes = (uint64_t)status.st_size;
    const uint64_t head_bytes =
        read->file_bytes < sizeof read->head ? read->file_bytes : sizeof read->head;
    if (head_bytes == 0)
        read->result = 0; /* the parser says that it is empty */
    else
        read_request(read, read->head, head_bytes, 0);
}

static void read_on_head(struct read *read)
{
    if (read->result < 0) {
        reason_set(&read->reason, (int)read->result, "reading the witness file's head failed: %s",
                   strerror((int)-read->result));
        read_fail(read);
        return;
    }
    int error =
        wtns_parse(read->head, (size_t)read->result, read->file_bytes, &read->wtns, &read->reason);
    if (error == -EAGAIN) /* sections in an unusual order: a few small blocking reads */
        error = wtns_open(read->fd, &read->wtns, &read->reason);
    if (error == 0)
        error = wtns_match(&read->wtns, read->key->curve, read->key->shape.variable_count,
                           &read->reason);
    if (error < 0) {
        read_fail(read);
        return;
    }
    read->state = READ_VALUES;
    read_request(read, read->witness, read->wtns.data_bytes, read->wtns.data_off);
}

static void read_on_values(struct read *read)
{
    const uint64_t off = read->wtns.data_off, bytes = read->wtns.data_bytes;
    if (read->result < 0) {
        reason_set(&read->reason, (int)read->result,
                   "reading the witness values (%llu bytes at byte %llu of the file) failed: %s; "
                   "the file's disk or file system is at fault",
                   (unsigned long long)bytes, (unsigned long long)off,
                   strerror((int)-read->result));
        read_fail(read);
    } else if ((uint64_t)read->result != bytes) {
        reason_set(&read->reason, -EBADMSG,
                   "the witness file became shorter while it was read: it ends at byte %llu, "
                   "its values at byte %llu; do not change a file before its job is done",
                   (unsigned long long)(off + (uint64_t)read->result),
                   (unsigned long long)(off + bytes));
        read_fail(read);
    } else {
        read->state = READ_DONE;
    }
}

int read_step(struct read *read)
{
    if (read->is_flying)
        return 0;
    switch (read->state) {
    case READ_HEAD:
        read_on_head(read);
        return 1;
    case READ_VALUES:
        read_on_values(read);
        return 1;
    case READ_DONE:
    case READ_FAILED:
        break;
    }
    return 0;
}

void read_end(struct read *read)
{
    if (read->is_flying)
        loop_read_cancel(read->loop, &read->request);
    read->is_flying = false;
    if (read->fd >= 0)
        close(read->fd);
    read->fd = -1;
}
