/* See runtime/cgroup.h. */
#include "runtime/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runtime/files.h"

static const char supervisor_name[] = "supervisor";

/* The rest of the line after "0::" of /proc/self/cgroup. */
static int own_path(char **ret)
{
    char *text, *line;
    size_t bytes;
    int r = files_read("/proc/self/cgroup", 65536, &text, &bytes);
    if (r < 0)
        return r;
    line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    line = line ? strchr(line, '/') : NULL;
    *ret = line ? strndup(line, strcspn(line, "\n")) : NULL;
    free(text);
    return *ret ? 0 : -ENOENT;
}

/* Of the first cgroup2 mount: where it is, and which part of the tree it shows. */
static int find_mount(char ret_root[4096], char ret_point[4096])
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t room = 0;
    int r = -ENOENT;
    while (file && r < 0 && getline(&line, &room, file) > 0) {
        if (strstr(line, " - cgroup2 ") &&
            sscanf(line, "%*s %*s %*s %4095s %4095s", ret_root, ret_point) == 2)
            r = 0;
    }
    free(line);
    if (file)
        fclose(file);
    return r;
}

static int find_own(char *ret, size_t room)
{
    char root[4096], point[4096], *path;
    int r = own_path(&path);
    if (r < 0)
        return r;
    r = find_mount(root, point);
    if (r == 0) {
        size_t hidden = strcmp(root, "/") == 0 ? 0 : strlen(root);
        if (strncmp(path, root, hidden) != 0)
            r = -ENOENT;
        else if ((size_t)snprintf(ret, room, "%s%s", point, path + hidden) >= room)
            r = -ENAMETOOLONG;
    }
    free(path);
    return r;
}

static bool is_delegated(const char *path)
{
    static const char *const names[] = {"user.delegate", "trusted.delegate"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char value[2] = "";
        if (getxattr(path, names[i], value, sizeof value) == 1 && value[0] == '1')
            return true;
    }
    return false;
}

static int write_text(int folder, const char *name, const char *text)
{
    int fd = openat(folder, name, O_WRONLY | O_CLOEXEC), r = 0;
    if (fd < 0)
        return -errno;
    if (write(fd, text, strlen(text)) < 0)
        r = -errno;
    close(fd);
    return r;
}

/* 0 bytes where it cannot be read. */
static void read_text(int folder, const char *name, char *ret, size_t room)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, ret, room - 1);
    ret[got > 0 ? got : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

static int open_folder(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return fd < 0 ? -errno : fd;
}

static int move_in(int tree)
{
    if (mkdirat(tree, supervisor_name, 0755) < 0 && errno != EEXIST)
        return -errno;
    int fd = open_folder(tree, supervisor_name);
    if (fd < 0)
        return fd;
    int r = write_text(fd, "cgroup.procs", "0");
    close(fd);
    return r;
}

static void enable_controllers(int tree)
{
    static const char *const wanted[] = {"memory", "pids"};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        char text[16];
        snprintf(text, sizeof text, "+%s", wanted[i]);
        write_text(tree, "cgroup.subtree_control", text); /* what is not there is not counted */
    }
}

int cgroup_tree_open(struct cgroup_tree *ret)
{
    char path[8192];
    *ret = (struct cgroup_tree){.fd = -1};
    int r = find_own(path, sizeof path);
    if (r < 0 || !is_delegated(path))
        return -ENOENT;
    int fd = open_folder(AT_FDCWD, path);
    if (fd < 0)
        return fd;
    r = move_in(fd);
    if (r < 0) {
        close(fd);
        return r;
    }
    enable_controllers(fd);
    *ret = (struct cgroup_tree){.is_open = true, .fd = fd};
    return 0;
}

static bool is_populated(int folder)
{
    char text[256];
    read_text(folder, "cgroup.events", text, sizeof text);
    return strstr(text, "populated 1") != NULL;
}

/* Calls for each leaf but the supervisor's. */
static void for_each_leaf(const struct cgroup_tree *tree,
                          void (*call)(int tree, const char *name, void *context), void *context)
{
    int fd = openat(tree->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    if (!folder && fd >= 0)
        close(fd);
    while (folder && (entry = readdir(folder))) {
        /* The manager runs reload commands in leaves of its own, ".control". */
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
            strcmp(entry->d_name, supervisor_name) != 0)
            call(tree->fd, entry->d_name, context);
    }
    if (folder)
        closedir(folder);
}

static void kill_leaf(int tree, const char *name, void *context)
{
    int fd = open_folder(tree, name);
    if (fd < 0)
        return;
    if (is_populated(fd)) {
        *(bool *)context = true;
        write_text(fd, "cgroup.kill", "1");
    }
    close(fd);
}

bool cgroup_tree_kill_others(const struct cgroup_tree *tree)
{
    bool is_populated_by_any = false;
    if (tree->is_open)
        for_each_leaf(tree, kill_leaf, &is_populated_by_any);
    return is_populated_by_any;
}

static void remove_leaf(int tree, const char *name, void *context)
{
    (void)context;
    unlinkat(tree, name, AT_REMOVEDIR); /* one that is not empty stays */
}

void cgroup_tree_close(struct cgroup_tree *tree)
{
    if (!tree->is_open)
        return;
    for_each_leaf(tree, remove_leaf, NULL);
    close(tree->fd);
    *tree = (struct cgroup_tree){.fd = -1};
}

int cgroup_open(const struct cgroup_tree *tree, const char *name, struct cgroup *ret)
{
    *ret = (struct cgroup){.fd = -1, .procs_fd = -1};
    if (!tree->is_open)
        return 0;
    if (mkdirat(tree->fd, name, 0755) < 0 && errno != EEXIST)
        return -errno;
    int fd = open_folder(tree->fd, name);
    if (fd < 0)
        return fd;
    int procs = openat(fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    if (procs < 0) {
        int r = -errno;
        close(fd);
        return r;
    }
    *ret = (struct cgroup){.is_open = true, .fd = fd, .procs_fd = procs};
    return 0;
}

void cgroup_close(struct cgroup *cgroup)
{
    if (!cgroup->is_open)
        return;
    close(cgroup->fd);
    close(cgroup->procs_fd);
    *cgroup = (struct cgroup){.fd = -1, .procs_fd = -1};
}

bool cgroup_is_empty(const struct cgroup *cgroup)
{
    return !cgroup->is_open || !is_populated(cgroup->fd);
}

void cgroup_kill(const struct cgroup *cgroup)
{
    if (cgroup->is_open)
        write_text(cgroup->fd, "cgroup.kill", "1");
}

uint64_t cgroup_memory_bytes(const struct cgroup *cgroup)
{
    char text[32] = "";
    if (cgroup->is_open)
        read_text(cgroup->fd, "memory.current", text, sizeof text);
    return strtoull(text, NULL, 10);
}
