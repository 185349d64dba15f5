/* What config/changes.h promises: differences, their effects, and what a running daemon keeps. */
#include "config/changes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/parse.h"
#include "tests/test.h"

static struct config_fault fault;

static struct config load(const char *text)
{
    struct config config;
    ASSERT_INT(parse_defaults(&config), 0);
    int r = parse_text(&config, "f", text, strlen(text), &fault);
    if (r == 0)
        r = parse_finish(&config, &fault);
    if (r < 0)
        fprintf(stderr, "%s\n", fault.text);
    ASSERT_INT(r, 0);
    return config;
}

/* The changes as lines "key before -> after (effect)". */
static const char *compared(const char *before_text, const char *after_text)
{
    static char ret[4096];
    struct config before = load(before_text), after = load(after_text);
    struct config_changes changes;
    size_t used = 0;
    ret[0] = '\0';
    ASSERT_INT(config_changes_find(&before, &after, &changes), 0);
    for (uint32_t i = 0; i < changes.count; i++)
        used += (size_t)snprintf(ret + used, sizeof ret - used, "%s %s -> %s (%s)\n",
                                 changes.entries[i].key, changes.entries[i].before,
                                 changes.entries[i].after,
                                 config_effect_to_string(changes.entries[i].effect));
    config_changes_free(&changes);
    config_destroy(&before);
    config_destroy(&after);
    return ret;
}

TEST(equal_configurations_differ_in_nothing)
{
    ASSERT_STR(compared("", ""), "");
    ASSERT_STR(compared("[Ring]\nSlabSize=256M\n", "[Ring]\nSlabSize=262144K\n"), "");
    ASSERT_STR(compared("[Ring \"a\"]\n[Ring \"b\"]\nSlabs=2\n", "[Ring \"b\"]\nSlabs=2\n[Ring \"a\"]\n"),
               "");
}

TEST(each_change_says_what_it_takes)
{
    ASSERT_STR(compared("", "[Supervisor]\nAttemptsMax=7\nLogLevel=debug\nEventLoop=ppoll\n"),
               "Supervisor.EventLoop auto -> ppoll (daemon)\n"
               "Supervisor.LogLevel info -> debug (now)\n"
               "Supervisor.AttemptsMax 5 -> 7 (now)\n");
    ASSERT_STR(compared("[Synthesis]\nThreads=2\n[GPU]\nThreads=2\n",
                        "[Synthesis]\nThreads=1\nWorkers=3\n[GPU]\nThreads=2\nVramLimit=1G\n"
                        "[Finalizer]\nMallocTrim=off\n"),
               "Synthesis.Workers 1 -> 3 (now)\n"
               "Synthesis.Threads 2 -> 1 (synth)\n"
               "GPU.VramLimit 0 -> 1G (gpu)\n"
               "Finalizer.MallocTrim always -> off (finalizer)\n");
    ASSERT_STR(compared("[Ring]\nSlabs=4\nSlabSize=8M\n", "[Ring]\nSlabs=2\nSlabSize=16M\n"),
               "Ring.Slabs 4 -> 2 (now)\nRing.SlabSize 8M -> 16M (now)\n");
}

TEST(named_sections_come_go_and_change_by_name)
{
    ASSERT_STR(compared("[Ring \"a\"]\nSlabs=3\n[Ring \"b\"]\n",
                        "[Ring \"c\"]\nSlabs=1\nSlabSize=1G\n[Ring \"a\"]\nSlabs=5\n"),
               "Ring \"b\" 4 slabs of 256M -> removed (now)\n"
               "Ring \"c\" absent -> 1 slabs of 1G (now)\n"
               "Ring \"a\".Slabs 3 -> 5 (now)\n");
    ASSERT_STR(compared("[Circuit \"x\"]\nZkey=/x\n[Circuit \"y\"]\nZkey=/y\n",
                        "[Circuit \"y\"]\nZkey=/z\n[Circuit \"w\"]\nZkey=/w\n"),
               "Circuit \"x\" /x -> removed (now)\n"
               "Circuit \"w\" absent -> /w (now)\n"
               "Circuit \"y\".Zkey /y -> /z (daemon)\n");
}

TEST(what_needs_a_restart_stays_as_it_runs)
{
    struct config running = load("[Supervisor]\nSocket=/run/a.sock\nEventLoop=ppoll\n"
                                 "SocketMode=0600\n[GPU]\nBackend=cpu\nThreads=1\n"
                                 "[Circuit \"y\"]\nZkey=/y\n");
    struct config next = load("[Supervisor]\nSocket=/run/b.sock\nAttemptsMax=9\nSocketMode=0666\n"
                              "[GPU]\nBackend=cuda\nThreads=3\n[Ring]\nSlabs=9\n"
                              "[Circuit \"y\"]\nZkey=/z\n[Circuit \"new\"]\nZkey=/n\n");
    config_changes_defer(&running, &next);
    config_destroy(&running);
    ASSERT_STR(next.socket_path, "/run/a.sock");
    ASSERT_STR(next.admin_socket_path, "/run/a-admin.sock");
    ASSERT_INT(next.event_loop, LOOP_PPOLL);
    ASSERT_INT(next.socket_mode, 0600);
    ASSERT_INT(next.gpu_backend, CONFIG_GPU_BACKEND_CPU);
    ASSERT(!next.device_evaluates);
    ASSERT_STR(next.circuits[0].zkey_path, "/y");
    ASSERT_INT(next.attempts_max, 9);
    ASSERT_INT(next.gpu_threads, 3);
    ASSERT_INT(next.rings[0].slab_count, 9);
    ASSERT_STR(next.circuits[1].zkey_path, "/n");
    config_destroy(&next);
}

/* Every option, its neighbours included, survives being deferred with a value of its own. */
TEST(deferring_moves_whole_values)
{
    struct config running = load("[Supervisor]\nSocket=/run/a.sock\n"), next = load("");
    struct config_changes changes;
    struct config as_running = load("[Supervisor]\nSocket=/run/a.sock\n");
    config_changes_defer(&running, &next);
    ASSERT_INT(config_changes_find(&as_running, &next, &changes), 0);
    ASSERT_INT(changes.count, 0);
    config_changes_free(&changes);
    config_destroy(&running);
    config_destroy(&as_running);
    config_destroy(&next);
}

TEST(a_removed_key_says_what_to_do_instead)
{
    static const struct option_removal removals[] = {
        {"Ring", "SlabCount", "Slabs= says it now"}, {0}};
    const struct option_removal *before = option_removals;
    struct config config;
    const char *text = "[Ring]\n\nSlabCount=4\n", *elsewhere = "[GPU]\nSlabCount=4\n";
    option_removals = removals;
    ASSERT_INT(parse_defaults(&config), 0);
    ASSERT_INT(parse_text(&config, "f.conf", text, strlen(text), &fault), -EBADMSG);
    ASSERT_STR(fault.text, "f.conf:3: SlabCount= of [Ring] was removed: Slabs= says it now");
    ASSERT_INT(parse_text(&config, "g.conf", elsewhere, strlen(elsewhere), &fault), -EBADMSG);
    ASSERT(strstr(fault.text, "unknown key"));
    config_destroy(&config);
    option_removals = before;
}

TEST_MAIN(CASE(equal_configurations_differ_in_nothing), CASE(each_change_says_what_it_takes),
          CASE(named_sections_come_go_and_change_by_name),
          CASE(what_needs_a_restart_stays_as_it_runs), CASE(deferring_moves_whole_values),
          CASE(a_removed_key_says_what_to_do_instead))
