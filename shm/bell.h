/* A bell is a non-blocking eventfd with one reader. Ringing after a push and draining the ring
 * after reading the bell loses no wake-up: a push that the drain missed rings again.
 * (An eventfd shared by several sleepers loses wake-ups; hence one bell, one reader.) */
#pragma once

int bell_create(void); /* fd, close-on-exec, or negative errno */
int bell_ring(int fd); /* 0 or negative errno; never blocks */
int bell_read(int fd); /* 1 when it had been rung, 0 when not, negative errno; clears it */
