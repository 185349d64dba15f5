/* cuzkctl doctor: asks the sides of the host in turn (client/doctor) and prints what they found.
 * Works with and without a daemon. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/ctl.h"
#include "client/doctor/doctor.h"

enum {
    PATIENCE_MS = 5000, /* a stopped daemon is a finding, not a wait */
};

static void check_config(struct doctor *doctor, const char *path, struct config *config)
{
    struct config_fault fault;
    const bool is_given = path != NULL;
    const bool is_absent = !is_given && access(CONFIG_PATH_DEFAULT, F_OK) < 0 && errno == ENOENT;
    int r = is_given ? config_load(path, config, &fault)
                     : config_load_optional(CONFIG_PATH_DEFAULT, config, &fault);
    if (r < 0) {
        doctor_add(doctor, DOCTOR_FAIL, "config", "%s", fault.text);
        doctor_means(doctor, "cuzkd refuses to start, or goes on with its earlier configuration at "
                             "a reload; what follows is judged without one");
        doctor_change(doctor, "that line; cuzkd --check-config says the same");
        return;
    }
    doctor->config = config;
    if (is_absent)
        doctor_add(doctor, DOCTOR_OK, "config",
                   CONFIG_PATH_DEFAULT
                   " is not there: defaults and what its drop-ins say (--config FILE names "
                   "another)");
    else
        doctor_add(doctor, DOCTOR_OK, "config", "%s is well-formed",
                   is_given ? path : CONFIG_PATH_DEFAULT);
}

static void explain_socket(struct doctor *doctor, bool is_admin, const struct cuzk_error *error)
{
    const bool is_silent = error->code == CUZK_TIMEOUT;
    doctor_add(doctor, is_silent ? DOCTOR_FAIL : DOCTOR_WARN, "sockets", "%s: %s",
               is_admin ? "admin" : "submit", error->message);
    if (is_silent)
        doctor_change(doctor, "systemctl restart cuzkd, after a look at its log");
    else if (is_admin)
        doctor_means(doctor, "this user can submit jobs and cannot operate the service");
}

/* The daemon is the parent of its workers, which it names. */
static void take_pid(struct doctor *doctor, pid_t worker)
{
    char *text = doctor_read(doctor, "/proc/%d/status", (int)worker);
    const char *line = text ? strstr(text, "\nPPid:") : NULL;
    const pid_t parent = line ? (pid_t)strtol(line + 6, NULL, 10) : 0;
    free(text);
    if (parent <= 1)
        return;
    doctor->pid = parent;
    doctor->is_running = true;
}

/* Who answers, and what it says of itself. False when nobody does. */
static bool ask(struct ctl *ctl, struct doctor *doctor, bool is_admin, pid_t *ret_gpu_pid)
{
    struct cuzk_error error = {0};
    struct cuzk *cuzk;
    char *text = NULL;
    int r = is_admin ? cuzk_open_admin(ctl->socket, &cuzk, &error)
                     : cuzk_open(ctl->socket, &cuzk, &error);
    if (r == CUZK_OK) {
        cuzk_set_patience(cuzk, PATIENCE_MS);
        r = cuzk_status(cuzk, &text, &error);
        cuzk_close(cuzk);
    }
    json_t *status = r == CUZK_OK ? json_loads(text, 0, NULL) : NULL;
    cuzk_free(text);
    if (!status) {
        explain_socket(doctor, is_admin, &error);
        return false;
    }
    const json_t *flags = json_object_get(status, "flags");
    const size_t count = json_array_size(flags);
    doctor_add(doctor, DOCTOR_OK, "sockets", "%s: cuzkd %s answers, %s",
               is_admin ? "admin" : "submit", json_string_value(json_object_get(status, "version")),
               json_string_value(json_object_get(status, "phase")));
    for (size_t i = 0; !is_admin && i < count; i++) {
        doctor_add(doctor, DOCTOR_WARN, "flags", "status shows %s",
                   json_string_value(json_array_get(flags, i)));
        doctor_means(doctor, "cuzkctl status and the log say more");
    }
    json_t *worker;
    size_t index;
    json_array_foreach(json_object_get(status, "workers"), index, worker)
    {
        const char *kind = json_string_value(json_object_get(worker, "kind"));
        const pid_t pid = (pid_t)json_integer_value(json_object_get(worker, "pid"));
        if (pid > 0 && !doctor->is_running)
            take_pid(doctor, pid);
        if (kind && strcmp(kind, "gpu") == 0)
            *ret_gpu_pid = pid;
    }
    json_decref(status);
    return true;
}

static json_t *to_json(const struct doctor *doctor)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < doctor->count; i++) {
        const struct doctor_finding *finding = &doctor->findings[i];
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:s?, s:s?}", "check", finding->check, "level",
                            doctor_level_to_string(finding->level), "found", finding->found,
                            "means", finding->means[0] ? finding->means : NULL, "change",
                            finding->change[0] ? finding->change : NULL));
    }
    return json_pack("{s:s, s:o}", "worst", doctor_level_to_string(doctor_worst(doctor)),
                     "findings", list);
}

static void print(const struct doctor *doctor)
{
    unsigned counts[DOCTOR_FAIL + 1] = {0};
    for (unsigned i = 0; i < doctor->count; i++) {
        const struct doctor_finding *finding = &doctor->findings[i];
        counts[finding->level]++;
        printf("%-4s  %-10s %s\n", doctor_level_to_string(finding->level), finding->check,
               finding->found);
        if (finding->means[0])
            printf("                 %s\n", finding->means);
        if (finding->change[0])
            printf("                 change: %s\n", finding->change);
    }
    printf("%u ok, %u warn, %u fail\n", counts[DOCTOR_OK], counts[DOCTOR_WARN],
           counts[DOCTOR_FAIL]);
}

int ctl_doctor(struct ctl *ctl)
{
    struct doctor *doctor = calloc(1, sizeof *doctor);
    struct config config = {0};
    pid_t gpu_pid = 0;
    if (!doctor)
        return ctl_failf(ctl, CUZK_NO_MEMORY, "out of memory");
    doctor->root = "";
    check_config(doctor, ctl_value(ctl, "config"), &config);
    /* Whoever gives no socket means the one of the configuration. */
    if (!ctl->socket && !getenv("CUZK_SOCKET") && doctor->config)
        ctl->socket = doctor->config->socket_path;
    doctor->pid = getpid();
    if (ask(ctl, doctor, false, &gpu_pid))
        ask(ctl, doctor, true, &gpu_pid);
    doctor_hugepages(doctor);
    doctor_cgroups(doctor);
    doctor_memlock(doctor);
    doctor_swap(doctor);
    doctor_disk(doctor);
    doctor_limits(doctor);
    doctor_io_uring(doctor);
    doctor_sandbox(doctor);
    doctor_driver(doctor);
    doctor_nodes(doctor);
    doctor_numa(doctor, gpu_pid);
    const int code = doctor_worst(doctor) == DOCTOR_FAIL ? CTL_FAILED : CTL_OK;
    int printed = CTL_OK;
    if (ctl->is_json)
        printed = ctl_print_json(ctl, to_json(doctor));
    else
        print(doctor);
    config_destroy(&config);
    free(doctor);
    return printed != CTL_OK ? printed : code;
}
