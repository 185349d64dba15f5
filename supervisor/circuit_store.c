/* Circuits on disk: see circuit_store.h. */
#include "supervisor/circuit_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/name.h"
#include "runtime/files.h"
#include "runtime/log.h"

enum {
    RECORD_BYTES_MAX = 64 << 10,
    RECORD_VERSION = 1,
};

static void remove_leftovers(const struct circuit_store *store);

int circuit_store_open(struct circuit_store *store, const char *state_directory,
                       const char *cache_directory)
{
    *store = (struct circuit_store){0};
    if (asprintf(&store->records, "%s/circuits", state_directory) < 0 ||
        asprintf(&store->keys, "%s/keys", cache_directory) < 0)
        return -ENOMEM;
    int r = files_make_folder(store->records, 0700);
    if (r < 0) {
        log_error("cannot make %s: %s", store->records, strerror(-r));
        return r;
    }
    r = files_make_folder(store->keys, 0700);
    if (r < 0) {
        log_error("cannot make %s: %s", store->keys, strerror(-r));
        return r;
    }
    remove_leftovers(store);
    return 0;
}

void circuit_store_close(struct circuit_store *store)
{
    free(store->records);
    free(store->keys);
    *store = (struct circuit_store){0};
}

static bool has_suffix(const char *text, const char *suffix)
{
    size_t text_bytes = strlen(text), suffix_bytes = strlen(suffix);
    return text_bytes >= suffix_bytes && strcmp(text + text_bytes - suffix_bytes, suffix) == 0;
}

static void remove_leftovers(const struct circuit_store *store)
{
    DIR *folder = opendir(store->keys);
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        if (has_suffix(entry->d_name, ".preparing"))
            unlinkat(dirfd(folder), entry->d_name, 0);
    }
    if (folder)
        closedir(folder);
}

static uint64_t get_unsigned(const json_t *object, const char *field)
{
    json_int_t value = json_integer_value(json_object_get(object, field));
    return value < 0 ? 0 : (uint64_t)value;
}

static void file_from_json(const json_t *object, struct circuit_file *ret)
{
    ret->device = get_unsigned(object, "device");
    ret->inode = get_unsigned(object, "inode");
    ret->bytes = get_unsigned(object, "bytes");
    ret->modified_ns = json_integer_value(json_object_get(object, "modified_ns"));
}

static json_t *file_to_json(const struct circuit_file *file)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "device", (json_int_t)file->device, "inode",
                     (json_int_t)file->inode, "bytes", (json_int_t)file->bytes, "modified_ns",
                     (json_int_t)file->modified_ns);
}

/* file_name is NAME.json; what is inside must name the same circuit. */
static int record_parse(const char *text, const char *file_name, struct circuit_record *ret,
                        char *ret_error, size_t error_bytes)
{
    json_error_t fault;
    struct circuit_record record = {0};
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &fault);
    const char *name = json_string_value(json_object_get(object, "name"));
    int r = -EBADMSG;
    if (get_unsigned(object, "version") != RECORD_VERSION || !name ||
        !name_is_valid(name, strlen(name)) || strlen(file_name) != strlen(name) + 5 ||
        strncmp(file_name, name, strlen(name)) != 0) {
        snprintf(ret_error, error_bytes, "it is no record of a circuit of that name");
    } else {
        snprintf(record.name, sizeof record.name, "%s", name);
        record.is_configured = json_is_true(json_object_get(object, "configured"));
        file_from_json(json_object_get(object, "zkey"), &record.source.zkey);
        file_from_json(json_object_get(object, "r1cs"), &record.source.r1cs);
        r = facts_from_json(json_object_get(object, "facts"), &record.facts, ret_error,
                            error_bytes);
    }
    json_decref(object);
    if (r == 0)
        *ret = record;
    return r;
}

static int record_read(const struct circuit_store *store, const char *file_name,
                       struct circuit_record *ret)
{
    char path[PATH_BYTES_MAX], error[256] = "";
    char *text = NULL;
    size_t bytes;
    snprintf(path, sizeof path, "%s/%s", store->records, file_name);
    int r = files_read(path, RECORD_BYTES_MAX, &text, &bytes);
    if (r == 0)
        r = record_parse(text, file_name, ret, error, sizeof error);
    free(text);
    if (r < 0)
        log_warn("the circuit of %s is left out: %s", path, error[0] ? error : strerror(-r));
    return r;
}

int circuit_store_scan(const struct circuit_store *store,
                       void (*on_record)(void *context, const struct circuit_record *record),
                       void *context)
{
    DIR *folder = opendir(store->records);
    struct circuit_record record;
    struct dirent *entry;
    if (!folder)
        return -errno;
    while ((entry = readdir(folder))) {
        if (has_suffix(entry->d_name, ".json") && record_read(store, entry->d_name, &record) == 0)
            on_record(context, &record);
    }
    closedir(folder);
    return 0;
}

int circuit_store_save(const struct circuit_store *store, const struct circuit_record *record)
{
    char path[PATH_BYTES_MAX];
    json_t *object = json_pack(
        "{s:i, s:s, s:b, s:o, s:o, s:o}", "version", (int)RECORD_VERSION, "name", record->name,
        "configured", (int)record->is_configured, "zkey", file_to_json(&record->source.zkey),
        "r1cs", file_to_json(&record->source.r1cs), "facts", facts_to_json(&record->facts));
    char *text = object ? json_dumps(object, JSON_INDENT(1)) : NULL;
    json_decref(object);
    if (!text)
        return -ENOMEM;
    snprintf(path, sizeof path, "%s/%s.json", store->records, record->name);
    int r = files_write(path, text, strlen(text), 0600);
    free(text);
    return r;
}

int circuit_store_forget(const struct circuit_store *store, const char *name)
{
    char path[PATH_BYTES_MAX];
    snprintf(path, sizeof path, "%s/%s.json", store->records, name);
    if (unlink(path) < 0 && errno != ENOENT)
        return -errno;
    return files_sync_folder_of(path);
}

static void preparing_path(const struct circuit_store *store, uint32_t key,
                           char ret[PATH_BYTES_MAX])
{
    snprintf(ret, PATH_BYTES_MAX, "%s/%u.preparing", store->keys, key);
}

static void key_path(const struct circuit_store *store, const char *digest,
                     char ret[PATH_BYTES_MAX])
{
    snprintf(ret, PATH_BYTES_MAX, "%s/%s.czk", store->keys, digest);
}

int circuit_store_key_begin(const struct circuit_store *store, uint32_t key)
{
    char path[PATH_BYTES_MAX];
    preparing_path(store, key, path);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd < 0 ? -errno : fd;
}

int circuit_store_key_keep(const struct circuit_store *store, uint32_t key, const char *digest)
{
    char from[PATH_BYTES_MAX], to[PATH_BYTES_MAX];
    preparing_path(store, key, from);
    key_path(store, digest, to);
    if (rename(from, to) < 0)
        return -errno;
    return files_sync_folder_of(to);
}

void circuit_store_key_abort(const struct circuit_store *store, uint32_t key)
{
    char path[PATH_BYTES_MAX];
    preparing_path(store, key, path);
    unlink(path);
}

int circuit_store_key_open(const struct circuit_store *store, const char *digest)
{
    char path[PATH_BYTES_MAX];
    key_path(store, digest, path);
    /* Non-blocking: opening a FIFO must not wait for its writer. The loader refuses it. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

int circuit_store_key_remove(const struct circuit_store *store, const char *digest)
{
    char path[PATH_BYTES_MAX];
    key_path(store, digest, path);
    return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}

int circuit_file_of(int fd, struct circuit_file *ret)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return -errno;
    *ret = (struct circuit_file){
        .device = status.st_dev,
        .inode = status.st_ino,
        .bytes = (uint64_t)status.st_size,
        .modified_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec,
    };
    return 0;
}
