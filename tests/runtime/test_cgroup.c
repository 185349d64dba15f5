/* Needs a cgroup2 hierarchy that may be written: root, as in CI. Elsewhere only the refusal is
 * tested. */
#include "runtime/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runtime/child.h"
#include "tests/test.h"

/* A branch that is delegated to us, with this process in it. NULL: cannot be made here. */
static const char *branch(void)
{
    static char path[256];
    static const char *const points[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        char file[300];
        snprintf(file, sizeof file, "%s/cgroup.procs", points[i]);
        if (access(file, W_OK) < 0)
            continue;
        snprintf(path, sizeof path, "%s/cuzkd-test-%d", points[i], (int)getpid());
        snprintf(file, sizeof file, "%s/cgroup.procs", path);
        if (mkdir(path, 0755) < 0)
            return NULL;
        int fd = open(file, O_WRONLY | O_CLOEXEC);
        if (setxattr(path, "user.delegate", "1", 1, 0) < 0 || fd < 0 || write(fd, "0", 1) != 1) {
            rmdir(path);
            return NULL;
        }
        close(fd);
        return path;
    }
    return NULL;
}

static void leave(const char *path)
{
    char file[300];
    snprintf(file, sizeof file, "%.*s/cgroup.procs", (int)(strrchr(path, '/') - path), path);
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    ASSERT_INT(write(fd, "0", 1), 1);
    close(fd);
    snprintf(file, sizeof file, "%s/supervisor", path);
    rmdir(file);
    ASSERT_INT(rmdir(path), 0);
}

TEST(nothing_happens_where_nothing_is_delegated)
{
    struct cgroup_tree tree;
    struct cgroup cgroup;
    ASSERT_INT(cgroup_tree_open(&tree), -ENOENT);
    ASSERT(!tree.is_open);
    ASSERT_INT(cgroup_open(&tree, "synth-0", &cgroup), 0);
    ASSERT(!cgroup.is_open && cgroup_is_empty(&cgroup));
    cgroup_kill(&cgroup);
    cgroup_close(&cgroup);
    cgroup_tree_close(&tree);
}

static void wait_until_empty(const struct cgroup *cgroup)
{
    for (int i = 0; i < 1000 && !cgroup_is_empty(cgroup); i++)
        usleep(10000);
    ASSERT(cgroup_is_empty(cgroup));
}

TEST(a_worker_has_a_cgroup_that_says_whether_anybody_lives)
{
    const char *path = branch();
    struct cgroup_tree tree;
    struct cgroup cgroup;
    struct child child;
    char *const argv[] = {"/bin/sh", "-c", "sleep 1000 & exec sleep 1000", NULL};
    int status;
    if (!path) {
        puts("  skipped: no cgroup can be made here");
        return;
    }
    ASSERT_INT(cgroup_tree_open(&tree), 0);
    ASSERT_INT(cgroup_open(&tree, "synth-0", &cgroup), 0);
    ASSERT(cgroup.is_open && cgroup_is_empty(&cgroup));

    const struct child_spec spec = {.path = "/bin/sh", .argv = argv, .cgroup_fd = cgroup.procs_fd};
    ASSERT_INT(child_spawn(&spec, &child), 0);
    ASSERT(!cgroup_is_empty(&cgroup));
    ASSERT(cgroup_tree_kill_others(&tree));
    /* What the child left behind died with it. */
    ASSERT_INT(waitpid(child.pid, &status, 0), child.pid);
    child.pid = 0;
    child_destroy(&child);
    wait_until_empty(&cgroup);
    ASSERT(!cgroup_tree_kill_others(&tree));

    ASSERT_INT(child_spawn(&spec, &child), 0);
    cgroup_kill(&cgroup);
    wait_until_empty(&cgroup);
    child_destroy(&child);
    cgroup_close(&cgroup);
    cgroup_tree_close(&tree);
    leave(path);
}

TEST_MAIN(CASE(nothing_happens_where_nothing_is_delegated),
          CASE(a_worker_has_a_cgroup_that_says_whether_anybody_lives))
