/* Circuits of the configuration: see circuit_config.h. */
#include "supervisor/circuit_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/log.h"
#include "supervisor/circuit_helpers.h"
#include "supervisor/circuits.h"
#include "supervisor/input_file.h"
#include "supervisor/supervisor.h"

bool circuit_config_names(const struct config *config, const char *name)
{
    for (uint32_t i = 0; i < config->circuit_count; i++) {
        if (strcmp(config->circuits[i].name, name) == 0)
            return true;
    }
    return false;
}

/* The operator's own path: opened by us, but never in a way that can hang. fd, or -1 with the
 * reason. */
static int open_file(const char *path, struct circuit_file *ret, char *ret_error,
                     size_t error_bytes)
{
    char why[160];
    uint64_t bytes;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        snprintf(ret_error, error_bytes, "%s cannot be opened: %s", path, strerror(errno));
        return -1;
    }
    if (input_file_check(fd, INT64_MAX, &bytes, why, sizeof why) < 0 ||
        circuit_file_of(fd, ret) < 0) {
        snprintf(ret_error, error_bytes, "%s cannot be used: %s", path, why);
        close(fd);
        return -1;
    }
    return fd;
}

static void begin_one(struct circuit *circuit, const struct config_circuit *wanted)
{
    struct circuit_source source = {0};
    int zkey_fd, r1cs_fd = -1;
    zkey_fd = open_file(wanted->zkey_path, &source.zkey, circuit->error, sizeof circuit->error);
    if (zkey_fd >= 0 && wanted->r1cs_path)
        r1cs_fd = open_file(wanted->r1cs_path, &source.r1cs, circuit->error, sizeof circuit->error);
    bool has_files = zkey_fd >= 0 && (r1cs_fd >= 0 || !wanted->r1cs_path);
    bool is_same = memcmp(&source, &circuit->source, sizeof source) == 0;
    circuit->is_configured = true;
    if (has_files && !(is_same && circuit->state == CIRCUIT_PREPARED)) {
        circuit->source = source;
        circuit_prepare(circuit, zkey_fd, r1cs_fd);
        return;
    }
    if (!has_files && circuit->state != CIRCUIT_PREPARED) {
        circuit->state = CIRCUIT_FAILED;
        log_error("circuit %s of the configuration cannot be prepared: %s", circuit->name,
                  circuit->error);
    } else if (!has_files) {
        log_warn("circuit %s goes on with the key prepared earlier: %s", circuit->name,
                 circuit->error);
    }
    if (zkey_fd >= 0)
        close(zkey_fd);
    if (r1cs_fd >= 0)
        close(r1cs_fd);
}

static struct circuit *create(struct supervisor *supervisor, const char *name)
{
    struct circuit *circuit = circuits_create(supervisor, name);
    if (circuit)
        circuit->state = CIRCUIT_FAILED; /* until it is known better */
    else
        log_error("circuit %s of the configuration: there are more than %d, or memory is short",
                  name, CIRCUITS_MAX);
    return circuit;
}

int circuit_config_begin(struct supervisor *supervisor)
{
    const struct config *config = &supervisor->config;
    for (uint32_t i = 0; i < config->circuit_count; i++) {
        const char *name = config->circuits[i].name;
        struct circuit *circuit = circuits_find(&supervisor->circuits, name);
        if (circuit && !circuit->is_configured)
            log_warn("circuit %s was added over the socket; the configuration replaces it", name);
        if (!circuit)
            circuit = create(supervisor, name);
        if (!circuit)
            return -ENOMEM;
        begin_one(circuit, &config->circuits[i]);
    }
    return 0;
}

void circuit_config_add(struct supervisor *supervisor)
{
    const struct config *config = &supervisor->config;
    for (uint32_t i = 0; i < config->circuit_count; i++) {
        const char *name = config->circuits[i].name;
        struct circuit *circuit = circuits_find(&supervisor->circuits, name);
        if (circuit && !circuit->is_configured)
            log_warn("circuit %s was added over the socket; the configuration's takes its place "
                     "when the daemon starts anew",
                     name);
        if (circuit)
            continue;
        circuit = create(supervisor, name);
        if (circuit)
            begin_one(circuit, &config->circuits[i]);
    }
}
