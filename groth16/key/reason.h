/* Why a reader refused its input, in words for the person who has to mend it: what is wrong, where
 * (section and byte offset), the likely cause or what to do. Filled by every reader of groth16/key;
 * the caller owns it and decides whether to log or to send it. Never holds witness values. */
#pragma once

struct reason {
    char text[512];
};

/* Formats the text (cut at 511 bytes; printable ASCII only: other bytes become '?') and returns
 * `error`, a negative errno, so that a reader can write `return reason_set(reason, -EBADMSG, ...)`.
 * A NULL reason only passes the error through. */
int reason_set(struct reason *reason, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
