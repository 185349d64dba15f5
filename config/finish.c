/* parse_finish: what needs the whole configuration. Upstream: parse.c; downstream: the supervisor.
 */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/options.h"
#include "config/origins.h"
#include "config/parse.h"
#include "config/socket_path.h"
#include "config/units.h"

/* "FILE:LINE: " of where a value or a section was set, or "default: ". */
static const char *place(struct config *config, const struct option *option, enum option_base base,
                         uint32_t instance, char ret[PATH_BYTES_MAX])
{
    const struct config_origin *origin =
        config_origins_find(config->origins, option, base, instance);

    if (origin)
        snprintf(ret, PATH_BYTES_MAX, "%s:%u: ", config->origins->files[origin->file],
                 origin->line);
    else
        ret[0] = '\0';
    return ret;
}

static int check_rings(struct config *config, struct config_fault *fault)
{
    const struct option *size = option_find("Ring", OPTION_NAMED, "SlabSize");
    const struct option *count = option_find("Ring", OPTION_NAMED, "Slabs");
    char where[PATH_BYTES_MAX], slab[UNITS_TEXT_BYTES], page[UNITS_TEXT_BYTES];
    uint64_t total = 0;

    for (uint32_t i = 0; i < config->ring_count; i++) {
        const struct config_ring *ring = &config->rings[i];
        if (config->huge_pages != CONFIG_HUGE_PAGES_OFF &&
            ring->slab_bytes % config->huge_page_bytes != 0)
            return parse_fault(fault, -EBADMSG,
                               "%sSlabSize=%s of ring \"%s\" is not a multiple of HugePageSize=%s",
                               place(config, size, OPTION_OF_RING, i, where),
                               units_print_size(ring->slab_bytes, slab), ring->name,
                               units_print_size(config->huge_page_bytes, page));
        total += ring->slab_count;
        if (total > SLABS_MAX)
            return parse_fault(fault, -EBADMSG,
                               "%sSlabs= of all rings add up to more than %d; allowed: 1 to %d "
                               "in all",
                               place(config, count, OPTION_OF_RING, i, where), SLABS_MAX,
                               SLABS_MAX);
    }
    return 0;
}

static int check_sockets(struct config *config, struct config_fault *fault)
{
    const struct option *socket = option_find("Supervisor", OPTION_PLAIN, "Socket");
    const struct option *admin = option_find("Supervisor", OPTION_PLAIN, "AdminSocket");
    char where[PATH_BYTES_MAX], derived[SOCKET_PATH_BYTES];

    if (!config->admin_socket_path) {
        if (socket_path_admin(config->socket_path, derived) < 0)
            return parse_fault(fault, -EBADMSG,
                               "%sSocket= is too long for -admin to be added to it; allowed: at "
                               "most %d bytes, or set AdminSocket=",
                               place(config, socket, OPTION_OF_CONFIG, 0, where),
                               SOCKET_PATH_BYTES - 1 - 6);
        config->admin_socket_path = strdup(derived);
        if (!config->admin_socket_path)
            return parse_fault(fault, -ENOMEM, "out of memory");
    }
    if (strcmp(config->socket_path, config->admin_socket_path) == 0)
        return parse_fault(fault, -EBADMSG, "%sAdminSocket= is the same as Socket=",
                           place(config, admin, OPTION_OF_CONFIG, 0, where));
    return 0;
}

static int name_spool(struct config *config, struct config_fault *fault)
{
    if (!config->spool_directory &&
        asprintf(&config->spool_directory, "%s/spool", config->state_directory) < 0) {
        config->spool_directory = NULL;
        return parse_fault(fault, -ENOMEM, "out of memory");
    }
    return 0;
}

static int check_gpu(struct config *config, struct config_fault *fault)
{
    const struct option *evaluate = option_find("Synthesis", OPTION_PLAIN, "Evaluate");
    const struct option *devices = option_find("GPU", OPTION_PLAIN, "Devices");
    const char *backend = config_gpu_backend_to_string(config->gpu_backend);
    const bool is_cuda = config->gpu_backend == CONFIG_GPU_BACKEND_CUDA;
    char where[PATH_BYTES_MAX];

    if (config->synth_evaluate == CONFIG_EVALUATE_GPU && !is_cuda)
        return parse_fault(fault, -EBADMSG,
                           "%sEvaluate=gpu needs [GPU] Backend=cuda, and it is %s: the CPU backend "
                           "takes evaluations from synthesis; set Evaluate=auto or cpu",
                           place(config, evaluate, OPTION_OF_CONFIG, 0, where), backend);
    if (devices_parse(config->gpu_devices_text, &config->gpu_devices) < 0)
        return parse_fault(fault, -EBADMSG, "Devices= cannot be read");
    if (config->gpu_devices.count > 0 && !is_cuda)
        return parse_fault(fault, -EBADMSG,
                           "%sDevices= names cards and needs [GPU] Backend=cuda, and it is %s; "
                           "set Devices=auto or Backend=cuda",
                           place(config, devices, OPTION_OF_CONFIG, 0, where), backend);
    config->device_evaluates = config->synth_evaluate == CONFIG_EVALUATE_GPU ||
                               (config->synth_evaluate == CONFIG_EVALUATE_AUTO && is_cuda);
    return 0;
}

static uint32_t usable_cores(void)
{
    cpu_set_t cores;

    if (sched_getaffinity(0, sizeof cores, &cores) < 0)
        return 1;
    return (uint32_t)CPU_COUNT(&cores);
}

int parse_finish(struct config *config, struct config_fault *ret_fault)
{
    char where[PATH_BYTES_MAX];
    int r = check_sockets(config, ret_fault);
    if (r == 0)
        r = name_spool(config, ret_fault);

    if (r == 0)
        r = check_rings(config, ret_fault);
    if (r == 0)
        r = check_gpu(config, ret_fault);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < config->circuit_count; i++)
        if (!config->circuits[i].zkey_path)
            return parse_fault(ret_fault, -EBADMSG, "%s[Circuit \"%s\"] has no Zkey=",
                               place(config, NULL, OPTION_OF_CIRCUIT, i, where),
                               config->circuits[i].name);
    if (config->synth_threads == 0)
        config->synth_threads = usable_cores();
    if (config->gpu_threads == 0)
        config->gpu_threads = usable_cores();
    return 0;
}
