/* The report, and files below the root: see doctor.h. */
#include "client/doctor/doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/units.h"
#include "runtime/files.h"

enum {
    FILE_BYTES_MAX = 8 << 20, /* numa_maps of a large process */
};

const char *doctor_level_to_string(enum doctor_level level)
{
    static const char *const names[] = {"ok", "warn", "fail"};
    return (unsigned)level <= DOCTOR_FAIL ? names[level] : "?";
}

enum doctor_level doctor_worst(const struct doctor *doctor)
{
    enum doctor_level worst = DOCTOR_OK;
    for (unsigned i = 0; i < doctor->count; i++)
        worst = doctor->findings[i].level > worst ? doctor->findings[i].level : worst;
    return worst;
}

void doctor_add(struct doctor *doctor, enum doctor_level level, const char *check,
                const char *format, ...)
{
    va_list arguments;
    if (doctor->count < DOCTOR_FINDINGS_MAX)
        doctor->count++;
    struct doctor_finding *finding = &doctor->findings[doctor->count - 1];
    *finding = (struct doctor_finding){.level = level, .check = check};
    va_start(arguments, format);
    vsnprintf(finding->found, sizeof finding->found, format, arguments);
    va_end(arguments);
}

void doctor_means(struct doctor *doctor, const char *format, ...)
{
    struct doctor_finding *finding = &doctor->findings[doctor->count - 1];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->means, sizeof finding->means, format, arguments);
    va_end(arguments);
}

void doctor_change(struct doctor *doctor, const char *format, ...)
{
    struct doctor_finding *finding = &doctor->findings[doctor->count - 1];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->change, sizeof finding->change, format, arguments);
    va_end(arguments);
}

const char *doctor_size(uint64_t bytes, char *ret)
{
    if (bytes >> 30 && bytes & ((UINT64_C(1) << 30) - 1))
        snprintf(ret, UNITS_TEXT_BYTES, "%.1fG", (double)bytes / (1 << 30));
    else if (bytes >> 20 && bytes & ((UINT64_C(1) << 20) - 1))
        snprintf(ret, UNITS_TEXT_BYTES, "%.1fM", (double)bytes / (1 << 20));
    else
        units_print_size(bytes, ret);
    return ret;
}

static void make_path(const struct doctor *doctor, const char *format, va_list arguments,
                      char ret[PATH_BYTES_MAX])
{
    const int used = snprintf(ret, PATH_BYTES_MAX, "%s", doctor->root);
    if (used >= 0 && used < PATH_BYTES_MAX)
        vsnprintf(ret + used, (size_t)(PATH_BYTES_MAX - used), format, arguments);
}

char *doctor_read(const struct doctor *doctor, const char *format, ...)
{
    char path[PATH_BYTES_MAX], *text;
    size_t bytes;
    va_list arguments;
    va_start(arguments, format);
    make_path(doctor, format, arguments, path);
    va_end(arguments);
    return files_read(path, FILE_BYTES_MAX, &text, &bytes) == 0 ? text : NULL;
}

int doctor_number(const struct doctor *doctor, uint64_t *ret, const char *format, ...)
{
    char path[PATH_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    make_path(doctor, format, arguments, path);
    va_end(arguments);
    return files_read_number(path, ret);
}

bool doctor_exists(const struct doctor *doctor, const char *format, ...)
{
    char path[PATH_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    make_path(doctor, format, arguments, path);
    va_end(arguments);
    return access(path, F_OK) == 0;
}

/* A line of /proc/PID/limits: "NAME  SOFT  HARD  UNITS". */
bool doctor_process_limit(const struct doctor *doctor, const char *name, uint64_t *ret)
{
    char *text = doctor_read(doctor, "/proc/%d/limits", (int)doctor->pid);
    const char *line = text ? strstr(text, name) : NULL;
    char soft[32], hard[32];
    const bool is_there = line && sscanf(line + strlen(name), "%31s %31s", soft, hard) == 2;
    if (is_there)
        *ret = strcmp(hard, "unlimited") == 0 ? UINT64_MAX : strtoull(hard, NULL, 10);
    free(text);
    return is_there;
}
