/* supervisor/intake.c and spool.c with real cuzk-intake processes and a spool of its own. */
#include "supervisor/intake.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "runtime/close_later.h"
#include "supervisor/supervisor.h"
#include "tests/test.h"

#define MIB (1u << 20)

static struct supervisor supervisor;
static char folder[64];
static int fds_before;

static struct {
    int count, result;
    char why[256];
} done;

static void on_done(struct intake_batch *batch, int result, const char *why)
{
    (void)batch;
    done.count++;
    done.result = result;
    snprintf(done.why, sizeof done.why, "%s", why);
}

static int count_in(const char *path)
{
    DIR *entries = opendir(path);
    int count = -2;
    while (readdir(entries))
        count++;
    closedir(entries);
    return count;
}

static void open_all(void)
{
    snprintf(folder, sizeof folder, "/tmp/cuzk-test-intake.XXXXXX");
    ASSERT(mkdtemp(folder));
    fds_before = count_in("/proc/self/fd");
    supervisor = (struct supervisor){.lock_fd = -1};
    ASSERT_INT(loop_create(LOOP_AUTO, &supervisor.loop), 0);
    supervisor.config.spool_directory = folder;
    supervisor.config.intake_timeout_ns = 30000000000;
    supervisor.config.sandbox = SANDBOX_PREFER;
    supervisor.now_ns = clock_now_ns();
    ASSERT_INT(close_later_init(), 0);
    ASSERT_INT(spool_open(&supervisor), 0);
    supervisor.intake.path = strdup(INTAKE_PROGRAM);
    ASSERT_INT(intake_init(&supervisor), 0);
    memset(&done, 0, sizeof done);
}

static void close_all(void)
{
    char command[128];
    intake_destroy(&supervisor);
    spool_close(&supervisor);
    close_later_destroy();
    loop_free(supervisor.loop);
    ASSERT_INT(count_in("/proc/self/fd"), fds_before);
    ASSERT_INT(count_in(folder), 0);
    snprintf(command, sizeof command, "%s", folder);
    ASSERT_INT(rmdir(command), 0);
}

static void turn(void)
{
    supervisor_take_time(&supervisor);
    spool_tick(&supervisor);
    intake_tick(&supervisor);
    ASSERT(loop_wait(supervisor.loop, clock_now_ns() + 20000000) >= 0);
}

#define TURN_UNTIL(c)                                                                              \
    do {                                                                                           \
        uint64_t until_ns = clock_now_ns() + UINT64_C(30000000000);                                \
        while (!(c)) {                                                                             \
            ASSERT(clock_now_ns() < until_ns);                                                     \
            turn();                                                                                \
        }                                                                                          \
    } while (0)

/* A client's file of pseudo-random bytes, unlinked, and its digest. */
static int make_file(size_t bytes, uint8_t *ret_sha256)
{
    int fd = memfd_create("client", MFD_CLOEXEC);
    uint8_t *memory;
    unsigned digest_bytes = 32;
    ASSERT(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ASSERT(memory != MAP_FAILED);
    for (size_t i = 0; i < bytes; i += 64)
        memory[i] = (uint8_t)(i * 2654435761u >> 13);
    if (ret_sha256)
        ASSERT(EVP_Digest(memory, bytes, ret_sha256, &digest_bytes, EVP_sha256(), NULL));
    munmap(memory, bytes);
    return fd;
}

static struct intake_batch *make_batch(uint64_t job, uid_t uid)
{
    struct intake_batch *batch = calloc(1, sizeof *batch);
    batch->job = job;
    batch->uid = uid;
    batch->on_done = on_done;
    return batch;
}

static void add(struct intake_batch *batch, int fd)
{
    batch->descriptors[batch->count] = fd;
    batch->partitions[batch->count] = batch->count;
    batch->count++;
}

static struct spool_figures figures(void)
{
    struct spool_figures now;
    spool_figures(&supervisor, &now);
    return now;
}

/* Removes what a good batch has made, as the end of its job does. */
static void end_job(struct intake_batch *batch)
{
    uint64_t left = figures().files - batch->count;
    for (uint32_t i = 0; i < batch->count; i++)
        close(batch->files[i].fd);
    spool_job_remove(&supervisor, batch->job, batch->count);
    TURN_UNTIL(figures().files == left);
    ASSERT(left > 0 || figures().bytes == 0);
    free(batch);
}

static struct intake_worker *at_work(void)
{
    for (int i = 0; i < INTAKE_WORKERS_MAX; i++) {
        if (supervisor.intake.workers[i].state == INTAKE_AT_WORK)
            return &supervisor.intake.workers[i];
    }
    return NULL;
}

TEST(files_come_into_the_spool_with_their_digests_and_for_their_owner_alone)
{
    static const size_t sizes[] = {1, 4095, MIB - 1, MIB, MIB + 1, 37 * MIB + 5};
    uint8_t sha256[6][32];
    struct stat status;
    open_all();
    struct intake_batch *batch = make_batch(7, 0);
    for (int i = 0; i < 6; i++)
        add(batch, make_file(sizes[i], sha256[i]));
    intake_start(&supervisor, batch);
    ASSERT(figures().pending_bytes >= 37 * MIB);
    TURN_UNTIL(done.count);
    ASSERT_STR(done.why, "");
    ASSERT_INT(done.result, 0);
    for (int i = 0; i < 6; i++) {
        ASSERT_INT(fstat(batch->files[i].fd, &status), 0);
        ASSERT_INT(status.st_size, sizes[i]);
        ASSERT_INT(status.st_mode & 07777, 0600);
        ASSERT_INT(fcntl(batch->files[i].fd, F_GETFL) & O_ACCMODE, O_RDONLY);
        ASSERT_INT(batch->files[i].bytes, sizes[i]);
        ASSERT_INT(memcmp(batch->files[i].sha256, sha256[i], 32), 0);
    }
    ASSERT_INT(stat(folder, &status), 0);
    ASSERT_INT(status.st_mode & 07777, 0700);
    ASSERT_INT(figures().files, 6);
    ASSERT_INT(figures().pending_bytes, 0);
    end_job(batch);
    close_all();
}

/* Starts a batch of one 64 MiB file and waits until its copy has begun. */
static struct intake_batch *begin_large(uint64_t job)
{
    struct intake_batch *batch = make_batch(job, 0);
    add(batch, make_file(64 * MIB, NULL));
    intake_start(&supervisor, batch);
    TURN_UNTIL(at_work() || done.count);
    ASSERT(at_work());
    child_kill(&at_work()->child, SIGSTOP);
    return batch;
}

TEST(a_process_that_dies_costs_its_file_a_second_try_only)
{
    open_all();
    struct intake_batch *batch = begin_large(8);
    child_kill(&at_work()->child, SIGKILL);
    TURN_UNTIL(done.count);
    ASSERT_INT(done.result, 0);
    ASSERT_INT(batch->tries[0], 2);
    end_job(batch);

    memset(&done, 0, sizeof done);
    batch = begin_large(9);
    child_kill(&at_work()->child, SIGKILL);
    TURN_UNTIL(batch->tries[0] == 2 && at_work());
    child_kill(&at_work()->child, SIGKILL);
    TURN_UNTIL(done.count);
    ASSERT_INT(done.result, -EIO);
    ASSERT(strstr(done.why, "died 2 times") && strstr(done.why, "SIGKILL"));
    free(batch);
    TURN_UNTIL(count_in(folder) == 0);
    close_all();
}

TEST(a_file_that_hangs_is_given_up_and_others_go_on)
{
    open_all();
    struct intake_batch *batch = begin_large(10);
    struct intake_batch *small = make_batch(11, 1);
    add(small, make_file(5, NULL));
    intake_start(&supervisor, small);
    TURN_UNTIL(done.count);
    ASSERT_INT(done.result, 0);
    ASSERT_INT(done.count, 1);
    end_job(small);

    memset(&done, 0, sizeof done);
    at_work()->progress.phase = INTAKE_COPYING; /* wherever it was stopped */
    supervisor.now_ns = at_work()->deadline_ns;
    intake_tick(&supervisor);
    ASSERT_INT(done.count, 1);
    ASSERT_INT(done.result, -EBADMSG);
    ASSERT(strstr(done.why, "hangs or is too slow"));
    free(batch);
    TURN_UNTIL(count_in(folder) == 0);
    close_all();
}

TEST(a_cancelled_batch_leaves_nothing)
{
    open_all();
    struct intake_batch *batch = begin_large(12);
    add(batch, -1);
    batch->count--; /* cancel must not look beyond it */
    intake_cancel(&supervisor, batch);
    ASSERT_INT(figures().pending_bytes, 0);
    free(batch);
    TURN_UNTIL(count_in(folder) == 0);
    ASSERT_INT(done.count, 0);
    close_all();
}

/* A file that was changed between submit and copy, and one that is none. */
TEST(the_client_is_told_what_is_wrong_with_its_file)
{
    struct {
        uint64_t said;
        const char *why;
    } cases[] = {{10, "longer"}, {30, "shorter"}};
    open_all();
    for (int i = 0; i < 2; i++) {
        memset(&done, 0, sizeof done);
        struct intake_batch *batch = make_batch(20 + (uint64_t)i, 0);
        add(batch, make_file(20, NULL));
        add(batch, make_file(20, NULL));
        batch->files[1].bytes = cases[i].said;
        intake_start(&supervisor, batch);
        TURN_UNTIL(done.count);
        ASSERT_INT(done.result, -EBADMSG);
        ASSERT(strstr(done.why, "witness file 1: ") && strstr(done.why, cases[i].why));
        free(batch);
    }
    int ends[2];
    ASSERT_INT(pipe(ends), 0);
    memset(&done, 0, sizeof done);
    struct intake_batch *batch = make_batch(30, 0);
    add(batch, ends[0]);
    batch->files[0].bytes = 5; /* or it would not get as far */
    intake_start(&supervisor, batch);
    TURN_UNTIL(done.count);
    ASSERT_INT(done.result, -EBADMSG);
    ASSERT(strstr(done.why, "not a regular file"));
    close(ends[1]);
    free(batch);
    TURN_UNTIL(count_in(folder) == 0);
    close_all();
}

/* Processes that are killed and do not die, as in a file system that hangs: here, stopped ones
 * whose death is not looked at. */
TEST(who_has_lost_many_processes_is_refused_and_others_are_not)
{
    open_all();
    for (uint64_t i = 0; i < INTAKE_USER_MAX; i++) {
        struct intake_batch *batch = begin_large(80 + i);
        struct intake_worker *worker = at_work();
        loop_remove(supervisor.loop, &worker->death_watch);
        worker->death_watch.on_ready = NULL;
        intake_cancel(&supervisor, batch);
        free(batch);
        supervisor.now_ns = worker->deadline_ns;
        intake_tick(&supervisor);
        ASSERT(worker->is_lost);
    }
    struct intake_batch *batch = make_batch(90, 0), *other = make_batch(91, 1);
    add(batch, make_file(5, NULL));
    intake_start(&supervisor, batch);
    TURN_UNTIL(done.count);
    ASSERT_INT(done.result, -EAGAIN);
    ASSERT(strstr(done.why, "hang"));
    free(batch);
    add(other, make_file(5, NULL));
    memset(&done, 0, sizeof done);
    intake_start(&supervisor, other);
    TURN_UNTIL(done.count);
    ASSERT_INT(done.result, 0);
    end_job(other);
    struct intake_figures now;
    intake_figures(&supervisor, &now);
    ASSERT_INT(now.lost, INTAKE_USER_MAX);
    intake_destroy(&supervisor);
    for (uint32_t i = 0; i < INTAKE_USER_MAX; i++)
        spool_file_remove(&supervisor, 80 + i, 0, false);
    close_all();
}

TEST(one_user_never_has_all_processes)
{
    struct intake_batch *batches[2 * INTAKE_ACTIVE_MAX];
    uint32_t busy = 0;
    open_all();
    for (int i = 0; i < 2 * INTAKE_ACTIVE_MAX; i++) {
        batches[i] = make_batch(40 + (uint64_t)i, 5);
        add(batches[i], make_file(MIB, NULL));
        intake_start(&supervisor, batches[i]);
    }
    while (done.count < 2 * INTAKE_ACTIVE_MAX) {
        busy = 0;
        for (int i = 0; i < INTAKE_WORKERS_MAX; i++)
            busy += supervisor.intake.workers[i].state == INTAKE_AT_WORK;
        ASSERT(busy <= INTAKE_USER_MAX);
        turn();
    }
    ASSERT_INT(done.result, 0);
    for (int i = 0; i < 2 * INTAKE_ACTIVE_MAX; i++)
        end_job(batches[i]);
    /* and go again when there is nothing to do */
    struct intake_figures now;
    do {
        turn();
        intake_figures(&supervisor, &now);
    } while (now.processes > 1);
    ASSERT_INT(now.files_copied, 2 * INTAKE_ACTIVE_MAX);
    ASSERT_INT(now.deaths, 0);
    close_all();
}

TEST(a_program_that_does_not_start_keeps_nobody_waiting)
{
    open_all();
    free(supervisor.intake.path);
    supervisor.intake.path = strdup("/nonexistent/cuzk-intake");
    for (int i = 0; i < INTAKE_WORKERS_MAX; i++)
        child_kill(&supervisor.intake.workers[i].child, SIGKILL);
    struct intake_batch *batch = make_batch(60, 0);
    add(batch, make_file(5, NULL));
    intake_start(&supervisor, batch);
    TURN_UNTIL(done.count);
    ASSERT_INT(done.result, -EIO);
    ASSERT(strstr(done.why, "cannot be started"));
    free(batch);
    close_all();
}

static bool is_job_1(void *context, uint64_t job, uint32_t partition)
{
    (void)context;
    (void)partition;
    return job == 1;
}

static void make_spool_file(const char *name, size_t bytes)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    ASSERT(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    close(fd);
}

TEST(what_nobody_wants_is_collected_and_the_rest_is_counted)
{
    open_all();
    make_spool_file("1-0", 10);
    make_spool_file("1-1.part", 20);
    make_spool_file("2-0", 30);
    make_spool_file("1-127", 40);
    make_spool_file("1-128", 50); /* no name of ours */
    make_spool_file("README", 60);
    ASSERT_INT(spool_collect(&supervisor, is_job_1, NULL), 2);
    ASSERT_INT(figures().files, 2);
    ASSERT_INT(figures().bytes, 50);
    ASSERT_INT(count_in(folder), 4);
    int fd = spool_file_open(&supervisor, 1, 127);
    ASSERT(fd >= 0);
    close(fd);
    ASSERT_INT(spool_file_open(&supervisor, 2, 0), -ENOENT);
    spool_job_remove(&supervisor, 1, 128);
    TURN_UNTIL(figures().files == 0);
    ASSERT_INT(figures().bytes, 0);
    char path[128];
    snprintf(path, sizeof path, "%s/README", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/1-128", folder);
    unlink(path);
    close_all();
}

TEST(room_is_what_the_cap_and_the_disk_leave)
{
    char why[256];
    open_all();
    ASSERT_INT(spool_check_room(&supervisor, UINT64_C(1) << 60, why, sizeof why), -ENOSPC);
    ASSERT(strstr(why, folder));
    supervisor.config.spool_bytes_max = 100 * MIB;
    ASSERT_INT(spool_check_room(&supervisor, 60 * MIB, why, sizeof why), 0);
    spool_reserve(&supervisor, 60 * MIB);
    ASSERT_INT(spool_check_room(&supervisor, 60 * MIB, why, sizeof why), -EDQUOT);
    ASSERT(strstr(why, "SpoolSize="));
    spool_release(&supervisor, 60 * MIB);
    ASSERT_INT(spool_check_room(&supervisor, 60 * MIB, why, sizeof why), 0);
    close_all();
}

TEST(a_full_disk_refuses_and_recovers_by_itself)
{
    char filler[128], why[256];
    open_all();
    if (mount("none", folder, "tmpfs", 0, "size=100m,mode=700") < 0) {
        printf("  skipped: a small disk cannot be mounted (%s)\n", strerror(errno));
        close_all();
        return;
    }
    intake_destroy(&supervisor);
    spool_close(&supervisor);
    ASSERT_INT(spool_open(&supervisor), 0);
    supervisor.intake.path = strdup(INTAKE_PROGRAM);
    ASSERT_INT(intake_init(&supervisor), 0);
    ASSERT_INT(spool_check_room(&supervisor, 20 * MIB, why, sizeof why), 0);
    ASSERT_INT(spool_check_room(&supervisor, 40 * MIB, why, sizeof why), -ENOSPC);

    snprintf(filler, sizeof filler, "%s/filler", folder);
    int fd = open(filler, O_WRONLY | O_CREAT, 0600);
    ASSERT(fd >= 0 && fallocate(fd, 0, 0, 90 * MIB) == 0);
    struct intake_batch *batch = make_batch(70, 0);
    add(batch, make_file(20 * MIB, NULL));
    intake_start(&supervisor, batch);
    TURN_UNTIL(done.count);
    ASSERT_INT(done.result, -ENOSPC);
    ASSERT(strstr(done.why, "No space left"));
    ASSERT(figures().is_full);
    ASSERT_INT(spool_check_room(&supervisor, 1, why, sizeof why), -ENOSPC);
    free(batch);
    TURN_UNTIL(count_in(folder) == 1);
    close(fd);
    unlink(filler);
    TURN_UNTIL(!figures().is_full);
    ASSERT_INT(spool_check_room(&supervisor, 20 * MIB, why, sizeof why), 0);

    intake_destroy(&supervisor);
    spool_close(&supervisor);
    ASSERT_INT(umount(folder), 0);
    close_all();
}

int main(void)
{
    static const struct test_case cases[] = {
        CASE(files_come_into_the_spool_with_their_digests_and_for_their_owner_alone),
        CASE(a_process_that_dies_costs_its_file_a_second_try_only),
        CASE(a_file_that_hangs_is_given_up_and_others_go_on),
        CASE(a_cancelled_batch_leaves_nothing),
        CASE(the_client_is_told_what_is_wrong_with_its_file),
        CASE(who_has_lost_many_processes_is_refused_and_others_are_not),
        CASE(one_user_never_has_all_processes),
        CASE(a_program_that_does_not_start_keeps_nobody_waiting),
        CASE(what_nobody_wants_is_collected_and_the_rest_is_counted),
        CASE(room_is_what_the_cap_and_the_disk_leave),
        CASE(a_full_disk_refuses_and_recovers_by_itself),
    };
    return test_main(cases, sizeof cases / sizeof cases[0]);
}
