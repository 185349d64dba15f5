/* The checks of cuzkctl doctor on made-up /proc and /sys trees. */
#include "client/doctor/doctor.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/files.h"
#include "tests/test.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

enum {
    PID = 77,
};

static char root[64];
static struct config config;
static struct doctor doctor;

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status;
    (void)type;
    (void)at;
    return remove(path);
}

/* A file of the tree. */
static void put(const char *path, const char *text)
{
    char full[PATH_BYTES_MAX];
    snprintf(full, sizeof full, "%s%s", root, path);
    ASSERT_INT(files_make_parents(full, 0755), 0);
    int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ASSERT(fd >= 0);
    ASSERT_INT(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void put_pool(const char *size, const char *total, const char *free, const char *reserved)
{
    const char *const files[] = {"nr_hugepages", "free_hugepages", "resv_hugepages"};
    const char *const texts[] = {total, free, reserved};
    for (int i = 0; i < 3; i++) {
        char path[128];
        snprintf(path, sizeof path, "/sys/kernel/mm/hugepages/hugepages-%s/%s", size, files[i]);
        put(path, texts[i]);
    }
}

/* An empty tree and the usual configuration: 4 slabs of 256M on 2M pages, a card. */
static void begin(void)
{
    if (root[0])
        nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    snprintf(root, sizeof root, "/tmp/cuzk-doctor-XXXXXX");
    ASSERT(mkdtemp(root));
    config = (struct config){
        .state_directory = (char *)"/var/lib/cuzkd",
        .spool_directory = (char *)"/var/lib/cuzkd/spool",
        .cache_directory = (char *)"/var/cache/cuzkd",
        .huge_pages = CONFIG_HUGE_PAGES_REQUIRE,
        .huge_page_bytes = 2 * MIB,
        .rings = {{.name = "default", .slab_count = 4, .slab_bytes = 256 * MIB}},
        .ring_count = 1,
        .gpu_backend = CONFIG_GPU_BACKEND_CUDA,
    };
    memset(&doctor, 0, sizeof doctor);
    doctor.root = root;
    doctor.config = &config;
    doctor.pid = PID;
}

static const struct doctor_finding *last(void)
{
    ASSERT(doctor.count > 0);
    return &doctor.findings[doctor.count - 1];
}

static void expect(enum doctor_level level, const char *words)
{
    const struct doctor_finding *finding = last();
    if (finding->level != level || !strstr(finding->found, words))
        fprintf(stderr, "%s: %s\n", doctor_level_to_string(finding->level), finding->found);
    ASSERT_STR(doctor_level_to_string(finding->level), doctor_level_to_string(level));
    ASSERT(strstr(finding->found, words));
    ASSERT_INT(finding->means[0] != '\0', level != DOCTOR_OK);
    ASSERT_INT(finding->change[0] != '\0', level != DOCTOR_OK);
}

static void expect_change(const char *words)
{
    if (!strstr(last()->change, words))
        fprintf(stderr, "change: %s\n", last()->change);
    ASSERT(strstr(last()->change, words));
}

TEST(hugepages_that_are_short_fail_with_the_number_to_set)
{
    begin();
    put_pool("2048kB", "600\n", "512\n", "1\n");
    doctor_hugepages(&doctor);
    expect(DOCTOR_FAIL, "600 pages of 2M, 512 free, 1 of these reserved; wanted: 512 for slabs");
    expect_change("vm.nr_hugepages=601");
    config.huge_pages = CONFIG_HUGE_PAGES_PREFER;
    doctor_hugepages(&doctor);
    expect(DOCTOR_WARN, "wanted: 512");
}

TEST(hugepages_that_suffice_are_ok)
{
    begin();
    put_pool("2048kB", "512\n", "512\n", "0\n");
    doctor_hugepages(&doctor);
    expect(DOCTOR_OK, "512 free");
    ASSERT_INT(doctor.count, 1);
}

TEST(a_daemon_that_runs_has_its_hugepages)
{
    begin();
    put_pool("2048kB", "512\n", "0\n", "0\n");
    doctor_hugepages(&doctor);
    expect(DOCTOR_FAIL, "0 free");
    doctor.is_running = true;
    doctor_hugepages(&doctor);
    expect(DOCTOR_OK, "0 free");
}

TEST(prepared_keys_want_pages_too)
{
    begin();
    put_pool("2048kB", "512\n", "512\n", "0\n");
    put("/var/cache/cuzkd/keys/abc", "");
    char path[128];
    snprintf(path, sizeof path, "%s/var/cache/cuzkd/keys/abc", root);
    ASSERT_INT(truncate(path, 5 * 1000 * 1000), 0);
    doctor_hugepages(&doctor);
    expect(DOCTOR_WARN, "512 for slabs, 3 for prepared keys");
    expect_change("vm.nr_hugepages=515");
    ASSERT(strstr(last()->means, "fails its jobs"));
}

TEST(pages_of_1g_are_set_at_boot)
{
    begin();
    config.huge_page_bytes = GIB;
    config.rings[0].slab_bytes = GIB;
    put_pool("1048576kB", "1\n", "1\n", "0\n");
    doctor_hugepages(&doctor);
    expect(DOCTOR_FAIL, "1 pages of 1G");
    expect_change("hugepagesz=1G hugepages=4");
    begin();
    config.huge_page_bytes = GIB;
    doctor_hugepages(&doctor);
    expect(DOCTOR_FAIL, "no hugepages of 1G");
    expect_change("HugePageSize=2M");
}

TEST(a_cgroup_limit_on_hugepages_is_found_in_version_2_and_1)
{
    begin();
    put_pool("2048kB", "512\n", "512\n", "0\n");
    put("/proc/77/cgroup", "0::/system.slice/cuzkd.service\n");
    put("/sys/fs/cgroup/system.slice/cuzkd.service/hugetlb.2MB.max", "max\n");
    put("/sys/fs/cgroup/system.slice/hugetlb.2MB.max", "536870912\n");
    doctor_hugepages(&doctor);
    expect(DOCTOR_FAIL, "limits them to 512M (/sys/fs/cgroup/system.slice/hugetlb.2MB.max)");
    begin();
    put_pool("2048kB", "512\n", "512\n", "0\n");
    put("/proc/77/cgroup", "5:hugetlb:/box\n4:cpu,cpuacct:/box\n0::/\n");
    put("/sys/fs/cgroup/hugetlb/box/hugetlb.2MB.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/hugetlb/hugetlb.2MB.limit_in_bytes", "1073741824\n");
    doctor_hugepages(&doctor);
    expect(DOCTOR_OK, "limits them to 1G (/sys/fs/cgroup/hugetlb/hugetlb.2MB.limit_in_bytes)");
}

TEST(ordinary_pages_are_fine_without_a_card)
{
    begin();
    config.huge_pages = CONFIG_HUGE_PAGES_OFF;
    doctor_hugepages(&doctor);
    expect(DOCTOR_WARN, "HugePages=off");
    config.gpu_backend = CONFIG_GPU_BACKEND_CPU;
    doctor_hugepages(&doctor);
    expect(DOCTOR_OK, "HugePages=off");
}

TEST(memory_is_what_the_lowest_cgroup_leaves)
{
    begin();
    put("/proc/meminfo", "MemTotal:       16777216 kB\n");
    put("/proc/77/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/memory.max", "8589934592\n");
    put("/sys/fs/cgroup/a/memory.max", "536870912\n");
    doctor_cgroups(&doctor);
    ASSERT_STR(doctor.findings[0].check, "memory");
    ASSERT_INT(doctor.findings[0].level, DOCTOR_FAIL);
    ASSERT(strstr(doctor.findings[0].found, "512M (/sys/fs/cgroup/a/memory.max)"));
    ASSERT(strstr(doctor.findings[0].change, "MemoryMax="));
    begin();
    put("/proc/meminfo", "MemTotal:       16777216 kB\n");
    put("/proc/77/cgroup", "3:memory:/box\n");
    put("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "4294967296\n");
    doctor_cgroups(&doctor);
    ASSERT_INT(doctor.findings[0].level, DOCTOR_OK);
    ASSERT(strstr(doctor.findings[0].found, "may use 4G"));
    begin();
    put("/proc/meminfo", "MemTotal:       16777216 kB\n");
    doctor_cgroups(&doctor);
    ASSERT_INT(doctor.findings[0].level, DOCTOR_OK);
    ASSERT(strstr(doctor.findings[0].found, "the host has 16G, and no cgroup"));
}

TEST(a_quota_of_processor_time_is_found_in_version_2_and_1)
{
    begin();
    put("/proc/77/cgroup", "0::/a\n");
    put("/sys/fs/cgroup/a/cpu.max", "50000 100000\n");
    doctor_cgroups(&doctor);
    expect(DOCTOR_WARN, "a quota of 0.5 of them (/sys/fs/cgroup/a/cpu.max)");
    expect_change("Threads=1");
    begin();
    put("/proc/77/cgroup", "4:cpu,cpuacct:/a\n");
    put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "50000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    doctor_cgroups(&doctor);
    expect(DOCTOR_WARN, "a quota of 0.5");
    begin();
    put("/proc/77/cgroup", "0::/a\n4:cpu,cpuacct:/a\n");
    put("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    doctor_cgroups(&doctor);
    expect(DOCTOR_OK, "without a quota");
}

static const char limits[] =
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max open files            1024                 2048                 files     \n"
    "Max locked memory         65536                8388608              bytes     \n";

TEST(locked_memory_counts_where_slabs_lie_on_ordinary_pages)
{
    begin();
    put("/proc/77/limits", limits);
    doctor_memlock(&doctor);
    expect(DOCTOR_OK, "is 8M");
    config.huge_pages = CONFIG_HUGE_PAGES_OFF;
    doctor.is_running = true;
    doctor_memlock(&doctor);
    expect(DOCTOR_WARN, "is 8M");
    expect_change("LimitMEMLOCK=infinity");
    put("/proc/77/status", "Name:\tcuzkd\nCapEff:\t0000000000004000\n");
    doctor_memlock(&doctor);
    expect(DOCTOR_OK, "CAP_IPC_LOCK");
}

TEST(open_files_and_tasks_of_the_daemon_are_judged)
{
    begin();
    put("/proc/77/limits", limits);
    doctor_limits(&doctor);
    ASSERT_INT(doctor.count, 0); /* it does not run */
    doctor.is_running = true;
    put("/proc/77/cgroup", "0::/system.slice/cuzkd.service\n");
    put("/sys/fs/cgroup/system.slice/cuzkd.service/pids.max", "40\n");
    doctor_limits(&doctor);
    ASSERT_INT(doctor.count, 2);
    ASSERT(strstr(doctor.findings[0].found, "2048 files"));
    ASSERT(strstr(doctor.findings[0].change, "LimitNOFILE="));
    expect(DOCTOR_WARN, "40 tasks");
}

TEST(swap_is_a_warning_unless_the_service_may_not_use_it)
{
    begin();
    put("/proc/swaps", "Filename\t\t\t\tType\n");
    doctor_swap(&doctor);
    expect(DOCTOR_OK, "there is none");
    put("/proc/swaps", "Filename\t\t\t\tType\n/dev/sda2 partition 1 0 -2\n");
    doctor_swap(&doctor);
    expect(DOCTOR_WARN, "there is swap");
    put("/proc/77/cgroup", "0::/x\n");
    put("/sys/fs/cgroup/x/memory.swap.max", "0\n");
    doctor.is_running = true;
    doctor_swap(&doctor);
    expect(DOCTOR_OK, "may not use it");
}

static const char module_text[] =
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Wed Nov  5 2025\n"
    "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n";

TEST(driver_and_library_must_be_of_one_version)
{
    begin();
    doctor_driver(&doctor);
    expect(DOCTOR_FAIL, "not loaded");
    expect_change("nvidia-driver");
    put("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "");
    put("/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04", "");
    doctor_driver(&doctor);
    expect(DOCTOR_FAIL, "not loaded");
    expect_change("modprobe nvidia");
    put("/proc/driver/nvidia/version", module_text);
    doctor_driver(&doctor);
    expect(DOCTOR_OK, "are 580.159.04");
    put("/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.1.2  Release Build\n");
    doctor_driver(&doctor);
    expect(DOCTOR_FAIL, "kernel module 570.1.2, library 580.159.04 (/usr/lib/x86_64-linux-gnu/");
    expect_change("rmmod");
}

TEST(a_missing_driver_matters_as_much_as_the_backend_says)
{
    begin();
    config.gpu_backend = CONFIG_GPU_BACKEND_AUTO;
    doctor_driver(&doctor);
    expect(DOCTOR_WARN, "not loaded");
    config.gpu_backend = CONFIG_GPU_BACKEND_CPU;
    doctor_driver(&doctor);
    expect(DOCTOR_OK, "Backend=cpu needs none");
    put("/proc/driver/nvidia/version", module_text);
    config.gpu_backend = CONFIG_GPU_BACKEND_CUDA;
    doctor_driver(&doctor);
    expect(DOCTOR_FAIL, "libcuda.so is not where libraries are");
}

TEST(device_nodes_that_are_missing_are_named)
{
    begin();
    put("/proc/driver/nvidia/version", module_text);
    put("/dev/nvidiactl", "");
    put("/dev/nvidia0", "");
    doctor_nodes(&doctor);
    ASSERT_INT(doctor.count, 1);
    expect(DOCTOR_FAIL, "/dev/nvidia-uvm is missing");
    expect_change("nvidia-modprobe -c 0 -u");
    put("/dev/nvidia-uvm", "");
    doctor_nodes(&doctor);
    expect(DOCTOR_OK, "are there");
}

static void put_two_nodes(void)
{
    put("/sys/devices/system/node/node0/meminfo", "");
    put("/sys/devices/system/node/node1/meminfo", "");
    put("/sys/bus/pci/devices/0000:c1:00.0/numa_node", "1\n");
    put("/proc/driver/nvidia/gpus/0000:c1:00.0/information", "");
}

TEST(slabs_far_from_the_card_are_found)
{
    begin();
    doctor_numa(&doctor, 0);
    expect(DOCTOR_OK, "one node");
    put_two_nodes();
    put("/proc/99/numa_maps",
        "7f00 default file=/memfd:cuzkd-slab-default-0\\040(deleted) huge N0=100 N1=28 "
        "kernelpagesize_kB=2048\n"
        "7f10 default file=/memfd:cuzkd-key-x\\040(deleted) huge N0=9 kernelpagesize_kB=2048\n"
        "7f20 default heap anon=3 N0=3\n");
    doctor_numa(&doctor, 99);
    expect(DOCTOR_WARN, "0000:c1:00.0 is on node 1, and 28 of 128 pages of slabs are");
    expect_change("NUMAMask=1");
    put("/proc/99/numa_maps", "7f00 default file=/memfd:cuzkd-slab-default-0 huge N1=128\n");
    doctor_numa(&doctor, 99);
    expect(DOCTOR_OK, "128 of 128");
}

TEST(hugepages_of_the_cards_node_are_counted_before_the_start)
{
    begin();
    put_two_nodes();
    put("/sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages", "20\n");
    doctor_numa(&doctor, 0);
    expect(DOCTOR_WARN, "node 1, which has 20 hugepages free; slabs take 512");
    put("/sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages", "512\n");
    doctor_numa(&doctor, 0);
    expect(DOCTOR_OK, "512 hugepages free");
    put("/sys/bus/pci/devices/0000:c1:00.0/numa_node", "-1\n");
    doctor_numa(&doctor, 0);
    expect(DOCTOR_OK, "not known");
}

TEST(disks_are_measured_at_the_nearest_folder_that_is_there)
{
    begin();
    doctor_disk(&doctor);
    ASSERT_INT(doctor.count, 3);
    ASSERT(strstr(doctor.findings[0].found, "state folder /var/lib/cuzkd"));
    ASSERT(strstr(doctor.findings[1].found, "spool folder /var/lib/cuzkd/spool"));
    ASSERT(strstr(doctor.findings[2].found, "cache folder /var/cache/cuzkd"));
}

TEST(nothing_overflows_the_report)
{
    begin();
    for (int i = 0; i < 2 * DOCTOR_FINDINGS_MAX; i++)
        doctor_add(&doctor, i == 0 ? DOCTOR_FAIL : DOCTOR_OK, "x", "%d", i);
    ASSERT_INT(doctor.count, DOCTOR_FINDINGS_MAX);
    ASSERT_INT(doctor_worst(&doctor), DOCTOR_FAIL);
}

TEST(without_a_configuration_what_can_be_judged_is)
{
    begin();
    doctor.config = NULL;
    put_pool("2048kB", "5\n", "5\n", "0\n");
    put("/proc/77/limits", limits);
    put("/proc/driver/nvidia/version", module_text);
    doctor_hugepages(&doctor);
    doctor_cgroups(&doctor);
    doctor_memlock(&doctor);
    doctor_swap(&doctor);
    doctor_disk(&doctor);
    doctor_limits(&doctor);
    doctor_driver(&doctor);
    doctor_nodes(&doctor);
    put_two_nodes();
    doctor_numa(&doctor, 0);
    ASSERT(doctor.count > 5);
}

int main(void)
{
    static const struct test_case cases[] = {
        CASE(hugepages_that_are_short_fail_with_the_number_to_set),
        CASE(hugepages_that_suffice_are_ok),
        CASE(a_daemon_that_runs_has_its_hugepages),
        CASE(prepared_keys_want_pages_too),
        CASE(pages_of_1g_are_set_at_boot),
        CASE(a_cgroup_limit_on_hugepages_is_found_in_version_2_and_1),
        CASE(ordinary_pages_are_fine_without_a_card),
        CASE(memory_is_what_the_lowest_cgroup_leaves),
        CASE(a_quota_of_processor_time_is_found_in_version_2_and_1),
        CASE(locked_memory_counts_where_slabs_lie_on_ordinary_pages),
        CASE(open_files_and_tasks_of_the_daemon_are_judged),
        CASE(swap_is_a_warning_unless_the_service_may_not_use_it),
        CASE(driver_and_library_must_be_of_one_version),
        CASE(a_missing_driver_matters_as_much_as_the_backend_says),
        CASE(device_nodes_that_are_missing_are_named),
        CASE(slabs_far_from_the_card_are_found),
        CASE(hugepages_of_the_cards_node_are_counted_before_the_start),
        CASE(disks_are_measured_at_the_nearest_folder_that_is_there),
        CASE(nothing_overflows_the_report),
        CASE(without_a_configuration_what_can_be_judged_is),
    };
    int failed = test_main(cases, (int)(sizeof cases / sizeof cases[0]));
    if (root[0])
        nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return failed;
}
