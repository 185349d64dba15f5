/* Keeps a client's descriptor without having it open: it lies in the queue of a socket. Closing an
 * open one waits for the file system behind it, and so does every fork and exec, which copies and
 * closes it too; what lies in a socket is no business of either. */
#pragma once

/* Takes fd over (close_later), also on failure. The vault, one descriptor to be given to
 * close_later, or negative errno (-ETOOMANYREFS: more are kept than files may be open). */
int vault_put(int fd);
/* The descriptor once more, close-on-exec; give it to close_later soon. Negative errno. */
int vault_open(int vault);
