/* The program itself, run as users run it, against a scripted daemon. Its path is the macro
 * CUZKCTL. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "tests/client/fake_server.h"
#include "tests/test.h"

enum {
    TEXT_BYTES = 1 << 16,
    ARGUMENTS_MAX = 32,
};

static struct fake_server server;
static char out[TEXT_BYTES], err[TEXT_BYTES];
/* Of this run, beside the server's folders. */
static char out_path[64], err_path[64], mute_path[64];

static void read_text(const char *path, char *ret)
{
    FILE *file = fopen(path, "r");
    size_t bytes = 0;
    if (file) {
        bytes = fread(ret, 1, TEXT_BYTES - 1, file);
        fclose(file);
    }
    ret[bytes] = '\0';
}

static pid_t start(char *const *arguments)
{
    pid_t pid = fork();
    if (pid == 0) {
        dup2(open(out_path, O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
        dup2(open(err_path, O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
        execv(CUZKCTL, arguments);
        _exit(99);
    }
    return pid;
}

static int finish(pid_t pid)
{
    int status;
    waitpid(pid, &status, 0);
    read_text(out_path, out);
    read_text(err_path, err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* "prove --circuit mul": split at spaces; "%s" stands for the server's folder. */
static void split(const char *line, char *const *ret_arguments[])
{
    static char buffer[4096], *arguments[ARGUMENTS_MAX];
    size_t used = 0;
    int count = 0;
    arguments[count++] = (char *)"cuzkctl";
    for (; *line; line++) {
        if (line[0] == '%' && line[1] == 's') {
            used += (size_t)sprintf(buffer + used, "%s", server.folder);
            line++;
        } else {
            buffer[used++] = *line == ' ' ? '\0' : *line;
        }
    }
    buffer[used] = '\0';
    for (size_t i = 0; i < used; i += strlen(buffer + i) + 1)
        arguments[count++] = buffer + i;
    arguments[count] = NULL;
    *ret_arguments = arguments;
}

static int run(const char *line)
{
    char *const *arguments;
    split(line, &arguments);
    return finish(start(arguments));
}

static void fail_with(const char *what)
{
    fprintf(stderr, "%s\nstdout: %s\nstderr: %s\n", what, out, err);
}

/* The command ends with this exit code and both texts are where they should be. */
static void expect(const char *line, int code, const char *in_out, const char *in_err)
{
    int r = run(line);
    if (r != code || !strstr(out, in_out) || !strstr(err, in_err))
        fail_with(line);
    ASSERT_INT(r, code);
    ASSERT(strstr(out, in_out));
    ASSERT(strstr(err, in_err));
}

static void begin(void (*serve)(struct fake *fake))
{
    char path[128];
    fake_start(&server, serve);
    snprintf(path, sizeof path, "%s/w.wtns", server.folder);
    FILE *file = fopen(path, "w");
    ASSERT(file);
    fputs("witness", file);
    fclose(file);
}

static void end(void)
{
    ASSERT_INT(fake_end(&server), 0);
}

static int files_in_folder(void)
{
    int count = 0;
    DIR *folder = opendir(server.folder);
    ASSERT(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

/* ---- a daemon that proves ---- */

static void write_point(struct reply *reply, const char *key, unsigned count)
{
    reply_array(reply, key);
    for (unsigned i = 0; i < count; i++)
        reply_string(reply, NULL, i == 0 ? "3" : i == 1 ? "5" : "1");
    reply_close(reply);
}

static void write_result(struct fake *fake, unsigned proofs)
{
    struct reply *reply = fake_begin(fake);
    reply_integer(reply, "job", 7);
    reply_string(reply, "state", "done");
    reply_string(reply, "circuit", "mul");
    reply_string(reply, "curve", "bn254");
    reply_integer(reply, "public_count", 1);
    reply_array(reply, "proofs");
    for (unsigned i = 0; i < proofs; i++) {
        reply_map(reply, NULL);
        write_point(reply, "pi_a", 3);
        reply_array(reply, "pi_b");
        for (int k = 0; k < 3; k++)
            write_point(reply, NULL, 2);
        reply_close(reply);
        write_point(reply, "pi_c", 3);
        reply_string(reply, "protocol", "groth16");
        reply_string(reply, "curve", "bn128");
        reply_close(reply);
    }
    reply_close(reply);
    reply_array(reply, "phases_ms");
    for (unsigned i = 0; i < proofs; i++) {
        reply_map(reply, NULL);
        reply_real(reply, "read", 1.25);
        reply_real(reply, "ntt", 2.5 + i);
        reply_close(reply);
    }
    reply_close(reply);
    fake_finish(fake);
}

/* Answers whatever a client asks about job 7, which is done, of `proofs` partitions. */
static void serve_done(struct fake *fake, unsigned proofs)
{
    while (fake_read(fake))
        switch (fake->request.method) {
        case REQUEST_SUBMIT:
            EXPECT(fake->request.submit.input_count == proofs);
            fake_job(fake, 7);
            break;
        case REQUEST_WAIT:
            fake_state(fake, "done", proofs, proofs, 9);
            break;
        case REQUEST_RESULT:
            write_result(fake, proofs);
            break;
        case REQUEST_PUBLIC:
            reply_integer(fake_begin(fake), "total", 1);
            reply_array(&fake->reply, "values");
            reply_string(&fake->reply, NULL, "33");
            reply_close(&fake->reply);
            fake_finish(fake);
            break;
        default:
            EXPECT(false);
        }
}

static void serve_one(struct fake *fake)
{
    serve_done(fake, 1);
}

static void serve_two(struct fake *fake)
{
    serve_done(fake, 2);
}

#define PROVE                                                                                      \
    "prove --socket %s/x.sock --circuit mul --witness %s/w.wtns --proof %s/p.json --public "       \
    "%s/u.json"

#define PI_B                                                                                       \
    "[\n  [\n   \"3\",\n   \"5\"\n  ],\n  [\n   \"3\",\n   \"5\"\n  ],\n  [\n   \"3\",\n   "       \
    "\"5\"\n  ]\n ]"
#define PI_A "[\n  \"3\",\n  \"5\",\n  \"1\"\n ]"

TEST(scratch_files_are_named)
{
    snprintf(out_path, sizeof out_path, "/tmp/test_cuzkctl.%d.out", (int)getpid());
    snprintf(err_path, sizeof err_path, "/tmp/test_cuzkctl.%d.err", (int)getpid());
    snprintf(mute_path, sizeof mute_path, "/tmp/test_cuzkctl.%d.mute", (int)getpid());
}

TEST(scratch_files_are_removed)
{
    ASSERT_INT(unlink(out_path), 0);
    ASSERT_INT(unlink(err_path), 0);
}

TEST(prove_writes_exactly_what_snarkjs_would)
{
    char path[128], text[TEXT_BYTES];
    struct stat status;
    begin(serve_one);
    umask(022);
    expect(PROVE, 0, "job 7: 1 proof of circuit mul (bn254)", "");
    snprintf(path, sizeof path, "%s/p.json", server.folder);
    read_text(path, text);
    ASSERT_STR(text, "{\n \"pi_a\": " PI_A ",\n \"pi_b\": " PI_B ",\n \"pi_c\": " PI_A
                     ",\n \"protocol\": \"groth16\",\n \"curve\": \"bn128\"\n}");
    ASSERT_INT(stat(path, &status), 0);
    ASSERT_INT(status.st_mode & 07777, 0644);
    snprintf(path, sizeof path, "%s/u.json", server.folder);
    read_text(path, text);
    ASSERT_STR(text, "[\n \"33\"\n]");
    ASSERT_INT(files_in_folder(), 4); /* socket, witness, outputs: no temporary file */
    end();
}

TEST(prove_of_two_witnesses_writes_arrays_and_json_says_all)
{
    char path[128], text[TEXT_BYTES];
    begin(serve_two);
    expect(PROVE " --witness=%s/w.wtns --json -v", 0, "\"partitions\":2", "mean ms");
    json_t *value = json_loads(out, 0, NULL);
    ASSERT_INT(json_integer_value(json_object_get(value, "job")), 7);
    ASSERT_INT(json_array_size(json_object_get(value, "phases_ms")), 2);
    json_decref(value);
    ASSERT(strstr(err, "ntt") && strstr(err, "3.000") && strstr(err, "3.500"));
    snprintf(path, sizeof path, "%s/u.json", server.folder);
    read_text(path, text);
    ASSERT_STR(text, "[\n [\n  \"33\"\n ],\n [\n  \"33\"\n ]\n]");
    end();
}

TEST(outputs_replace_files_and_follow_links)
{
    char path[128], link[128], text[TEXT_BYTES];
    struct stat status;
    begin(serve_one);
    snprintf(path, sizeof path, "%s/target.json", server.folder);
    snprintf(link, sizeof link, "%s/p.json", server.folder);
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 1000; i++)
        fputs("old and longer\n", file);
    fclose(file);
    ASSERT_INT(symlink(path, link), 0);
    expect(PROVE, 0, "", "");
    ASSERT(lstat(link, &status) == 0 && S_ISLNK(status.st_mode));
    read_text(path, text);
    ASSERT(text[0] == '{' && text[strlen(text) - 1] == '}');
    end();
}

TEST(special_outputs_are_written_in_place)
{
    struct stat status;
    begin(serve_one);
    expect("prove --socket %s/x.sock --circuit mul --witness %s/w.wtns --proof /dev/null --public "
           "%s/u.json",
           0, "", "");
    ASSERT(stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode));
    end();
}

TEST(result_and_wait_and_submit_work_one_by_one)
{
    char text[TEXT_BYTES], path[128];
    begin(serve_one);
    expect("--socket %s/x.sock result 7", 0, "\"circuit\":\"mul\"", "");
    end();
    begin(serve_one);
    expect("result 7 --socket=%s/x.sock --public %s/u.json", 0, "job 7: 1 proof", "");
    snprintf(path, sizeof path, "%s/u.json", server.folder);
    read_text(path, text);
    ASSERT_STR(text, "[\n \"33\"\n]");
    end();
    begin(serve_one);
    expect("wait 7 --socket %s/x.sock --json", 0, "{\"job\":7,\"state\":\"done\"", "");
    end();
    begin(serve_one);
    expect("submit --socket %s/x.sock --circuit mul --witness %s/w.wtns --priority low", 0, "7\n",
           "");
    end();
}

static void serve_nothing(struct fake *fake)
{
    EXPECT(!fake_read(fake));
}

static void connect_once(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, server.path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_INT(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
}

TEST(outputs_that_cannot_be_made_are_refused_before_submitting)
{
    begin(serve_nothing);
    expect("prove --socket %s/x.sock --circuit mul --witness %s/w.wtns --proof %s/no/p.json "
           "--public %s/u.json",
           2, "", "cannot be made");
    expect("prove --socket %s/x.sock --circuit mul --witness %s/w.wtns --proof %s --public "
           "%s/u.json",
           2, "", "is a directory");
    expect("prove --socket %s/x.sock --circuit mul --witness %s/w.wtns --proof %s/p --public %s/p",
           2, "", "same file");
    connect_once();
    end();
}

/* ---- failures ---- */

static void serve_failed(struct fake *fake)
{
    fake_expect(fake, REQUEST_SUBMIT);
    fake_job(fake, 7);
    fake_expect(fake, REQUEST_WAIT);
    struct reply *reply = fake_begin(fake);
    reply_integer(reply, "job", 7);
    reply_string(reply, "state", "failed");
    reply_integer(reply, "partitions", 1);
    reply_integer(reply, "done", 0);
    reply_integer(reply, "version", 2);
    reply_map(reply, "error");
    reply_string(reply, "code", "bad_input");
    reply_string(reply, "message", "truncated witness");
    reply_integer(reply, "partition", 0);
    reply_close(reply);
    fake_finish(fake);
}

static void serve_busy(struct fake *fake)
{
    fake_expect(fake, REQUEST_SUBMIT);
    fake_error(fake, REPLY_BUSY, "all slots are taken", 1500);
}

static void serve_running(struct fake *fake)
{
    while (fake_read(fake)) {
        if (fake->request.method == REQUEST_SUBMIT) {
            fake_job(fake, 7);
        } else {
            EXPECT(fake->request.method == REQUEST_WAIT);
            usleep(1000 * fake->request.wait.timeout_ms);
            fake_state(fake, "running", 1, 0, 2);
        }
    }
}

TEST(failures_have_their_exit_codes_and_leave_no_output)
{
    begin(serve_failed);
    expect(PROVE, 4, "", "job 7 failed: truncated witness");
    ASSERT_INT(files_in_folder(), 2);
    end();
    begin(serve_busy);
    expect(PROVE " --json", 5, "{\"error\":{\"code\":\"busy\"", "try again in 1.5 s");
    end();
    begin(serve_running);
    expect(PROVE " --timeout 100ms", 7, "", "cuzkctl wait 7");
    end();
    expect("--socket /nonexistent/x.sock status", 3, "", "cuzkd is not running");
    begin(serve_nothing);
    expect("submit --socket %s/x.sock --circuit mul --witness %s/none.wtns", 4, "", "No such file");
    end();
    begin(serve_nothing);
    char fifo[128];
    snprintf(fifo, sizeof fifo, "%s/fifo.wtns", server.folder);
    ASSERT_INT(mkfifo(fifo, 0600), 0);
    expect("submit --socket %s/x.sock --circuit mul --witness %s/fifo.wtns", 4, "", "FIFO");
    end();
}

static void serve_until_cancel(struct fake *fake)
{
    bool has_told = false;

    fake_expect(fake, REQUEST_SUBMIT);
    fake_job(fake, 7);
    for (;;) {
        if (!fake_read(fake)) {
            EXPECT(false);
            return;
        }
        if (fake->request.method != REQUEST_WAIT)
            break;
        if (fake->request.wait.has_seen) {
            if (!has_told)
                kill(getppid(), SIGUSR1);
            has_told = true;
            usleep(300000); /* a signal that just missed the wait is seen when it ends */
        }
        fake_state(fake, "running", 1, 0, 2);
    }
    EXPECT(fake->request.method == REQUEST_CANCEL && fake->request.job == 7);
    if (access(mute_path, F_OK) == 0) { /* never answers */
        kill(getppid(), SIGUSR1);
        EXPECT(!fake_read(fake));
        return;
    }
    reply_string(fake_begin(fake), "outcome", "cancelled");
    fake_finish(fake);
}

/* The scripted daemon says SIGUSR1 when the client is where the test wants it. */
static void wait_for_usr1(const sigset_t *set)
{
    struct timespec limit = {30, 0};
    ASSERT(sigtimedwait(set, NULL, &limit) == SIGUSR1);
}

TEST(an_interrupt_cancels_the_job_and_a_second_one_leaves)
{
    char *const *arguments;
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, NULL);

    unlink(mute_path);
    begin(serve_until_cancel);
    split(PROVE, &arguments);
    pid_t pid = start(arguments);
    wait_for_usr1(&usr1);
    kill(pid, SIGINT);
    int code = finish(pid);
    if (code != 6)
        fail_with(PROVE);
    ASSERT_INT(code, 6);
    ASSERT(strstr(err, "job 7 is cancelled"));
    end();

    close(open(mute_path, O_WRONLY | O_CREAT, 0600));
    begin(serve_until_cancel);
    split(PROVE, &arguments);
    pid = start(arguments);
    wait_for_usr1(&usr1);
    kill(pid, SIGINT);
    wait_for_usr1(&usr1);
    kill(pid, SIGINT);
    code = finish(pid);
    if (code != 6)
        fail_with(PROVE);
    ASSERT_INT(code, 6);
    end();
    unlink(mute_path);
    sigprocmask(SIG_UNBLOCK, &usr1, NULL);
}

/* ---- looking around ---- */

static void write_workers(struct reply *reply)
{
    reply_array(reply, "workers");
    reply_map(reply, NULL);
    reply_string(reply, "name", "synth-0");
    reply_string(reply, "state", "idle\033[31m");
    reply_integer(reply, "pid", 4711);
    reply_integer(reply, "pss_bytes", 5 << 20);
    reply_string(reply, "last_error", NULL);
    reply_close(reply);
    reply_close(reply);
}

static void serve_views(struct fake *fake)
{
    if (!fake_read(fake))
        return;
    struct reply *reply = fake_begin(fake);
    if (fake->request.method == REQUEST_WORKERS || fake->request.method == REQUEST_STATUS)
        write_workers(reply);
    if (fake->request.method == REQUEST_STATUS) {
        reply_string(reply, "version", "9.9.9");
        reply_array(reply, "flags");
        reply_string(reply, NULL, "cpu_backend");
        reply_close(reply);
    }
    if (fake->request.method == REQUEST_JOBS) {
        EXPECT(fake->request.jobs.limit == 5 && fake->request.jobs.state == REQUEST_JOB_FAILED);
        reply_array(reply, "jobs");
        reply_map(reply, NULL);
        reply_integer(reply, "job", 12);
        reply_integer(reply, "done", 1);
        reply_integer(reply, "partitions", 3);
        reply_map(reply, "error");
        reply_string(reply, "message", "no luck");
        reply_close(reply);
        reply_close(reply);
        reply_close(reply);
    }
    if (fake->request.method == REQUEST_CIRCUIT_LIST) {
        reply_array(reply, "circuits");
        reply_map(reply, NULL);
        reply_string(reply, "name", "mul");
        reply_integer(reply, "slab_bytes", 96 << 20);
        reply_close(reply);
        reply_close(reply);
    }
    fake_finish(fake);
}

TEST(views_print_tables_with_gaps_where_fields_are_missing)
{
    static const struct {
        const char *line, *out;
    } views[] = {
        {"workers --socket %s/x.sock", "synth-0  4711  idle?[31m"},
        {"status --socket %s/x.sock", "flags: cpu_backend\n"},
        {"jobs --limit 5 --state failed --socket %s/x.sock", "no luck"},
        {"circuit list --socket %s/x.sock", "96M"},
        {"workers --json --socket %s/x.sock", "{\"workers\":[{\"name\":\"synth-0\""},
        {"circuit --json list --socket %s/x.sock", "{\"circuits\":[{\"name\":\"mul\""},
    };
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
        begin(serve_views);
        expect(views[i].line, 0, views[i].out, "");
        ASSERT(!strchr(out, '\033'));
        end();
    }
}

static void serve_circuit(struct fake *fake)
{
    fake_expect(fake, REQUEST_CIRCUIT_ADD);
    EXPECT(strcmp(fake->request.circuit.name, "mul.v2") == 0 && !fake->request.circuit.has_r1cs);
    reply_string(fake_begin(fake), "curve", "bn254");
    reply_integer(&fake->reply, "constraints", 17);
    fake_finish(fake);
}

TEST(circuit_add_finds_the_admin_socket_by_its_rule)
{
    char path[128];
    strcpy(server.folder, "/tmp/test_client.XXXXXX");
    ASSERT(mkdtemp(server.folder));
    snprintf(server.path, sizeof server.path, "%s/x-admin.sock", server.folder);
    fake_start_at(&server, serve_circuit);
    snprintf(path, sizeof path, "%s/k.zkey", server.folder);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    FILE *file = fopen(path, "w");
    fputs("zkey", file);
    fclose(file);
    expect("circuit add mul.v2 --zkey %s/k.zkey --socket %s/x.sock", 0, "17 constraints", "");
    end();
}

/* ---- the command line ---- */

TEST(wrong_command_lines_are_explained)
{
    static const struct {
        const char *line, *err;
    } lines[] = {
        {"", "verb is missing"},
        {"prov", "did you mean prove?"},
        {"cirquit add", "did you mean circuit"},
        {"circuit", "add, list or remove"},
        {"prove", "prove needs --circuit NAME"},
        {"prove --circuit", "--circuit needs a value"},
        {"prove --circiut x", "did you mean --circuit?"},
        {"prove --circuit=", "is empty"},
        {"prove --circuit a --circuit b", "given twice"},
        {"status --json=yes", "takes no value"},
        {"status -x", "no option -x"},
        {"status more", "does not take the argument \"more\""},
        {"wait", "wait needs an argument: JOB"},
        {"wait 0", "is no job number"},
        {"wait 1x", "is no job number"},
        {"wait 7 --timeout 10", "10min"},
        {"jobs --limit 0", "1 to 1000"},
        {"jobs --state odd", "queued, running"},
        {"submit --circuit a --witness w --priority urgent", "low, normal, high and critical"},
        {"a b c d e f", "too many arguments"},
    };
    strcpy(server.folder, "/tmp");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        expect(lines[i].line, 2, "", lines[i].err);
    }
}

TEST(help_and_version_need_no_daemon)
{
    expect("--version", 0, "cuzkctl ", "");
    expect("--help", 0, "Exit codes", "");
    expect("-h", 0, "Verbs:", "");
    expect("prove --help", 0, "--witness FILE", "");
    expect("circuit add -h", 0, "--zkey FILE", "");
    expect("--help verify", 0, "--vkey FILE", "");
}

/* ---- verify ---- */

#define GOOD SOURCE_ROOT "/tests/fixtures/good/mul.bn128/"
#define VKEY "verify --vkey " GOOD "vkey.json"

static void combine(const char *path, const char *first, const char *second)
{
    char text[TEXT_BYTES];
    FILE *file = fopen(path, "w");
    ASSERT(file);
    read_text(first, text);
    fprintf(file, "[%s,", text);
    read_text(second, text);
    fprintf(file, "%s]", text);
    fclose(file);
}

TEST(verify_tells_good_from_altered_and_malformed)
{
    char folder[] = "/tmp/test_verify.XXXXXX", path[128], command[64];
    ASSERT(mkdtemp(folder));
    strcpy(server.folder, folder);
    expect(VKEY " --proof " GOOD "proof1.json --public " GOOD "public1.json", 0, "verified\n", "");
    expect(VKEY " --proof " GOOD "proof1.json --public " GOOD "public2.json", 1, "",
           "NOT verified");
    expect(VKEY " --proof " GOOD "public1.json --public " GOOD "public1.json", 4, "", "proof");
    expect(VKEY " --proof " GOOD "none.json --public " GOOD "public1.json", 4, "", "No such file");
    expect(VKEY " --proof /tmp --public " GOOD "public1.json", 4, "", "directory");
    expect("verify --vkey " GOOD "proof1.json --proof " GOOD "proof1.json --public " GOOD
           "public1.json",
           4, "", "verification key");

    snprintf(path, sizeof path, "%s/p.json", folder);
    combine(path, GOOD "proof1.json", GOOD "proof2.json");
    snprintf(path, sizeof path, "%s/u.json", folder);
    combine(path, GOOD "public1.json", GOOD "public2.json");
    expect(VKEY " --proof %s/p.json --public %s/u.json --json", 0,
           "{\"verified\":true,\"proofs\":2", "");
    combine(path, GOOD "public1.json", GOOD "public1.json");
    expect(VKEY " --proof %s/p.json --public %s/u.json", 1, "", "proof 2 of 2");
    expect(VKEY " --proof %s/p.json --public " GOOD "public1.json", 4, "",
           "do not belong together");
    snprintf(command, sizeof command, "rm -r %s", folder);
    ASSERT_INT(system(command), 0);
}

TEST_MAIN(CASE(scratch_files_are_named), CASE(prove_writes_exactly_what_snarkjs_would),
          CASE(prove_of_two_witnesses_writes_arrays_and_json_says_all),
          CASE(outputs_replace_files_and_follow_links), CASE(special_outputs_are_written_in_place),
          CASE(result_and_wait_and_submit_work_one_by_one),
          CASE(outputs_that_cannot_be_made_are_refused_before_submitting),
          CASE(failures_have_their_exit_codes_and_leave_no_output),
          CASE(an_interrupt_cancels_the_job_and_a_second_one_leaves),
          CASE(views_print_tables_with_gaps_where_fields_are_missing),
          CASE(circuit_add_finds_the_admin_socket_by_its_rule),
          CASE(wrong_command_lines_are_explained), CASE(help_and_version_need_no_daemon),
          CASE(verify_tells_good_from_altered_and_malformed), CASE(scratch_files_are_removed))
