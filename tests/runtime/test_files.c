/* What runtime/files.h promises, case by case. */
#include "runtime/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/test.h"

static char folder[64];

static const char *path_of(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, 256, "%s/%s", folder, name);
    return path;
}

static unsigned entry_count(const char *path)
{
    DIR *directory = opendir(path);
    unsigned count = 0;
    ASSERT(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

TEST(makes_missing_folders_and_accepts_existing_ones)
{
    struct stat status;

    ASSERT_INT(files_make_folder(path_of("a/b/c"), 0750), 0);
    ASSERT_INT(files_make_folder(path_of("a/b/c/"), 0750), 0);
    ASSERT_INT(files_make_parents(path_of("a/d/file"), 0700), 0);
    ASSERT_INT(stat(path_of("a/d"), &status), 0);
    ASSERT_INT(status.st_mode & 0777, 0700);
    ASSERT_INT(stat(path_of("a/d/file"), &status), -1);
    ASSERT_INT(files_make_parents("plain", 0700), 0);
    ASSERT_INT(files_make_folder("", 0700), -EINVAL);
}

TEST(a_file_in_the_way_is_no_folder)
{
    ASSERT_INT(files_write(path_of("plain"), "x", 1, 0600), 0);
    ASSERT_INT(files_make_folder(path_of("plain"), 0700), -ENOTDIR);
    ASSERT_INT(files_make_folder(path_of("plain/below"), 0700), -ENOTDIR);
}

TEST(replaces_a_file_whole_with_its_mode_and_leaves_nothing_beside_it)
{
    struct stat status;
    size_t bytes;
    char *text;

    ASSERT_INT(files_make_folder(path_of("w"), 0700), 0);
    ASSERT_INT(files_write(path_of("w/f"), "first and long", 14, 0640), 0);
    ASSERT_INT(files_write(path_of("w/f"), "second", 6, 0600), 0);
    ASSERT_INT(files_read(path_of("w/f"), 100, &text, &bytes), 0);
    ASSERT_INT(bytes, 6);
    ASSERT_STR(text, "second");
    free(text);
    ASSERT_INT(stat(path_of("w/f"), &status), 0);
    ASSERT_INT(status.st_mode & 0777, 0600);
    ASSERT_INT(entry_count(path_of("w")), 1);
}

TEST(a_failed_write_leaves_the_old_file_and_nothing_else)
{
    size_t bytes;
    char *text;

    ASSERT_INT(files_make_folder(path_of("d/target"), 0700), 0); /* a folder cannot be replaced */
    ASSERT_INT(files_write(path_of("d/target"), "x", 1, 0600), -EISDIR);
    ASSERT_INT(entry_count(path_of("d")), 1);
    ASSERT_INT(files_write(path_of("missing/f"), "x", 1, 0600), -ENOENT);
    if (access("/dev/full", F_OK) == 0)
        ASSERT_INT(files_read("/dev/full", 10, &text, &bytes), -EINVAL);
}

TEST(reads_no_more_than_allowed)
{
    size_t bytes;
    char *text = NULL;

    ASSERT_INT(files_write(path_of("ten"), "0123456789", 10, 0600), 0);
    ASSERT_INT(files_read(path_of("ten"), 9, &text, &bytes), -EFBIG);
    ASSERT(!text);
    ASSERT_INT(files_read(path_of("ten"), 10, &text, &bytes), 0);
    ASSERT_INT(bytes, 10);
    free(text);
    ASSERT_INT(files_write(path_of("empty"), "", 0, 0600), 0);
    ASSERT_INT(files_read(path_of("empty"), 10, &text, &bytes), 0);
    ASSERT_INT(bytes, 0);
    free(text);
}

TEST(reads_files_of_proc_and_refuses_what_is_no_file)
{
    size_t bytes;
    char *text;

    ASSERT_INT(files_read("/proc/self/status", 65536, &text, &bytes), 0);
    ASSERT(bytes > 100 && strlen(text) == bytes);
    free(text);
    ASSERT_INT(mkfifo(path_of("fifo"), 0600), 0);
    ASSERT_INT(files_read(path_of("fifo"), 10, &text, &bytes), -EINVAL); /* and does not hang */
    ASSERT_INT(files_read(path_of("absent"), 10, &text, &bytes), -ENOENT);
    ASSERT_INT(files_read(folder, 10, &text, &bytes), -EINVAL);
}

TEST(reads_numbers)
{
    static const struct {
        const char *text;
        int result;
        uint64_t number;
    } cases[] = {
        {"42\n", 0, 42},
        {"18446744073709551615", 0, UINT64_MAX},
        {"max\n", 0, UINT64_MAX},
        {"", -EINVAL, 0},
        {"x1", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"99999999999999999999", -EINVAL, 0},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t number = 0;
        ASSERT_INT(files_write(path_of("n"), cases[i].text, strlen(cases[i].text), 0600), 0);
        ASSERT_INT(files_read_number(path_of("n"), &number), cases[i].result);
        ASSERT_INT(number, cases[i].number);
    }
}

int main(void)
{
    static const struct test_case cases[] = {
        CASE(makes_missing_folders_and_accepts_existing_ones),
        CASE(a_file_in_the_way_is_no_folder),
        CASE(replaces_a_file_whole_with_its_mode_and_leaves_nothing_beside_it),
        CASE(a_failed_write_leaves_the_old_file_and_nothing_else),
        CASE(reads_no_more_than_allowed),
        CASE(reads_files_of_proc_and_refuses_what_is_no_file),
        CASE(reads_numbers),
    };
    char command[128];

    strcpy(folder, "/tmp/test_files_XXXXXX");
    if (!mkdtemp(folder))
        return 99;
    int failed = test_main(cases, (int)(sizeof cases / sizeof cases[0]));
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 ? failed : 99;
}
