/* The files of a configuration: the main one and its drop-ins, read in order.
 * Downstream: parse.c (text), then the supervisor. */
#include "config/config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/options.h"
#include "config/origins.h"
#include "config/parse.h"

static int read_file(const char *path, char **ret_text, size_t *ret_bytes,
                     struct config_fault *fault);
static int load_file(struct config *config, const char *path, struct config_fault *fault);
static int load_drop_ins(struct config *config, const char *path, struct config_fault *fault);

static int load(const char *path, bool is_optional, struct config *ret,
                struct config_fault *ret_fault)
{
    struct config config = {0};
    int r = parse_defaults(&config);

    if (r < 0)
        return parse_fault(ret_fault, r, "the defaults cannot be set: %s", strerror(-r));
    if (path) {
        if (!is_optional || access(path, F_OK) == 0 || errno != ENOENT)
            r = load_file(&config, path, ret_fault);
        if (r == 0)
            r = load_drop_ins(&config, path, ret_fault);
    }
    if (r == 0)
        r = parse_finish(&config, ret_fault);
    if (r < 0) {
        config_destroy(&config);
        return r;
    }
    *ret = config;
    return 0;
}

int config_load(const char *path, struct config *ret, struct config_fault *ret_fault)
{
    return load(path, false, ret, ret_fault);
}

int config_load_optional(const char *path, struct config *ret, struct config_fault *ret_fault)
{
    return load(path, true, ret, ret_fault);
}

void config_destroy(struct config *config)
{
    for (uint32_t i = 0; i < config->circuit_count; i++) {
        free(config->circuits[i].zkey_path);
        free(config->circuits[i].r1cs_path);
    }
    free(config->circuits);
    free(config->socket_path);
    free(config->admin_socket_path);
    free(config->socket_group);
    free(config->admin_socket_group);
    free(config->state_directory);
    free(config->spool_directory);
    free(config->cache_directory);
    free(config->gpu_devices_text);
    config_origins_free(config->origins);
    *config = (struct config){0};
}

static int load_file(struct config *config, const char *path, struct config_fault *fault)
{
    char *text;
    size_t bytes;
    int r = read_file(path, &text, &bytes, fault);

    if (r < 0)
        return r;
    r = parse_text(config, path, text, bytes, fault);
    free(text);
    return r;
}

/* A FIFO must not hang the daemon, nor a device feed it for ever: regular files only. */
static int read_file(const char *path, char **ret_text, size_t *ret_bytes,
                     struct config_fault *fault)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r;
    struct stat status;
    char *text = NULL;
    size_t bytes = 0;

    if (fd < 0)
        return parse_fault(fault, -errno, "%s: cannot be opened: %s", path, strerror(errno));
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        r = parse_fault(fault, -EBADMSG, "%s: not a regular file", path);
        goto fail;
    }
    text = malloc(PARSE_FILE_BYTES_MAX + 1);
    if (!text) {
        r = parse_fault(fault, -ENOMEM, "%s: out of memory", path);
        goto fail;
    }
    /* Read, not asked of stat: a file may grow meanwhile, and one cut short must not pass. */
    while (bytes <= PARSE_FILE_BYTES_MAX) {
        ssize_t count = read(fd, text + bytes, PARSE_FILE_BYTES_MAX + 1 - bytes);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            r = parse_fault(fault, -errno, "%s: cannot be read: %s", path, strerror(errno));
            goto fail;
        }
        if (count == 0)
            break;
        bytes += (size_t)count;
    }
    if (bytes > PARSE_FILE_BYTES_MAX) {
        r = parse_fault(fault, -EBADMSG, "%s: larger than %d bytes; is this a configuration file?",
                        path, PARSE_FILE_BYTES_MAX);
        goto fail;
    }
    close(fd);
    *ret_text = text;
    *ret_bytes = bytes;
    return 0;
fail:
    free(text);
    close(fd);
    return r;
}

static int is_drop_in(const struct dirent *entry)
{
    size_t bytes = strlen(entry->d_name);
    return entry->d_name[0] != '.' && bytes > 5 && strcmp(entry->d_name + bytes - 5, ".conf") == 0;
}

/* Byte order: the same on every locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int load_drop_ins(struct config *config, const char *path, struct config_fault *fault)
{
    char folder[PATH_BYTES_MAX], file[2 * PATH_BYTES_MAX];
    struct dirent **entries;
    int r = 0;

    if (snprintf(folder, sizeof folder, "%s.d", path) >= (int)sizeof folder)
        return parse_fault(fault, -ENAMETOOLONG, "%s: the path is too long", path);
    int count = scandir(folder, &entries, is_drop_in, by_name);
    if (count < 0 && errno == ENOENT)
        return 0;
    if (count < 0)
        return parse_fault(fault, -errno, "%s: cannot be listed: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (r == 0) {
            snprintf(file, sizeof file, "%s/%s", folder, entries[i]->d_name);
            r = load_file(config, file, fault);
        }
        free(entries[i]);
    }
    free(entries);
    return r;
}
