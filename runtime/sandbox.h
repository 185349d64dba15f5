/* What a child of the supervisor gives up once it has started and before it looks at a byte that a
 * client gave: files (Landlock) and system calls (seccomp). Neither comes back. Called by the
 * children themselves: the worker frame (shm/worker.c) and the helpers of synth-worker.
 *
 *   CLOSED  cuzk-synth and its helpers, cuzk-finalizer, cuzk-gpu on the CPU: opens nothing; of
 *           system calls a list: own memory, threads, descriptors that were handed over, clock
 *   DEVICE  cuzk-gpu with CUDA: reads files, writes below /dev and /proc/self, makes some in
 * /dev/shm; all system calls but those on programs, processes, sockets, rings and the kernel itself
 *   SPOOL   cuzk-intake: the files of its folder; CLOSED and open, rename, link, unlink, reflink
 *
 * A forbidden call fails with EPERM where a library may ask to find out (open, ioctl, prctl);
 * where only an intruder would ask (exec, fork, ptrace, socket, kill) the process reports it and
 * ends with SANDBOX_EXIT. No filter sees what goes through an io_uring: runtime/uring_setup.c
 * restricts the ring before, and here io_uring_setup and io_uring_register go. */
#pragma once

#include <stddef.h>

enum sandbox_policy {
    SANDBOX_REQUIRE,
    SANDBOX_PREFER,
    SANDBOX_OFF,
};

enum sandbox_profile {
    SANDBOX_CLOSED,
    SANDBOX_DEVICE,
    SANDBOX_SPOOL,
};

/* What is in force, as bits. */
enum sandbox_part {
    SANDBOX_FILES = 1 << 0,
    SANDBOX_CALLS = 1 << 1,
    SANDBOX_ALL = SANDBOX_FILES | SANDBOX_CALLS,
};

enum {
    SANDBOX_EXIT = 5, /* exit status after a forbidden call; enum worker_exit has it too */
    SANDBOX_TEXT_BYTES = 160,
};

const char *sandbox_policy_to_string(enum sandbox_policy policy); /* "require", ... */
int sandbox_policy_from_string(const char *text, enum sandbox_policy *ret);
/* "full", "files", "calls" or "none": of parts in force. */
const char *sandbox_parts_to_string(unsigned parts);

/* What this kernel and build can do: SANDBOX_ALL, or fewer and in text (SANDBOX_TEXT_BYTES, else
 * "") why. Changes nothing. */
unsigned sandbox_probe(char *ret_text);

/* Landlock, for this thread and those it makes later: call it while there is one. Beyond what the
 * profile says, files below the folders in writable (NULL-terminated; may be NULL) may be read,
 * written, made and removed. Those that are missing are skipped. 0 or negative errno. */
int sandbox_limit_files(enum sandbox_profile profile, const char *const *writable);
/* seccomp, for all threads. report gets one line on a forbidden call, from a signal handler, just
 * before the process ends (it is logged in any case); may be NULL. 0 or negative errno. */
int sandbox_limit_calls(enum sandbox_profile profile, void (*report)(const char *text));
