/* The branch of the cgroup tree (version 2) that the service manager delegated to us, and in it a
 * cgroup for each worker: what it uses can be seen, and when it is empty nobody of it is left.
 * Where nothing is delegated there is no tree, and every call on a cgroup that was not made does
 * nothing and says "empty". Only the supervisor calls these; nothing here blocks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cgroup_tree {
    bool is_open;
    int fd; /* of its folder */
};

struct cgroup {
    bool is_open;
    int fd;       /* of its folder */
    int procs_fd; /* cgroup.procs: a process that writes "0" moves in */
};

/* Finds the delegated branch (the attribute user.delegate or trusted.delegate, as systemd sets it),
 * moves the calling process into a leaf of its own, "supervisor", and turns on what controllers
 * there are among memory and pids. 0; -ENOENT when nothing is delegated; another negative errno
 * when it is and cannot be used. */
int cgroup_tree_open(struct cgroup_tree *ret);
/* Removes what is empty of the cgroups made in it. The process stays where it is. */
void cgroup_tree_close(struct cgroup_tree *tree);
/* Of the branch apart from the supervisor's leaf: somebody lives there still. Kills them. */
bool cgroup_tree_kill_others(const struct cgroup_tree *tree);

/* A leaf of this name, made if it is not there. Without a tree: 0 and a cgroup that is not open. */
int cgroup_open(const struct cgroup_tree *tree, const char *name, struct cgroup *ret);
void cgroup_close(struct cgroup *cgroup);
bool cgroup_is_empty(const struct cgroup *cgroup);
/* SIGKILL to everyone in it at once. */
void cgroup_kill(const struct cgroup *cgroup);
/* Memory charged to it, key and slab pages apart where others touched them first; 0: not known. */
uint64_t cgroup_memory_bytes(const struct cgroup *cgroup);
