/* gpu-worker/cuda/device.c: which card is taken, what is refused and in which words; errors.c: what
 * ends a process. */
#include "gpu-worker/cuda/device.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu-worker/cuda/errors.h"
#include "tests/gpu-worker/stub/stub.h"
#include "tests/test.h"

static char text[BACKEND_TEXT_BYTES];

/* Opens, which must fail, and finds these words in the one line that says why. */
static void refused(const char *uuid, int error, const char *const *words)
{
    struct device device;
    memset(text, 0, sizeof text);
    ASSERT_INT(device_open(uuid, &device, text), error);
    for (; *words; words++) {
        if (!strstr(text, *words))
            fprintf(stderr, "\"%s\" lacks \"%s\"\n", text, *words);
        ASSERT(strstr(text, *words));
    }
    ASSERT(!strchr(text, '\n') && strlen(text) < BACKEND_TEXT_BYTES - 1);
}

#define REFUSED(uuid, error, ...) refused(uuid, error, (const char *const[]){__VA_ARGS__, NULL})

static void opens(const char *uuid, const char *name)
{
    struct device device;
    const int error = device_open(uuid, &device, text);
    if (error < 0)
        fprintf(stderr, "%s\n", text);
    ASSERT_INT(error, 0);
    ASSERT_STR(device.info.name, name);
    device_close(&device);
}

TEST(the_first_card_is_taken_where_none_is_named)
{
    stub_configure("devices=3");
    opens(NULL, "Stub GPU 0");
    opens("", "Stub GPU 0");
    stub_configure("devices=3;0.mode=prohibited;1.capability=8.6");
    opens(NULL, "Stub GPU 2");
}

TEST(a_card_is_found_by_its_uuid_or_the_begin_of_it)
{
    stub_configure("devices=3;0.uuid=GPU-aabb0001-1;1.uuid=GPU-aabb0002-1;2.uuid=GPU-aabb0002-12");
    opens("GPU-aabb0001", "Stub GPU 0");
    opens("gpu-AABB0001-1", "Stub GPU 0");
    opens("GPU-aabb0002-1", "Stub GPU 1"); /* exact, though another begins with it */
    REFUSED("GPU-aabb", -EEXIST, "GPU-aabb", "several", "GPU-aabb0001-1", "GPU-aabb0002-1",
            "Devices=");
    REFUSED("GPU-cc", -ENODEV, "GPU-cc", "GPU-aabb0001-1", "nvidia-smi -L", "Devices=");
}

TEST(a_machine_without_a_card_or_driver_says_so)
{
    stub_configure("devices=0");
    REFUSED(NULL, -ENODEV, "no NVIDIA GPU", "nvidia-smi -L");
    stub_configure("driver=0");
    REFUSED(NULL, -ENODEV, "no NVIDIA driver", "Backend=cpu");
    stub_configure("driver=12040;runtime=13000");
    REFUSED(NULL, -ENOTSUP, "too old", "12.4", "13.0", "install a newer driver");
    stub_configure("driver=13000;runtime=13010");
    opens(NULL, "Stub GPU 0"); /* minor versions go together */
    stub_configure("fail=device_count:1:999");
    REFUSED(NULL, -EIO, "looking for GPUs", "999");
}

TEST(compute_modes_are_told_and_not_changed)
{
    stub_configure("mode=prohibited");
    REFUSED(NULL, -EPERM, "Stub GPU 0", "GPU-", "Prohibited", "nvidia-smi -c DEFAULT");
    stub_configure("mode=exclusive;busy=1");
    REFUSED(NULL, -EBUSY, "Stub GPU 0", "Exclusive_Process", "another program", "nvidia-smi");
    stub_configure("mode=exclusive");
    opens(NULL, "Stub GPU 0");
    stub_configure("fail=open:1:46");
    REFUSED(NULL, -EBUSY, "Stub GPU 0", "busy or unavailable");
    stub_configure("fail=open:1:2");
    REFUSED(NULL, -ENOMEM, "starting CUDA", "cudaErrorMemoryAllocation", "short");
}

TEST(an_instance_of_a_split_card_is_a_device)
{
    stub_configure("name=NVIDIA H200 MIG 1g.18gb;uuid=MIG-1234");
    opens(NULL, "NVIDIA H200 MIG 1g.18gb");
    opens("MIG-1234", "NVIDIA H200 MIG 1g.18gb");
    REFUSED("GPU-5678", -ENODEV, "GPU-5678", "MIG-1234", "split by MIG");
}

TEST(a_card_without_machine_code_in_the_build_is_refused)
{
    stub_configure("capability=12.0;code=90,100");
    REFUSED(NULL, -ENOTSUP, "Stub GPU 0", "12.0", "90,100", "-Dsm_list=120");
    stub_configure("capability=8.0;code=86,90");
    REFUSED(NULL, -ENOTSUP, "8.0", "-Dsm_list=80");
    stub_configure("capability=8.9;code=90,86");
    opens(NULL, "Stub GPU 0");
    stub_configure("fail=check_code:1:209");
    REFUSED(NULL, -ENOTSUP, "no machine code", "-Dsm_list=90");
    stub_configure("fail=check_code:1:999");
    REFUSED(NULL, -EIO, "loading the kernels", "999");
}

/* A process of its own that opens the card and holds it until it is killed. */
static pid_t holder(const char *folder)
{
    int ready[2];
    char byte;
    ASSERT_INT(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        struct device device;
        char words[128];
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        snprintf(words, sizeof words, "devices=2;lock=%s", folder);
        stub_configure(words);
        if (device_open(NULL, &device, text) == 0 && write(ready[1], "", 1) == 1)
            pause();
        _exit(1);
    }
    close(ready[1]);
    ASSERT_INT(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

TEST(a_card_that_another_process_holds_is_refused_with_its_pid)
{
    char folder[] = "/tmp/cuzk-XXXXXX", words[128], process[32];
    ASSERT(mkdtemp(folder));
    const pid_t pid = holder(folder);
    snprintf(words, sizeof words, "devices=2;lock=%s", folder);
    snprintf(process, sizeof process, "process %d", (int)pid);
    stub_configure(words);
    REFUSED("GPU-000057b0", -EBUSY, "Stub GPU 0", "held by another GPU worker", process);
    opens(NULL, "Stub GPU 1"); /* none named: the free one */
    ASSERT_INT(stub_calls("open"), 1);
    kill(pid, SIGKILL);
    ASSERT_INT(waitpid(pid, NULL, 0), pid);
    opens("GPU-000057b0", "Stub GPU 0"); /* killed: the kernel let go */
    for (int i = 0; i < 2; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/gpu%d", folder, i);
        unlink(path);
    }
    rmdir(folder);
}

TEST(the_lock_is_held_until_close)
{
    struct device device;
    stub_configure("");
    ASSERT_INT(device_open(NULL, &device, text), 0);
    REFUSED(NULL, -EBUSY, "held by another GPU worker");
    device_close(&device);
    device_close(&device); /* twice is harmless */
    opens(NULL, "Stub GPU 0");
    stub_configure("lock=/nonexistent");
    REFUSED(NULL, -ENOENT, "cannot be locked", "/nonexistent", "No such file");
}

TEST(errors_that_end_a_process_are_told_from_others)
{
    static const int sticky[] = {214, 220, 226, 700, 702, 709, 710, 714, 715,
                                 716, 717, 718, 719, 721, 810, 911, 999, 100};
    static const int others[] = {1, 9, 98, 209, 304, 400, 701, 712, 713, 720, 801, 12345};
    ASSERT_INT(errors_fault(0), BACKEND_FAULT_NONE);
    ASSERT_INT(errors_fault(2), BACKEND_FAULT_MEMORY);
    for (size_t i = 0; i < sizeof sticky / sizeof sticky[0]; i++)
        ASSERT_INT(errors_fault(sticky[i]), BACKEND_FAULT_STICKY);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ASSERT_INT(errors_fault(others[i]), BACKEND_FAULT_DEVICE);
    ASSERT_INT(errors_to_errno(0), 0);
    ASSERT_INT(errors_to_errno(2), -ENOMEM);
    ASSERT_INT(errors_to_errno(100), -ENODEV);
    ASSERT_INT(errors_to_errno(700), -EIO);
}

TEST(an_error_is_told_with_place_name_cause_and_advice)
{
    errors_explain(text, 214, "uploading a witness", "Stub GPU 0");
    for (const char *const *word =
             (const char *const[]){"uploading a witness", "Stub GPU 0", "cudaErrorECCUncorrectable",
                                   "214", "faulty", "nvidia-smi -q", NULL};
         *word; word++)
        ASSERT(strstr(text, *word));
    for (int error = 1; error < 1000; error++) {
        char longest[64];
        memset(longest, 'x', sizeof longest);
        longest[63] = 0;
        errors_explain(text, error, "uploading a witness", longest);
        ASSERT(strstr(text, driver_error_name(error)));
    }
}

TEST_MAIN(CASE(the_first_card_is_taken_where_none_is_named),
          CASE(a_card_is_found_by_its_uuid_or_the_begin_of_it),
          CASE(a_machine_without_a_card_or_driver_says_so),
          CASE(compute_modes_are_told_and_not_changed),
          CASE(an_instance_of_a_split_card_is_a_device),
          CASE(a_card_without_machine_code_in_the_build_is_refused),
          CASE(a_card_that_another_process_holds_is_refused_with_its_pid),
          CASE(the_lock_is_held_until_close), CASE(errors_that_end_a_process_are_told_from_others),
          CASE(an_error_is_told_with_place_name_cause_and_advice))
