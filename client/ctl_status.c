/* cuzkctl status, workers. */
#include <stdio.h>
#include <string.h>

#include "client/ctl.h"
#include "config/units.h"

static const char *text_of(const json_t *map, const char *key)
{
    const char *text = json_string_value(json_object_get(map, key));
    return text ? text : "-";
}

static long long number_of(const json_t *map, const char *key)
{
    return (long long)json_integer_value(json_object_get(map, key));
}

static const char *size_of(const json_t *map, const char *key, char buffer[UNITS_TEXT_BYTES])
{
    return units_print_size((uint64_t)number_of(map, key), buffer);
}

/* Sizes of processes are not round: one digit after the point. */
static void size_cell(struct ctl_table *table, const json_t *map, const char *key)
{
    const json_t *value = json_object_get(map, key);
    if (json_is_integer(value))
        ctl_table_cell(table, "%.1f", (double)json_integer_value(value) / (1 << 20));
    else
        ctl_table_cell(table, "-");
}

static void print_workers(const json_t *workers)
{
    static const char *const headings[] = {
        "WORKER", "PID",  "STATE",    "JOB",     "PART",     "STAGE",    "AGE s",
        "HELD",   "DONE", "RESTARTS", "PSS MiB", "HEAP MiB", "FREE MiB", "LAST ERROR"};
    struct ctl_table *table = ctl_table_new(headings, 14);

    for (size_t i = 0; i < json_array_size(workers); i++) {
        const json_t *worker = json_array_get(workers, i);
        const json_t *age = json_object_get(worker, "age_ms");
        ctl_table_json(table, worker, "name");
        ctl_table_json(table, worker, "pid");
        ctl_table_json(table, worker, "state");
        ctl_table_json(table, worker, "job");
        ctl_table_json(table, worker, "partition");
        ctl_table_json(table, worker, "stage");
        if (json_is_number(age))
            ctl_table_cell(table, "%.1f", json_number_value(age) / 1e3);
        else
            ctl_table_cell(table, "-");
        ctl_table_json(table, worker, "held");
        ctl_table_json(table, worker, "partitions_done");
        ctl_table_json(table, worker, "restarts");
        size_cell(table, worker, "pss_bytes");
        size_cell(table, worker, "heap_bytes");
        size_cell(table, worker, "heap_free_bytes");
        ctl_table_json(table, worker, "last_error");
    }
    ctl_table_print(table, stdout);
}

static void print_rings(const json_t *rings)
{
    static const char *const headings[] = {"RING", "SLABS", "SIZE", "HELD",
                                           "HEAD", "TAIL",  "SPENT"};
    struct ctl_table *table = ctl_table_new(headings, 7);
    char buffer[UNITS_TEXT_BYTES];

    for (size_t i = 0; i < json_array_size(rings); i++) {
        const json_t *ring = json_array_get(rings, i);
        ctl_table_json(table, ring, "name");
        ctl_table_json(table, ring, "slabs");
        ctl_table_cell(table, "%s", size_of(ring, "slab_bytes", buffer));
        ctl_table_json(table, ring, "occupancy");
        ctl_table_json(table, ring, "head");
        ctl_table_json(table, ring, "tail");
        ctl_table_json(table, ring, "tickets_spent");
    }
    ctl_table_print(table, stdout);
    for (size_t i = 0; i < json_array_size(rings); i++) {
        const json_t *ring = json_array_get(rings, i);
        const long long slabs = number_of(ring, "slabs"), wanted = number_of(ring, "wanted");
        if (wanted == 0)
            printf("ring %s with slabs of %s goes as its partitions end\n", text_of(ring, "name"),
                   size_of(ring, "slab_bytes", buffer));
        else if (json_object_get(ring, "waits_for"))
            printf("ring %s: %lld of %lld slabs, waiting for memory: %s\n", text_of(ring, "name"),
                   slabs, wanted, text_of(ring, "waits_for"));
        else if (slabs != wanted || number_of(ring, "retiring") > 0)
            printf("ring %s: %lld of %lld slabs, changing\n", text_of(ring, "name"), slabs, wanted);
    }
}

static void print_gpu(const json_t *gpu)
{
    const long long unpinned = number_of(gpu, "unpinned_bytes");

    printf("gpu %lld: %s, %s", number_of(gpu, "index"), text_of(gpu, "backend"),
           text_of(gpu, "device"));
    if (number_of(gpu, "memory_bytes") > 0)
        printf(" (%s, %.0f GiB)", text_of(gpu, "uuid"),
               (double)number_of(gpu, "memory_bytes") / (1 << 30));
    printf(", busy %.1f %%, %lld keys", 100 * json_number_value(json_object_get(gpu, "busy_share")),
           number_of(gpu, "keys"));
    if (number_of(gpu, "pinned_bytes") > 0 || unpinned > 0)
        printf(", %.1f GiB pinned (%lld slabs)", (double)number_of(gpu, "pinned_bytes") / (1 << 30),
               number_of(gpu, "slabs_pinned"));
    if (unpinned > 0)
        printf(", %.1f GiB NOT PINNED (%lld slabs): uploads are several times slower",
               (double)unpinned / (1 << 30), number_of(gpu, "slabs_unpinned"));
    printf("\n");
}

static void print_status(const json_t *status)
{
    const json_t *pages = json_object_get(status, "hugepages");
    const json_t *jobs = json_object_get(status, "jobs");
    const json_t *slots = json_object_get(status, "slots");
    const json_t *gpus = json_object_get(status, "gpu");
    const json_t *flags = json_object_get(status, "flags");
    const json_t *spool = json_object_get(status, "spool");
    const json_t *journal = json_object_get(status, "journal");
    char buffer[UNITS_TEXT_BYTES];

    printf("cuzkd %s, %s, up %.0f s, event loop %s\n", text_of(status, "version"),
           text_of(status, "phase"), json_number_value(json_object_get(status, "uptime_ms")) / 1e3,
           text_of(status, "event_loop"));
    printf("%s\n", text_of(status, "doing"));
    printf("flags:");
    for (size_t i = 0; i < json_array_size(flags); i++)
        printf(" %s", json_string_value(json_array_get(flags, i)));
    printf("%s\n", json_array_size(flags) == 0 ? " none" : "");
    printf("pages: %s of %s (HugePages=%s), %s\n",
           json_is_true(json_object_get(pages, "is_hugepage")) ? "hugepages" : "ordinary pages",
           size_of(pages, "page_bytes", buffer), text_of(pages, "policy"),
           json_is_true(json_object_get(pages, "mlocked")) ? "locked" : "not locked");
    printf("jobs: %lld queued, %lld running, %lld done, %lld failed, %lld cancelled\n",
           number_of(jobs, "queued"), number_of(jobs, "running"), number_of(jobs, "done"),
           number_of(jobs, "failed"), number_of(jobs, "cancelled"));
    printf("slots: %lld of %lld free\n", number_of(slots, "free"), number_of(slots, "total"));
    printf("journal: %s", text_of(journal, "state"));
    if (json_object_get(journal, "kept")) { /* it is open */
        printf(", %lld results kept (%s)", number_of(journal, "kept"),
               size_of(journal, "kept_bytes", buffer));
        printf(", file of %s", size_of(journal, "file_bytes", buffer));
    }
    printf("\n");
    printf("spool: %lld files, %s", number_of(spool, "files"), size_of(spool, "bytes", buffer));
    printf("; %s free, %lld copying, %lld waiting%s\n", size_of(spool, "free_bytes", buffer),
           number_of(spool, "copying"), number_of(spool, "waiting"),
           json_is_true(json_object_get(spool, "is_full")) ? ", FULL" : "");
    for (size_t i = 0; i < json_array_size(gpus); i++) {
        const json_t *gpu = json_array_get(gpus, i);
        print_gpu(gpu);
    }
    printf("circuits: %zu\n\n", json_array_size(json_object_get(status, "circuits")));
    print_rings(json_object_get(status, "rings"));
    printf("\n");
    print_workers(json_object_get(status, "workers"));
}

int ctl_status(struct ctl *ctl)
{
    return ctl_show(ctl, cuzk_status, print_status);
}

static void print_workers_reply(const json_t *reply)
{
    print_workers(json_object_get(reply, "workers"));
}

int ctl_workers(struct ctl *ctl)
{
    return ctl_show(ctl, cuzk_workers, print_workers_reply);
}
