/* One connection of the library: a request out, its reply in. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "client/libcuzk.h"
#include "protocol/request.h"

/* Sends the request (its message id is set here) with these descriptors, which are borrowed, and
 * waits for its reply. wait_ms is what the call itself may take by its meaning, beside the
 * connection's patience; CUZK_FOREVER: no limit at all. *ret_result is the caller's. */
int connection_call(struct cuzk *cuzk, struct request *request, const int *descriptors,
                    uint32_t wait_ms, json_t **ret_result, struct cuzk_error *ret_error);

/* "The daemon's reply to X lacks Y": the other side is not what it should be. */
int connection_strange(struct cuzk_error *ret_error, const char *method, const char *field);

/* Of the protocol's error codes. */
enum cuzk_code connection_code(const char *name);

/* A non-negative integer of a reply. -EBADMSG. */
int connection_integer(const json_t *map, const char *key, uint64_t *ret);
