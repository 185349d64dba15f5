/* cuzkd: options, configuration, start, loop. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "runtime/files.h"
#include "runtime/init.h"
#include "runtime/log.h"
#include "runtime/notify.h"
#include "supervisor/memory_plan.h"
#include "supervisor/supervisor.h"

enum {
    NOTIFY_FINISH_MS = 1000,
};

/* Large, and there is one. */
static struct supervisor supervisor;

static void print_help(FILE *out)
{
    fputs("usage: cuzkd [--config FILE] [--check-config]\n"
          "\n"
          "Runs the proving service in the foreground until SIGTERM or SIGINT.\n"
          "\n"
          "  --config FILE    configuration; drop-ins are read from FILE.d/*.conf\n"
          "                   (default " CONFIG_PATH_DEFAULT ", which may be absent)\n"
          "  --check-config   check it, print the effective values and the memory plan, and exit\n"
          "  --version        print the version and exit\n"
          "  --help           print this and exit\n"
          "\n"
          "Exit status: 0 stopped when asked, 1 failure, 2 wrong usage or configuration; with\n"
          "--check-config also 3 hugepages are short, 4 the cgroup may not have as many, 5 memory\n"
          "is short.\n",
          out);
}

static int read_config(const char *path, struct config *ret)
{
    struct config_fault fault;
    int r = path ? config_load(path, ret, &fault)
                 : config_load_optional(CONFIG_PATH_DEFAULT, ret, &fault);
    if (r < 0)
        fprintf(stderr, "cuzkd: %s\n", fault.text);
    return r;
}

static int run(const struct config *config, const char *path)
{
    int status = init_serve();
    if (status >= 0)
        return status;
    supervisor.config_path = path;
    log_init("cuzkd", config->log_level);
    log_info("cuzkd " CUZK_VERSION " starts");
    status = 1;
    int r = supervisor_start(&supervisor, config);
    if (r == 0)
        status = supervisor_run(&supervisor);
    else if (r == -ECANCELED)
        status = 0;
    else
        log_error("start-up failed");
    supervisor_destroy(&supervisor);
    notify_finish(NOTIFY_FINISH_MS);
    log_info("cuzkd has stopped");
    return status;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'},
        {"check-config", no_argument, NULL, 'k'},
        {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    const char *path = NULL;
    bool is_check = false;
    struct config config;
    int option;
    files_open_standard();
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'c':
            path = optarg;
            break;
        case 'k':
            is_check = true;
            break;
        case 'v':
            puts("cuzkd " CUZK_VERSION);
            return 0;
        case 'h':
            print_help(stdout);
            return 0;
        default:
            print_help(stderr);
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "cuzkd: unexpected argument \"%s\"\n", argv[optind]);
        print_help(stderr);
        return 2;
    }
    if (read_config(path, &config) < 0)
        return 2;
    if (!is_check)
        return run(&config, path);
    config_print_effective(&config, stdout);
    enum memory_plan_verdict verdict = memory_plan_print(&config, stdout);
    config_destroy(&config);
    return (int)verdict;
}
