/* Circuits on disk: a record a circuit in the state folder, a prepared key a digest in the cache
 * folder. Only these two folders are written. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/limits.h"
#include "supervisor/facts.h"

/* Which files a circuit was made of, so that one named in the configuration is prepared again only
 * when they changed. */
struct circuit_source {
    struct circuit_file {
        uint64_t device, inode, bytes; /* all zero: not given */
        int64_t modified_ns;
    } zkey, r1cs;
};

struct circuit_record {
    char name[NAME_BYTES_MAX + 1];
    struct facts facts;
    struct circuit_source source;
    bool is_configured;
};

struct circuit_store {
    char *records; /* path of STATE/circuits */
    char *keys;    /* path of CACHE/keys */
};

/* Makes the folders where they are missing and removes what an interrupted run left. */
int circuit_store_open(struct circuit_store *store, const char *state_directory,
                       const char *cache_directory);
void circuit_store_close(struct circuit_store *store);

/* Calls on_record for every valid record; logs the others and leaves them alone. */
int circuit_store_scan(const struct circuit_store *store,
                       void (*on_record)(void *context, const struct circuit_record *record),
                       void *context);
int circuit_store_save(const struct circuit_store *store, const struct circuit_record *record);
int circuit_store_forget(const struct circuit_store *store, const char *name);

/* A new file to prepare a key into (mode 0600), named by the key's index until it is kept. fd or
 * negative errno. */
int circuit_store_key_begin(const struct circuit_store *store, uint32_t key);
int circuit_store_key_keep(const struct circuit_store *store, uint32_t key, const char *digest);
void circuit_store_key_abort(const struct circuit_store *store, uint32_t key);
/* fd or negative errno. */
int circuit_store_key_open(const struct circuit_store *store, const char *digest);
int circuit_store_key_remove(const struct circuit_store *store, const char *digest);

/* From fstat. */
int circuit_file_of(int fd, struct circuit_file *ret);
