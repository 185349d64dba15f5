/* One file into the spool: what intake/copy.h promises. */
#include "intake/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/test.h"

#define MIB (1u << 20)

static char folder[64];
static int folder_fd, ends[2];
static struct copier copier;

static void open_all(void)
{
    snprintf(folder, sizeof folder, "/tmp/cuzk-test-copy.XXXXXX");
    ASSERT(mkdtemp(folder));
    folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT(folder_fd >= 0);
    ASSERT_INT(intake_socket_create(ends), 0);
    ASSERT_INT(copier_init(&copier, ends[1], folder_fd), 0);
}

static void close_all(void)
{
    copier_destroy(&copier);
    close(folder_fd);
    close(ends[0]);
    close(ends[1]);
    ASSERT_INT(rmdir(folder), 0); /* nothing is left in it */
}

static int source(const char *name, size_t bytes)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ASSERT(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0 && unlink(path) == 0);
    return fd;
}

static struct intake_packet ask(uint64_t bytes)
{
    return (struct intake_packet){
        .abi = INTAKE_PACKET_ABI, .kind = INTAKE_COPY, .ticket = 1, .job = 5, .bytes = bytes};
}

static void remove_copy(void)
{
    ASSERT_INT(unlinkat(folder_fd, "5-0", 0), 0);
}

/* Also on top of what a process that died has left. */
TEST(a_sparse_file_is_copied_with_its_digest_and_progress_is_told)
{
    const size_t bytes = 40 * MIB + 3;
    static uint8_t zeros[MIB];
    uint8_t sha256[32], last;
    unsigned digest_bytes = 32;
    struct stat status;
    open_all();
    int part = openat(folder_fd, "5-0.part", O_WRONLY | O_CREAT, 0644);
    ASSERT(part >= 0 && write(part, "old", 3) == 3);
    close(part);
    int fd = source("a", bytes);
    ASSERT_INT(pwrite(fd, "x", 1, (off_t)bytes - 1), 1);
    struct intake_packet asked = ask(bytes), answer, packet;
    copier_run(&copier, &asked, fd, &answer);
    ASSERT_INT(answer.kind, INTAKE_COPIED);
    ASSERT_INT(intake_answer_check(&asked, &asked, &answer), 0);

    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_DigestInit_ex(context, EVP_sha256(), NULL);
    for (int i = 0; i < 40; i++)
        EVP_DigestUpdate(context, zeros, sizeof zeros);
    EVP_DigestUpdate(context, "\0\0x", 3);
    EVP_DigestFinal_ex(context, sha256, &digest_bytes);
    EVP_MD_CTX_free(context);
    ASSERT_INT(memcmp(answer.sha256, sha256, 32), 0);
    int copy = openat(folder_fd, "5-0", O_RDONLY);
    ASSERT(copy >= 0 && fstat(copy, &status) == 0);
    ASSERT_INT(status.st_size, bytes);
    ASSERT_INT(status.st_mode & 07777, 0600);
    ASSERT_INT(pread(copy, &last, 1, (off_t)bytes - 1), 1);
    ASSERT_INT(last, 'x');
    close(copy);

    int packets = 0, none;
    struct intake_packet progress = asked;
    progress.bytes = 0;
    for (; intake_packet_receive(ends[0], &packet, &none) == 1; packets++) {
        ASSERT_INT(intake_answer_check(&asked, &progress, &packet), 0);
        progress = packet;
    }
    ASSERT(packets >= 3);
    remove_copy();
    close_all();
}

static void expect_fault(int fd, uint64_t bytes, enum intake_fault fault, int error)
{
    struct intake_packet asked = ask(bytes), answer;
    copier_run(&copier, &asked, fd, &answer);
    ASSERT_INT(answer.kind, INTAKE_FAILED);
    ASSERT_INT(answer.fault, fault);
    ASSERT_INT(answer.error, error);
    ASSERT_INT(intake_answer_check(&asked, &asked, &answer), 0);
}

TEST(what_is_wrong_with_a_file_is_told_and_nothing_stays)
{
    int pipe_ends[2];
    open_all();
    expect_fault(source("a", 10), 9, INTAKE_FAULT_LONGER, 0);
    expect_fault(source("a", 10), 11, INTAKE_FAULT_SHORTER, 0);
    ASSERT_INT(pipe(pipe_ends), 0);
    expect_fault(pipe_ends[0], 10, INTAKE_FAULT_NO_FILE, 0);
    close(pipe_ends[1]);
    expect_fault(open("/dev/zero", O_RDONLY), 10, INTAKE_FAULT_NO_FILE, 0);
    expect_fault(open(folder, O_RDONLY | O_DIRECTORY), 10, INTAKE_FAULT_NO_FILE, 0);
    expect_fault(-1, 10, INTAKE_FAULT_UNREADABLE, EBADF);
    char path[128];
    snprintf(path, sizeof path, "%s/a", folder);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    int fd = open(path, O_WRONLY);
    ASSERT(ftruncate(fd, 10) == 0 && unlink(path) == 0);
    expect_fault(fd, 10, INTAKE_FAULT_UNREADABLE, EBADF);
    /* A file that says it has 4096 bytes, and has fewer. */
    fd = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY);
    if (fd >= 0)
        expect_fault(fd, 4096, INTAKE_FAULT_SHORTER, 0);
    close_all();
}

TEST(a_name_that_cannot_be_taken_is_the_spools_fault)
{
    open_all();
    ASSERT_INT(mkdirat(folder_fd, "5-0", 0700), 0);
    expect_fault(source("a", 10), 10, INTAKE_FAULT_SPOOL, EISDIR);
    ASSERT_INT(unlinkat(folder_fd, "5-0", AT_REMOVEDIR), 0);
    close_all();
}

static atomic_bool is_over;

static void *scribble(void *context)
{
    int fd = *(int *)context;
    while (!atomic_load(&is_over)) {
        if (pwrite(fd, "y", 1, 3) != 1)
            break;
        usleep(500);
    }
    return NULL;
}

static void *cut(void *context)
{
    usleep(10000);
    return ftruncate(*(int *)context, MIB) == 0 ? NULL : context;
}

static void *grow(void *context)
{
    usleep(10000);
    return ftruncate(*(int *)context, 256 * MIB) == 0 ? NULL : context;
}

TEST(a_file_that_changes_while_it_is_copied_is_refused)
{
    struct {
        void *(*work)(void *);
        enum intake_fault fault;
    } cases[] = {
        {scribble, INTAKE_FAULT_CHANGED}, {cut, INTAKE_FAULT_SHORTER}, {grow, INTAKE_FAULT_LONGER}};
    open_all();
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        int fd = source("a", 128 * MIB), other = dup(fd);
        atomic_store(&is_over, false);
        ASSERT_INT(pthread_create(&thread, NULL, cases[i].work, &other), 0);
        struct intake_packet asked = ask(128 * MIB), answer;
        copier_run(&copier, &asked, fd, &answer);
        atomic_store(&is_over, true);
        pthread_join(thread, NULL);
        close(other);
        if (answer.kind == INTAKE_COPIED) { /* by reference, at one moment */
            printf("  shared extents: nothing can change\n");
            remove_copy();
            continue;
        }
        ASSERT_INT(answer.fault, cases[i].fault);
    }
    close_all();
}

int main(void)
{
    static const struct test_case cases[] = {
        CASE(a_sparse_file_is_copied_with_its_digest_and_progress_is_told),
        CASE(what_is_wrong_with_a_file_is_told_and_nothing_stays),
        CASE(a_name_that_cannot_be_taken_is_the_spools_fault),
        CASE(a_file_that_changes_while_it_is_copied_is_refused),
    };
    return test_main(cases, sizeof cases / sizeof cases[0]);
}
