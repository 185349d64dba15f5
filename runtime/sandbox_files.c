/* Which files a process may still open: Landlock. See runtime/sandbox.h.
 *
 * Raw system calls and own constants: the headers of Debian 12 know ABI 2, and the kernel in use
 * says how much of this it has. Descriptors that are open keep their rights. Landlock does not
 * cover stat, chmod and the like on paths; the CLOSED and SPOOL profiles deny those as calls. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/sandbox.h"
#include "runtime/sandbox_files.h"

enum {
    RULE_PATH_BENEATH = 1,
    CREATE_VERSION = 1,
};

enum {
    FS_EXECUTE = 1 << 0,
    FS_WRITE_FILE = 1 << 1,
    FS_READ_FILE = 1 << 2,
    FS_READ_DIR = 1 << 3,
    FS_REMOVE_FILE = 1 << 5,
    FS_MAKE_REG = 1 << 8,
    FS_ABI_1 = (1 << 13) - 1,
    FS_REFER = 1 << 13,    /* ABI 2 */
    FS_TRUNCATE = 1 << 14, /* 3 */
    FS_IOCTL_DEV = 1 << 15 /* 5 */,
    /* What a rule on a file, not a folder, may say. */
    FS_OF_FILES = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV,
    NET_TCP = 3,   /* bind and connect; ABI 4 */
    SCOPE_ALL = 3, /* abstract sockets and signals beyond the sandbox; ABI 6 */
};

struct ruleset {
    uint64_t files, net, scoped;
};

struct path_rule {
    uint64_t files;
    int32_t parent;
} __attribute__((packed));

int sandbox_files_abi(void)
{
    const long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
    return abi < 0 ? -errno : (int)abi;
}

static uint64_t files_of(int abi)
{
    uint64_t files = FS_ABI_1;
    if (abi >= 2)
        files |= FS_REFER;
    if (abi >= 3)
        files |= FS_TRUNCATE;
    if (abi >= 5)
        files |= FS_IOCTL_DEV;
    return files;
}

/* A path that is not there cannot be opened anyway. */
static int allow(int ruleset, const char *path, uint64_t files)
{
    struct stat status;
    const int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    int error = fstat(fd, &status) < 0 ? -errno : 0;
    if (error == 0) {
        const struct path_rule rule = {
            .files = S_ISDIR(status.st_mode) ? files : files & FS_OF_FILES,
            .parent = fd,
        };
        if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) < 0)
            error = -errno;
    }
    close(fd);
    return error;
}

static int add_rules(int ruleset, enum sandbox_profile profile, const char *const *writable,
                     uint64_t handled)
{
    const uint64_t reading = FS_READ_FILE | FS_READ_DIR;
    const uint64_t writing = FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE | FS_TRUNCATE |
                             FS_MAKE_REG | FS_REMOVE_FILE | FS_REFER;
    int error = 0;
    if (profile == SANDBOX_DEVICE) {
        error = allow(ruleset, "/", reading & handled);
        if (error == 0)
            error = allow(ruleset, "/dev", (reading | FS_WRITE_FILE | FS_IOCTL_DEV) & handled);
        if (error == 0)
            error = allow(ruleset, "/proc/self", (reading | FS_WRITE_FILE) & handled);
        if (error == 0)
            error = allow(ruleset, "/dev/shm", writing & handled); /* memory that processes share */
    }
    for (; error == 0 && writable && *writable; writable++)
        error = allow(ruleset, *writable, writing & handled);
    return error;
}

int sandbox_limit_files(enum sandbox_profile profile, const char *const *writable)
{
    const int abi = sandbox_files_abi();
    if (abi < 0)
        return abi;
    const struct ruleset attributes = {
        .files = files_of(abi),
        .net = NET_TCP,
        .scoped = SCOPE_ALL,
    };
    /* Fields that this kernel does not know must not be there. */
    const size_t bytes = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
    const int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, bytes, 0);
    if (ruleset < 0)
        return -errno;
    int error = add_rules(ruleset, profile, writable, attributes.files);
    if (error == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        error = -errno;
    if (error == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
        error = -errno;
    close(ruleset);
    return error;
}
