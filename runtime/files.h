/* Small files of the state and configuration folders, and of /proc and /sys. Blocking: for start-up
 * and for rare records, not for the path of a partition. All return 0 or negative errno. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens /dev/null as each of descriptors 0, 1 and 2 that is closed, first thing in a program: the
 * next files opened would get these numbers, and what is meant for stderr would be written there.
 */
int files_open_standard(void);

/* The whole file, NUL-terminated for convenience, in memory the caller frees. -EFBIG when it holds
 * more than bytes_max, -EINVAL when it is not a regular file. */
int files_read(const char *path, size_t bytes_max, char **ret_text, size_t *ret_bytes);
/* A decimal number at the start of a small file; "max" reads as UINT64_MAX. */
int files_read_number(const char *path, uint64_t *ret);
/* Replaces path: a file beside it is written, fsynced and renamed over it, then the folder is
 * fsynced. After a crash the path holds the old or the new bytes, never a mixture. */
int files_write(const char *path, const void *bytes, size_t byte_count, mode_t mode);
/* Makes the folder and its missing parents; existing ones are left as they are. */
int files_make_folder(const char *path, mode_t mode);
/* The same for the folder that path lies in. */
int files_make_parents(const char *path, mode_t mode);
/* Makes the names last changed in the folder of path durable. */
int files_sync_folder_of(const char *path);
