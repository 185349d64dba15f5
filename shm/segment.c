/* See shm/segment.h. */
#include "shm/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL /* Linux 6.3; not in every C library's header */
#define MFD_NOEXEC_SEAL 0x0008u
#endif

static const int seals_wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

static int map(int fd, size_t bytes, bool writable, void **ret_memory)
{
    void *memory =
        mmap(NULL, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);

    if (memory == MAP_FAILED)
        return -errno;
    if (madvise(memory, bytes, MADV_DONTDUMP) < 0) {
        int error = -errno;
        munmap(memory, bytes);
        return error;
    }
    *ret_memory = memory;
    return 0;
}

int segment_memfd(const char *name, unsigned flags)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL | flags);

    if (fd < 0 && errno == EINVAL) /* the kernel is older than that flag */
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);
    if (fd < 0)
        return -errno;
    /* A memfd is born open to all: anyone with a read-only descriptor could open it anew for
     * writing through /proc. */
    if (fchmod(fd, 0600) < 0) {
        int error = -errno;
        close(fd);
        return error;
    }
    return fd;
}

int segment_create(const char *name, size_t bytes, int *ret_fd, void **ret_memory)
{
    int fd = segment_memfd(name, 0);
    int error;

    if (fd < 0)
        return fd;
    error = ftruncate(fd, (off_t)bytes) < 0 ? -errno : 0;
    /* Allocated now: a shortage must not become a SIGBUS on some later store. */
    if (error == 0)
        error = -posix_fallocate(fd, 0, (off_t)bytes);
    if (error == 0 && fcntl(fd, F_ADD_SEALS, seals_wanted) < 0)
        error = -errno;
    if (error == 0)
        error = map(fd, bytes, true, ret_memory);
    if (error < 0)
        close(fd);
    else
        *ret_fd = fd;
    return error;
}

int segment_map(int fd, size_t bytes, bool writable, void **ret_memory)
{
    struct stat status;
    int seals;

    if (fstat(fd, &status) < 0)
        return -errno;
    seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & seals_wanted) != seals_wanted || status.st_size != (off_t)bytes)
        return -EPROTO;
    return map(fd, bytes, writable, ret_memory);
}

void segment_unmap(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}
