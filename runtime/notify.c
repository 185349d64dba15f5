/* See runtime/notify.h. */
#include "runtime/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

/* A newline would start another assignment. */
static int first_line_bytes(const char *text)
{
    int bytes = 0;

    while (text[bytes] && text[bytes] != '\n' && bytes < 512)
        bytes++;
    return bytes;
}

void notify_ready(const char *status)
{
    sd_notifyf(0, "READY=1\nMAINPID=%ld\nSTATUS=%.*s", (long)getpid(), first_line_bytes(status),
               status);
}

void notify_status(const char *status)
{
    sd_notifyf(0, "STATUS=%.*s", first_line_bytes(status), status);
}

void notify_stopping(const char *status)
{
    sd_notifyf(0, "STOPPING=1\nSTATUS=%.*s", first_line_bytes(status), status);
}

void notify_watchdog(void)
{
    sd_notify(0, "WATCHDOG=1");
}

void notify_extend_timeout(uint64_t more_ns)
{
    sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" PRIu64, more_ns / 1000);
}

uint64_t notify_watchdog_ns(void)
{
    uint64_t period_us;

    return sd_watchdog_enabled(0, &period_us) > 0 ? period_us * 1000 : 0;
}

int notify_store(const char *name, int fd)
{
    char text[320];
    snprintf(text, sizeof text, "FDSTORE=1\nFDPOLL=0\nFDNAME=%.*s", first_line_bytes(name), name);
    int r = sd_pid_notify_with_fds(0, 0, text, &fd, 1);
    return r > 0 ? 0 : r < 0 ? r : -ENOTCONN;
}

void notify_unstore(const char *name)
{
    sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%.*s", first_line_bytes(name), name);
}
