/* The NVIDIA driver, its library, its device nodes, and which memory is near the card. Neither CUDA
 * nor NVML is loaded: files say enough, and a driver that hangs cannot hang this. */
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/doctor/doctor.h"

enum {
    VERSION_BYTES = 32,
    NODES_MAX = 64, /* of memory */
};

static bool wants_gpu(const struct doctor *doctor)
{
    return !doctor->config || doctor->config->gpu_backend != CONFIG_GPU_BACKEND_CPU;
}

/* What a lack of the card comes to. */
static enum doctor_level lack(const struct doctor *doctor)
{
    if (!wants_gpu(doctor))
        return DOCTOR_OK;
    return doctor->config && doctor->config->gpu_backend == CONFIG_GPU_BACKEND_CUDA ? DOCTOR_FAIL
                                                                                    : DOCTOR_WARN;
}

/* The first word of the form 580.159.04. */
static bool find_version(const char *text, char ret[VERSION_BYTES])
{
    for (const char *at = text; *at; at++) {
        const size_t bytes = strspn(at, "0123456789.");
        const char *dot = memchr(at, '.', bytes);
        if (bytes >= VERSION_BYTES || !dot || dot == at || !isdigit((unsigned char)*at) ||
            !isdigit((unsigned char)dot[1])) {
            at += bytes > 0 ? bytes - 1 : 0;
            continue;
        }
        memcpy(ret, at, bytes);
        ret[bytes] = '\0';
        return true;
    }
    return false;
}

/* The version is in the name of the file that libcuda.so.1 leads to. */
static bool find_library(const struct doctor *doctor, char ret_version[VERSION_BYTES],
                         char ret_path[PATH_BYTES_MAX])
{
    static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu",
                                          "/usr/lib64",
                                          "/usr/lib",
                                          "/usr/lib/x86_64-linux-gnu/nvidia/current",
                                          "/usr/local/nvidia/lib64",
                                          "/usr/local/nvidia/lib",
                                          "/run/opengl-driver/lib",
                                          "/lib/x86_64-linux-gnu"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char path[PATH_BYTES_MAX], name[PATH_BYTES_MAX];
        snprintf(path, sizeof path, "%s%s", doctor->root, folders[i]);
        DIR *folder = opendir(path);
        bool is_found = false;
        for (struct dirent *entry; folder && !is_found && (entry = readdir(folder));) {
            is_found = strncmp(entry->d_name, "libcuda.so.", 11) == 0 &&
                       find_version(entry->d_name + 11, ret_version);
            if (is_found)
                snprintf(name, sizeof name, "%.255s", entry->d_name);
        }
        if (folder)
            closedir(folder);
        if (is_found) {
            snprintf(ret_path, PATH_BYTES_MAX, "%s/%.255s", folders[i], name);
            return true;
        }
    }
    return false;
}

static void say_cpu(struct doctor *doctor)
{
    doctor_change(doctor, "the driver of the distribution (Debian: apt install nvidia-driver "
                          "libcuda1), or [GPU] Backend=cpu");
}

void doctor_driver(struct doctor *doctor)
{
    char *text = doctor_read(doctor, "/proc/driver/nvidia/version");
    char module[VERSION_BYTES] = "", library[VERSION_BYTES] = "", path[PATH_BYTES_MAX];
    const char *line = text ? strstr(text, "Kernel Module") : NULL;
    const bool is_loaded = line && find_version(line, module);
    const bool has_library = find_library(doctor, library, path);
    free(text);
    if (!is_loaded) {
        doctor_add(doctor, lack(doctor), "driver", "%s",
                   wants_gpu(doctor) ? "the NVIDIA kernel module is not loaded"
                                     : "no NVIDIA kernel module, and [GPU] Backend=cpu needs none");
        if (!wants_gpu(doctor))
            return;
        doctor_means(doctor, "no GPU can be used%s",
                     has_library ? "; its library is installed" : ", nor is its library installed");
        if (has_library)
            doctor_change(doctor, "modprobe nvidia; journalctl -k says why where that fails (a "
                                  "kernel without the module built for it, secure boot, no card)");
        else
            say_cpu(doctor);
        return;
    }
    if (!has_library) {
        doctor_add(doctor, lack(doctor), "driver",
                   "the kernel module %s is loaded, and libcuda.so is not where libraries are",
                   module);
        doctor_means(doctor, "the CUDA backend cannot be opened");
        say_cpu(doctor);
    } else if (strcmp(module, library) != 0) {
        doctor_add(doctor, lack(doctor), "driver", "kernel module %s, library %s (%s)", module,
                   library, path);
        doctor_means(doctor, "after an update of the driver the old module is still loaded: GPU "
                             "workers that run go on, and none can start any more");
        doctor_change(doctor, "reboot; or stop cuzkd and all that uses the card, then rmmod "
                              "nvidia_drm nvidia_modeset nvidia_uvm nvidia && modprobe nvidia");
    } else {
        doctor_add(doctor, DOCTOR_OK, "driver", "kernel module and library are %s", module);
    }
}

static bool is_usable(const struct doctor *doctor, const char *node)
{
    char path[PATH_BYTES_MAX];
    snprintf(path, sizeof path, "%s%s", doctor->root, node);
    return access(path, R_OK | W_OK) == 0;
}

void doctor_nodes(struct doctor *doctor)
{
    static const char *const nodes[] = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0"};
    bool has_missing = false;
    if (!wants_gpu(doctor) || !doctor_exists(doctor, "/proc/driver/nvidia/version"))
        return;
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        const bool is_there = doctor_exists(doctor, "%s", nodes[i]);
        if (is_there && is_usable(doctor, nodes[i]))
            continue;
        has_missing = true;
        doctor_add(doctor, lack(doctor), "nodes", "%s %s", nodes[i],
                   is_there ? "may not be used by this user" : "is missing");
        doctor_means(doctor, is_there ? "CUDA cannot open the card"
                                      : "CUDA cannot open the card, and workers may not make the "
                                        "node themselves (nvidia-modprobe runs as root)");
        if (is_there)
            doctor_change(doctor, "its group or mode, for the user of the service");
        else
            doctor_change(doctor, "nvidia-modprobe -c 0 -u; at boot: nvidia-persistenced");
    }
    if (!has_missing)
        doctor_add(doctor, DOCTOR_OK, "nodes", "the device nodes are there");
}

/* ---- NUMA ---- */

static unsigned count_nodes(const struct doctor *doctor)
{
    unsigned count = 0;
    while (count < NODES_MAX && doctor_exists(doctor, "/sys/devices/system/node/node%u", count))
        count++;
    return count;
}

/* Pages of slabs by node, of a process that maps them: " N0=512" in lines that name one. */
static uint64_t slab_pages(const struct doctor *doctor, pid_t pid, uint64_t ret_pages[NODES_MAX])
{
    char *text = doctor_read(doctor, "/proc/%d/numa_maps", (int)pid), *rest;
    uint64_t sum = 0;
    memset(ret_pages, 0, NODES_MAX * sizeof ret_pages[0]);
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (!strstr(line, "cuzkd-slab"))
            continue;
        for (const char *at = line; (at = strstr(at, " N")); at += 2) {
            unsigned node;
            uint64_t pages;
            if (sscanf(at, " N%u=%" SCNu64, &node, &pages) != 2 || node >= NODES_MAX)
                continue;
            ret_pages[node] += pages;
            sum += pages;
        }
    }
    free(text);
    return sum;
}

static void check_near(struct doctor *doctor, const char *card, unsigned node, pid_t gpu_pid)
{
    const struct config *config = doctor->config;
    uint64_t pages[NODES_MAX], free_pages = 0;
    const uint64_t sum = gpu_pid > 0 ? slab_pages(doctor, gpu_pid, pages) : 0;
    if (sum > 0 && node < NODES_MAX) {
        const uint64_t near = pages[node];
        doctor_add(doctor, near < sum ? DOCTOR_WARN : DOCTOR_OK, "numa",
                   "%s is on node %u, and %" PRIu64 " of %" PRIu64 " pages of slabs are", card,
                   node, near, sum);
    } else if (config && config->huge_pages != CONFIG_HUGE_PAGES_OFF &&
               doctor_number(doctor, &free_pages,
                             "/sys/devices/system/node/node%u/hugepages/hugepages-%" PRIu64
                             "kB/free_hugepages",
                             node, config->huge_page_bytes >> 10) == 0) {
        uint64_t wanted = 0;
        for (uint32_t i = 0; i < config->ring_count; i++)
            wanted += config->rings[i].slab_bytes * config->rings[i].slab_count;
        wanted /= config->huge_page_bytes;
        const bool is_short = !doctor->is_running && free_pages < wanted;
        doctor_add(doctor, is_short ? DOCTOR_WARN : DOCTOR_OK, "numa",
                   "%s is on node %u, which has %" PRIu64 " hugepages free; slabs take %" PRIu64,
                   card, node, free_pages, wanted);
        if (!is_short)
            return;
    } else {
        doctor_add(doctor, DOCTOR_OK, "numa", "%s is on node %u", card, node);
        return;
    }
    if (doctor->findings[doctor->count - 1].level == DOCTOR_OK)
        return;
    doctor_means(doctor, "copies from the other node's memory take two to three times as long");
    doctor_change(doctor,
                  "echo N >/sys/devices/system/node/node%u/hugepages/hugepages-%" PRIu64
                  "kB/nr_hugepages, and NUMAPolicy=preferred NUMAMask=%u in the unit",
                  node, config ? config->huge_page_bytes >> 10 : 2048, node);
}

void doctor_numa(struct doctor *doctor, pid_t gpu_pid)
{
    const unsigned nodes = count_nodes(doctor);
    char path[PATH_BYTES_MAX];
    if (nodes <= 1) {
        doctor_add(doctor, DOCTOR_OK, "numa", "all memory is on one node");
        return;
    }
    snprintf(path, sizeof path, "%s/proc/driver/nvidia/gpus", doctor->root);
    DIR *folder = opendir(path);
    unsigned cards = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        uint64_t node;
        if (entry->d_name[0] == '.')
            continue;
        cards++;
        /* -1, not known, is no number here. */
        if (doctor_number(doctor, &node, "/sys/bus/pci/devices/%.64s/numa_node", entry->d_name) ==
                0 &&
            node < NODES_MAX)
            check_near(doctor, entry->d_name, (unsigned)node, gpu_pid);
        else
            doctor_add(doctor, DOCTOR_OK, "numa", "the node of %.64s is not known", entry->d_name);
    }
    if (folder)
        closedir(folder);
    if (cards == 0)
        doctor_add(doctor, DOCTOR_OK, "numa", "memory is on %u nodes, and there is no card", nodes);
}
