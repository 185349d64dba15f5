/* Files of tests/fixtures in memory, to be changed and handed to readers as a memfd. */
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/test.h"

struct bytes {
    uint8_t *at;
    size_t count;
};

static inline struct bytes bytes_read(const char *name)
{
    struct bytes bytes = {0};
    char path[512];
    struct stat st;
    int fd;

    snprintf(path, sizeof path, "%s/%s", FIXTURES, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0) {
        fprintf(stderr, "cannot open %s\n", path);
        ASSERT(fd >= 0);
    }
    bytes.count = (size_t)st.st_size;
    bytes.at = malloc(bytes.count + 8192); /* room for tests that append */
    ASSERT(bytes.at && read(fd, bytes.at, bytes.count) == (ssize_t)bytes.count);
    close(fd);
    return bytes;
}

static inline void bytes_free(struct bytes *bytes)
{
    free(bytes->at);
    bytes->at = NULL;
}

static inline int bytes_fd(const struct bytes *bytes)
{
    int fd = memfd_create("test", MFD_CLOEXEC);

    ASSERT(fd >= 0);
    ASSERT(write(fd, bytes->at, bytes->count) == (ssize_t)bytes->count);
    return fd;
}

static inline int fixture_open(const char *name)
{
    char path[512];
    int fd;

    snprintf(path, sizeof path, "%s/%s", FIXTURES, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fprintf(stderr, "cannot open %s\n", path);
    ASSERT(fd >= 0);
    return fd;
}

static inline uint32_t get_u32(const uint8_t *p)
{
    uint32_t value;

    memcpy(&value, p, sizeof value);
    return value;
}

static inline void put_u32(uint8_t *p, uint32_t value)
{
    memcpy(p, &value, sizeof value);
}

static inline void put_u64(uint8_t *p, uint64_t value)
{
    memcpy(p, &value, sizeof value);
}

/* Where the data of a section begins; its size is in the 8 bytes before. */
static inline uint8_t *bytes_section(const struct bytes *bytes, uint32_t id)
{
    size_t off = 12;

    for (uint32_t i = 0; i < get_u32(bytes->at + 8); i++) {
        uint64_t size;

        memcpy(&size, bytes->at + off + 4, sizeof size);
        if (get_u32(bytes->at + off) == id)
            return bytes->at + off + 12;
        off += 12 + size;
    }
    ASSERT(!"section found");
    return NULL;
}

#define ASSERT_SAYS(reason, words)                                                                 \
    do {                                                                                           \
        if (!strstr((reason).text, words)) {                                                       \
            fprintf(stderr, "%s:%d: \"%s\" does not say \"%s\"\n", __FILE__, __LINE__,             \
                    (reason).text, words);                                                         \
            longjmp(test_failed, 1);                                                               \
        }                                                                                          \
    } while (0)
