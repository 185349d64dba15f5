/* What config/config.h promises, case by case. */
#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "config/options.h"
#include "config/parse.h"
#include "tests/test.h"

#define MIB (UINT64_C(1) << 20)

static struct config_fault fault;

static int load_text(const char *text, struct config *ret)
{
    struct config config;
    ASSERT_INT(parse_defaults(&config), 0);
    int r = parse_text(&config, "test.conf", text, strlen(text), &fault);
    if (r == 0)
        r = parse_finish(&config, &fault);
    if (r < 0)
        config_destroy(&config);
    else
        *ret = config;
    return r;
}

/* The text is refused, and every piece is in the message. */
#define REFUSED(given, ...)                                                                        \
    do {                                                                                           \
        struct config refused;                                                                     \
        const char *pieces[] = {__VA_ARGS__};                                                      \
        ASSERT_INT(load_text(given, &refused), -EBADMSG);                                          \
        for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)                              \
            if (!strstr(fault.text, pieces[i])) {                                                  \
                fprintf(stderr, "message: %s\n", fault.text);                                      \
                ASSERT_STR(pieces[i], "in the message");                                           \
            }                                                                                      \
    } while (0)

TEST(defaults_are_the_documented_ones)
{
    struct config config;
    ASSERT_INT(config_load(NULL, &config, &fault), 0);
    ASSERT_STR(config.socket_path, "/run/cuzkd/cuzkd.sock");
    ASSERT_STR(config.admin_socket_path, "/run/cuzkd/cuzkd-admin.sock");
    ASSERT_STR(config.state_directory, "/var/lib/cuzkd");
    ASSERT_STR(config.cache_directory, "/var/cache/cuzkd");
    ASSERT_INT(config.event_loop, LOOP_AUTO);
    ASSERT_INT(config.log_level, LOG_LEVEL_INFO);
    ASSERT_INT(config.attempts_max, ATTEMPTS_MAX_DEFAULT);
    ASSERT_INT(config.stop_timeout_ns, 30000000000);
    ASSERT_INT(config.huge_pages, CONFIG_HUGE_PAGES_REQUIRE);
    ASSERT_INT(config.huge_page_bytes, 2 * MIB);
    ASSERT_INT(config.ring_count, 1);
    ASSERT_INT(config.rings[0].slab_count, 4);
    ASSERT_INT(config.rings[0].slab_bytes, 256 * MIB);
    ASSERT_INT(config.gpu_backend, CONFIG_GPU_BACKEND_CUDA);
    ASSERT_INT(config.synth_evaluate, CONFIG_EVALUATE_AUTO);
    ASSERT(config.device_evaluates);
    ASSERT_INT(config.gpu_devices.count, 0);
    ASSERT_INT(config.gpu_vram_limit, 0);
    ASSERT_INT(config.gpu_requires_pinned, 1);
    ASSERT_INT(config.synth_workers, 1);
    ASSERT(config.synth_threads >= 1 && config.gpu_threads >= 1);
    ASSERT_INT(config.finalizer_malloc_trim, CONFIG_MALLOC_TRIM_ALWAYS);
    ASSERT_INT(config.circuit_count, 0);
    config_destroy(&config);
}

TEST(every_kind_of_value_is_read)
{
    struct config config;
    ASSERT_INT(load_text("# comment\n; another\n\n"
                         "[Supervisor]\r\nSocket = /tmp/x.sock\nEventLoop=ppoll\n"
                         "StopTimeout=1min 30s\nLogLevel=debug\n"
                         "[Ring]\nHugePages=off\nSlabs=2\nSlabSize=5M\n"
                         "[Ring \"big\"]\nSlabSize=1G\n[Ring \"mid.1\"]\nSlabs=7\n"
                         "[Ring \"big\"]\nSlabs=3\n"
                         "[Synthesis]\nWorkers=2\nThreads=3\nMallocTrim=off\n"
                         "[GPU]\nBackend=cpu\n[Finalizer]\nWorkers=64\n"
                         "[Circuit \"c-1\"]\nZkey=/keys/a.zkey\nR1cs=/keys/a b.r1cs\n"
                         "[Circuit \"c2\"]\nZkey=/k",
                         &config),
               0);
    ASSERT_STR(config.socket_path, "/tmp/x.sock");
    ASSERT_STR(config.admin_socket_path, "/tmp/x-admin.sock");
    ASSERT_INT(config.event_loop, LOOP_PPOLL);
    ASSERT_INT(config.log_level, LOG_LEVEL_DEBUG);
    ASSERT_INT(config.stop_timeout_ns, 90000000000);
    ASSERT_INT(config.ring_count, 3);
    ASSERT_INT(config.rings[0].slab_bytes, 5 * MIB);
    ASSERT_STR(config.rings[1].name, "big");
    ASSERT_INT(config.rings[1].slab_bytes, 1024 * MIB);
    ASSERT_INT(config.rings[1].slab_count, 3);
    ASSERT_STR(config.rings[2].name, "mid.1");
    ASSERT_INT(config.rings[2].slab_count, 7);
    ASSERT_INT(config.rings[2].slab_bytes, 256 * MIB);
    ASSERT_INT(config.synth_threads, 3);
    ASSERT_INT(config.synth_malloc_trim, CONFIG_MALLOC_TRIM_OFF);
    ASSERT_INT(config.gpu_backend, CONFIG_GPU_BACKEND_CPU);
    ASSERT_INT(config.finalizer_workers, 64);
    ASSERT_INT(config.circuit_count, 2);
    ASSERT_STR(config.circuits[0].r1cs_path, "/keys/a b.r1cs");
    ASSERT_STR(config.circuits[1].zkey_path, "/k");
    ASSERT(!config.circuits[1].r1cs_path);
    config_destroy(&config);
}

/* Loads text that must be good. */
static struct config loaded(const char *text)
{
    struct config config;
    if (load_text(text, &config) < 0) {
        fprintf(stderr, "message: %s\n", fault.text);
        ASSERT(!"the text loads");
    }
    return config;
}

TEST(the_device_evaluates_where_there_is_one_unless_told_otherwise)
{
    static const struct {
        const char *text;
        bool device_evaluates;
    } cases[] = {
        {"[GPU]\nBackend=cuda\n", true},
        {"[GPU]\nBackend=cpu\n", false},
        {"[GPU]\nBackend=auto\n", false},
        {"[Synthesis]\nEvaluate=gpu\n", true},
        {"[Synthesis]\nEvaluate=cpu\n", false},
        {"[Synthesis]\nEvaluate=cpu\n[GPU]\nBackend=auto\n", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config = loaded(cases[i].text);
        ASSERT_INT(config.device_evaluates, cases[i].device_evaluates);
        config_destroy(&config);
    }
    REFUSED("[Synthesis]\nEvaluate=gpu\n[GPU]\nBackend=cpu\n",
            "test.conf:2: ", "Evaluate=gpu needs [GPU] Backend=cuda, and it is cpu",
            "Evaluate=auto or cpu");
    REFUSED("[Synthesis]\nEvaluate=gpu\n[GPU]\nBackend=auto\n", "and it is auto");
    REFUSED("[Synthesis]\nEvaluate=both\n", "auto, gpu or cpu");
}

TEST(cards_are_named_by_uuid_each_once)
{
    struct config config = loaded("[GPU]\nDevices=GPU-1a2b  MIG-GPU-3c/1/0\nVramLimit=20G\n"
                                  "RequirePinned=no\n");
    ASSERT_INT(config.gpu_devices.count, 2);
    ASSERT_STR(config.gpu_devices.uuids[0], "GPU-1a2b");
    ASSERT_STR(config.gpu_devices.uuids[1], "MIG-GPU-3c/1/0");
    ASSERT_INT(config.gpu_vram_limit, UINT64_C(20) << 30);
    ASSERT_INT(config.gpu_requires_pinned, 0);
    config_destroy(&config);
    config = loaded("[GPU]\nDevices=auto\nBackend=cpu\n");
    ASSERT_INT(config.gpu_devices.count, 0);
    config_destroy(&config);
    REFUSED("[GPU]\nDevices=0 1\n", "test.conf:2: ", "is not a list of cards",
            "at most 8 different UUIDs");
    REFUSED("[GPU]\nDevices=GPU-1a, GPU-2b\n", "is not a list of cards");
    REFUSED("[GPU]\nDevices=auto GPU-1a\n", "is not a list of cards");
    REFUSED("[GPU]\nDevices=GPU-1a GPU-2b GPU-1A\n", "names a card twice");
    REFUSED("[GPU]\nDevices=GPU-1 GPU-2 GPU-3 GPU-4 GPU-5 GPU-6 GPU-7 GPU-8 GPU-9\n", "at most 8");
    REFUSED("[GPU]\nDevices=GPU-1a\nBackend=cpu\n",
            "test.conf:2: ", "needs [GPU] Backend=cuda, and it is cpu");
    REFUSED("[GPU]\nVramLimit=lots\n", "a size such as 256M");
    REFUSED("[GPU]\nRequirePinned=maybe\n", "yes or no");
}

TEST(unknown_names_are_refused_with_place_and_suggestion)
{
    REFUSED("[Ring]\nSlab=4\n", "test.conf:2: ", "Slab=", "[Ring]", "did you mean Slabs=?");
    REFUSED("[Ring]\n\nhugepages=off\n", "test.conf:3: ", "did you mean HugePages=?");
    REFUSED("[Synthesis]\nBackend=cpu\n", "test.conf:2: ", "belongs to [GPU]");
    REFUSED("[Ring \"a\"]\nHugePages=off\n", "test.conf:2: ", "belongs to [Ring]");
    REFUSED("[Ring]\nColour=red\n", "cuzkd.conf(5)");
    REFUSED("[Rings]\n", "test.conf:1: ", "did you mean [Ring]?");
    REFUSED("[Nonsense]\n", "sections are Supervisor");
}

TEST(duplicate_keys_are_refused)
{
    REFUSED("[Ring]\nSlabs=4\nSlabs=5\n", "test.conf:3: ", "already set in line 2");
    REFUSED("[Ring]\nSlabs=4\n[GPU]\n[Ring]\nSlabs=4\n", "test.conf:5: ", "line 2");
    REFUSED("[Ring \"a\"]\nSlabs=4\n[Ring \"a\"]\nSlabs=4\n", "test.conf:4: ", "line 2");
}

TEST(values_out_of_range_are_refused_with_the_range)
{
    REFUSED("[Ring]\nSlabs=0\n", "test.conf:2: ", "Slabs=0", "1 to 1024");
    REFUSED("[Ring]\nSlabs=1025\n", "1 to 1024");
    REFUSED("[Ring]\nSlabs=99999999999999999999\n", "1 to 1024");
    REFUSED("[Ring]\nSlabs=four\n", "not a number", "1 to 1024");
    REFUSED("[Ring]\nSlabSize=1K\n", "1M to 1T");
    REFUSED("[Ring]\nSlabSize=64MB\n", "a size such as 256M", "1M to 1T");
    REFUSED("[Ring]\nHugePages=maybe\n", "require, prefer or off");
    REFUSED("[Ring]\nHugePageSize=4M\n", "2M or 1G");
    REFUSED("[Supervisor]\nStopTimeout=30\n", "a time such as 30s", "100ms to 1h");
    REFUSED("[Supervisor]\nStopTimeout=2h\n", "100ms to 1h");
    REFUSED("[GPU]\nBackend=CPU\n", "cuda, cpu or auto");
    REFUSED("[GPU]\nBackend=cpu # for now\n", "lines of their own");
    REFUSED("[Supervisor]\nSocket=\n", "no value", "/run/cuzkd/cuzkd.sock");
}

TEST(sums_and_relations_are_checked)
{
    REFUSED("[Ring]\nSlabs=1000\n[Ring \"a\"]\nSlabs=25\n", "test.conf:4: ", "1 to 1024 in all");
    REFUSED("[Ring]\nSlabSize=5M\n", "test.conf:2: ", "multiple of HugePageSize=2M");
    REFUSED("[Ring]\nHugePageSize=1G\n", "SlabSize=256M", "multiple of HugePageSize=1G");
    REFUSED("[Circuit \"a\"]\nR1cs=/x\n", "test.conf:1: ", "no Zkey=");
    REFUSED("[Supervisor]\nAdminSocket=/run/cuzkd/cuzkd.sock\n",
            "test.conf:2: ", "same as Socket=");
}

TEST(relative_and_overlong_paths_are_refused)
{
    char text[400] = "[Supervisor]\nSocket=/";
    REFUSED("[Supervisor]\nStateDirectory=state\n", "test.conf:2: ", "absolute path");
    REFUSED("[Circuit \"a\"]\nZkey=./a.zkey\n", "absolute path");
    memset(text + strlen(text), 'a', 107);
    REFUSED(text, "at most 107 bytes");
    text[strlen("[Supervisor]\nSocket=") + 107] = '\0';
    REFUSED(text, "-admin", "101 bytes");
}

TEST(malformed_lines_are_refused)
{
    REFUSED("Slabs=4\n", "test.conf:1: ", "before the first [Section]");
    REFUSED("[Ring\n", "header");
    REFUSED("[Ring \"a]\n", "header");
    REFUSED("[\"a\"]\n", "header");
    REFUSED("[Ring \"a/b\"]\n", "is no name");
    REFUSED("[Ring \"\"]\n", "is no name");
    REFUSED("[Ring \"default\"]\n", "taken");
    REFUSED("[GPU \"a\"]\n", "takes no name");
    REFUSED("[Circuit]\n", "needs a name");
    REFUSED("[Ring]\nSlabs 4\n", "neither");
    REFUSED("[Ring]\nSl\x01ts=4\n", "control character");
}

TEST(nul_bytes_and_long_lines_are_refused)
{
    static char text[8192];
    struct config config;
    ASSERT_INT(parse_defaults(&config), 0);
    ASSERT_INT(parse_text(&config, "f", "[Ring]\0x", 8, &fault), -EBADMSG);
    memset(text, '#', sizeof text);
    ASSERT_INT(parse_text(&config, "f", text, sizeof text, &fault), -EBADMSG);
    config_destroy(&config);
}

TEST(too_many_sections_are_refused)
{
    static char text[1 << 16];
    size_t used = 0;
    for (int i = 0; i < RINGS_MAX; i++)
        used += (size_t)sprintf(text + used, "[Ring \"r%d\"]\n", i);
    REFUSED(text, "test.conf:16: ", "too many [Ring]");
    used = 0;
    for (int i = 0; i <= CIRCUITS_MAX; i++)
        used += (size_t)sprintf(text + used, "[Circuit \"c%d\"]\nZkey=/z\n", i);
    REFUSED(text, "test.conf:2049: ", "too many [Circuit]");
}

/* Text of what `print` writes; the caller frees it. Inlined, gcc 12 takes the stream's buffer for a
 * pointer into this frame. */
__attribute__((noinline)) static char *printed(void (*print)(FILE *), const struct config *config)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (config)
        config_print_effective(config, out);
    else
        print(out);
    fclose(out);
    return text;
}

static char *file_text(const char *folder, const char *name)
{
    char path[4096], *text = NULL;
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    ASSERT(file);
    ASSERT(getdelim(&text, &bytes, '\0', file) > 0);
    fclose(file);
    return text;
}

TEST(committed_sample_and_man_page_are_what_the_table_makes)
{
    char *made = printed(config_print_sample, NULL);
    char *committed = file_text(SOURCE_ROOT, "config/cuzkd.conf.sample");
    ASSERT(strcmp(made, committed) == 0);
    free(made);
    free(committed);
    made = printed(config_print_man, NULL);
    committed = file_text(SOURCE_ROOT, "docs/man/cuzkd.conf.5");
    ASSERT(strcmp(made, committed) == 0);
    free(made);
    free(committed);
}

TEST(sample_loads_and_says_the_defaults)
{
    struct config sample, defaults;
    ASSERT_INT(config_load(SOURCE_ROOT "/config/cuzkd.conf.sample", &sample, &fault), 0);
    ASSERT_INT(config_load(NULL, &defaults, &fault), 0);
    char *a = printed(NULL, &sample), *b = printed(NULL, &defaults);
    ASSERT(strcmp(a, b) == 0);
    free(a);
    free(b);
    config_destroy(&sample);
    config_destroy(&defaults);
}

/* The sample with its keys uncommented: every default is a legal value. */
TEST(sample_without_comment_signs_loads)
{
    char *text = printed(config_print_sample, NULL), *to = text;
    struct config config;
    for (const char *from = text; *from; from++)
        if (!(*from == '#' && from[1] != ' ' && (from == text || from[-1] == '\n')))
            *to++ = *from;
    *to = '\0';
    ASSERT_INT(load_text(text, &config), -EBADMSG); /* Zkey= is required and shown empty */
    ASSERT(strstr(fault.text, "Zkey= has no value"));
    char *zkey = strstr(text, "\nZkey=\n");
    ASSERT(zkey);
    *strstr(text, "[Circuit") = '\0';
    ASSERT_INT(load_text(text, &config), 0);
    config_destroy(&config);
    free(text);
}

TEST(effective_values_show_their_origin_and_load_again)
{
    struct config config, again;
    ASSERT_INT(load_text("[Ring]\nSlabs=9\n[Ring \"b\"]\nSlabSize=4M\n[Circuit \"c\"]\nZkey=/z\n",
                         &config),
               0);
    char *text = printed(NULL, &config);
    ASSERT(strstr(text, "# test.conf:2\nSlabs=9\n"));
    ASSERT(strstr(text, "[Ring \"b\"]\n# default\nSlabs=4\n# test.conf:4\nSlabSize=4M\n"));
    ASSERT(strstr(text, "# derived\nAdminSocket=/run/cuzkd/cuzkd-admin.sock\n"));
    ASSERT(strstr(text, "[Circuit \"c\"]\n# test.conf:6\nZkey=/z\n"));
    ASSERT(strstr(text, "# default\nHugePages=require\n"));
    ASSERT_INT(load_text(text, &again), 0);
    ASSERT_INT(again.rings[1].slab_bytes, 4 * MIB);
    ASSERT_INT(again.synth_threads, config.synth_threads);
    config_destroy(&config);
    config_destroy(&again);
    free(text);
}

static char folder[] = "/tmp/test_config.XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    ASSERT(file);
    fputs(text, file);
    fclose(file);
}

TEST(drop_ins_override_in_the_order_of_their_names)
{
    char path[256], text[512];
    struct config config;
    ASSERT(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/cuzkd.conf.d", folder);
    ASSERT_INT(mkdir(path, 0700), 0);
    write_file("cuzkd.conf", "[Ring]\nSlabs=1\nSlabSize=2M\n");
    write_file("cuzkd.conf.d/20.conf", "[Ring]\nSlabs=3\n");
    write_file("cuzkd.conf.d/10.conf", "[Ring]\nSlabs=2\n[GPU]\nThreads=5\n");
    write_file("cuzkd.conf.d/30.conf.bak", "nonsense");
    write_file("cuzkd.conf.d/.hidden.conf", "nonsense");
    snprintf(path, sizeof path, "%s/cuzkd.conf", folder);
    ASSERT_INT(config_load(path, &config, &fault), 0);
    ASSERT_INT(config.rings[0].slab_count, 3);
    ASSERT_INT(config.rings[0].slab_bytes, 2 * MIB);
    ASSERT_INT(config.gpu_threads, 5);
    char *shown = printed(NULL, &config);
    snprintf(text, sizeof text, "# %s.d/20.conf:2\nSlabs=3\n", path);
    ASSERT(strstr(shown, text));
    free(shown);
    config_destroy(&config);

    write_file("cuzkd.conf.d/20.conf", "[Ring]\nSlots=3\n");
    ASSERT_INT(config_load(path, &config, &fault), -EBADMSG);
    snprintf(text, sizeof text, "%s.d/20.conf:2: ", path);
    ASSERT(strstr(fault.text, text) == fault.text);
}

TEST(a_main_file_may_be_absent_and_its_drop_ins_count)
{
    struct config config;
    char path[] = "/tmp/test_config_XXXXXX", text[256];
    ASSERT(mkdtemp(path));
    snprintf(text, sizeof text, "%s/cuzkd.conf.d", path);
    ASSERT_INT(mkdir(text, 0700), 0);
    snprintf(text, sizeof text, "%s/cuzkd.conf.d/a.conf", path);
    FILE *file = fopen(text, "w");
    ASSERT(file);
    fputs("[Ring]\nSlabs=3\n", file);
    fclose(file);
    snprintf(text, sizeof text, "%s/cuzkd.conf", path);
    ASSERT_INT(config_load(text, &config, &fault), -ENOENT);
    ASSERT_INT(config_load_optional(text, &config, &fault), 0);
    ASSERT_INT(config.rings[0].slab_count, 3);
    config_destroy(&config);
    /* One of them that cannot be opened is a fault, not a reason to forget all the others. */
    snprintf(text, sizeof text, "%s/cuzkd.conf.d/b.conf", path);
    ASSERT_INT(symlink("/nonexistent/b.conf", text), 0);
    snprintf(text, sizeof text, "%s/cuzkd.conf", path);
    ASSERT_INT(config_load_optional(text, &config, &fault), -ENOENT);
    ASSERT(strstr(fault.text, "b.conf"));
    snprintf(text, sizeof text, "rm -r %s", path);
    ASSERT_INT(system(text), 0);
}

TEST(files_that_are_not_there_or_not_regular_are_refused)
{
    char path[256];
    struct config config;
    ASSERT_INT(config_load("/nonexistent/cuzkd.conf", &config, &fault), -ENOENT);
    ASSERT(strstr(fault.text, "/nonexistent/cuzkd.conf: cannot be opened"));
    snprintf(path, sizeof path, "%s/fifo", folder);
    ASSERT_INT(mkfifo(path, 0600), 0);
    ASSERT_INT(config_load(path, &config, &fault), -EBADMSG);
    ASSERT(strstr(fault.text, "not a regular file"));
    ASSERT_INT(config_load(folder, &config, &fault), -EBADMSG);
    snprintf(path, sizeof path, "rm -r %s", folder);
    ASSERT_INT(system(path), 0);
}

/* What stat says of a file's size is not believed: of this one it says 0. */
TEST(a_file_of_more_bytes_than_allowed_is_refused_and_not_cut_short)
{
    static const char path[] = "/proc/kallsyms";
    struct config config;
    char *text = malloc(PARSE_FILE_BYTES_MAX + 1);
    FILE *file = fopen(path, "r");
    const size_t bytes = file ? fread(text, 1, PARSE_FILE_BYTES_MAX + 1, file) : 0;
    if (file)
        fclose(file);
    free(text);
    if (bytes <= PARSE_FILE_BYTES_MAX) /* a kernel or container that hides it */
        return;
    ASSERT_INT(config_load(path, &config, &fault), -EBADMSG);
    ASSERT(strstr(fault.text, "larger than"));
}

TEST(help_and_default_of_every_option_fit_the_generated_texts)
{
    for (unsigned i = 0; i < option_count; i++) {
        ASSERT(option_section_find(options[i].section));
        ASSERT(strlen(options[i].help) < 400 && !strchr(options[i].help, '\\'));
        ASSERT(options[i].help[0] != '.' && options[i].help[0] != '\'');
        ASSERT(!options[i].choices || options[i].default_text);
        for (unsigned k = 0; k < i; k++)
            ASSERT(strcmp(options[i].section, options[k].section) != 0 ||
                   strcmp(options[i].key, options[k].key) != 0);
    }
}

TEST_MAIN(CASE(defaults_are_the_documented_ones), CASE(every_kind_of_value_is_read),
          CASE(the_device_evaluates_where_there_is_one_unless_told_otherwise),
          CASE(cards_are_named_by_uuid_each_once),
          CASE(unknown_names_are_refused_with_place_and_suggestion),
          CASE(duplicate_keys_are_refused), CASE(values_out_of_range_are_refused_with_the_range),
          CASE(sums_and_relations_are_checked), CASE(relative_and_overlong_paths_are_refused),
          CASE(malformed_lines_are_refused), CASE(nul_bytes_and_long_lines_are_refused),
          CASE(too_many_sections_are_refused),
          CASE(committed_sample_and_man_page_are_what_the_table_makes),
          CASE(sample_loads_and_says_the_defaults), CASE(sample_without_comment_signs_loads),
          CASE(effective_values_show_their_origin_and_load_again),
          CASE(drop_ins_override_in_the_order_of_their_names),
          CASE(a_main_file_may_be_absent_and_its_drop_ins_count),
          CASE(files_that_are_not_there_or_not_regular_are_refused),
          CASE(a_file_of_more_bytes_than_allowed_is_refused_and_not_cut_short),
          CASE(help_and_default_of_every_option_fit_the_generated_texts))
