/* The CUDA backend's memory, over the stub: what is registered and let go of, what is allocated and
 * when, what a small card does. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "tests/gpu-worker/cuda/rig.h"

static const struct backend_ops *const ops = &cuzk_backend_plugin;

static void opens(struct rig *rig, const char *words)
{
    if (rig_try_open(rig, words, &rig_options) < 0) {
        fprintf(stderr, "%s\n", rig_text);
        ASSERT(!"the backend opens");
    }
}

TEST(every_slab_is_registered_once_and_let_go_of)
{
    struct rig rig;
    opens(&rig, "");
    rig_make(&rig, &curve_bn254, 4, 6);
    ASSERT(rig_attach(&rig));
    ASSERT(!rig.last.is_unpinned);
    ASSERT_INT(stub_registered(), 6);
    ASSERT_INT(stub_calls("host_register"), 6);
    ASSERT(rig_load(&rig) && rig_prove(&rig) && rig_drop(&rig));
    ASSERT(rig_detach(&rig));
    ASSERT_INT(stub_registered(), 0);
    ASSERT(rig_attach(&rig)); /* left to close */
    ASSERT(rig_close(&rig));
    ASSERT_INT(stub_calls("host_register"), stub_calls("host_unregister"));
}

TEST(a_slab_that_cannot_be_registered_is_refused_and_nothing_of_it_stays)
{
    struct rig rig;
    opens(&rig, "");
    rig_make(&rig, &curve_bn254, 3, 4);
    stub_add("fail=host_register:3:304");
    for (unsigned i = 0; i < 4; i++) {
        ASSERT_INT(
            ops->attach_slab(rig.backend, i, rig.partitions[i].slab, rig.partitions[i].bytes), 0);
        ASSERT(rig_event(&rig, i == 2 ? BACKEND_SLAB_REFUSED : BACKEND_SLAB_ATTACHED));
        ASSERT_INT(rig.last.id, i);
        if (i == 2) {
            ASSERT(rig.last.fault != BACKEND_FAULT_NONE);
            ASSERT(strstr(rig.last.text, "304") && strstr(rig.last.text, "Stub GPU 0"));
        }
    }
    ASSERT_INT(stub_registered(), 3);
    ASSERT(rig_detach(&rig));
    ASSERT_INT(stub_registered(), 0);
    ASSERT(rig_attach(&rig)); /* and again, where nothing fails any more */
    ASSERT(rig_close(&rig));
}

TEST(memory_that_cannot_be_pinned_is_read_all_the_same_where_that_is_allowed)
{
    struct backend_options options = rig_options;
    struct rig rig;
    options.requires_pinned = false;
    ASSERT_INT(rig_try_open(&rig, "order=5", &options), 0);
    rig_make(&rig, &curve_bls12_381, 5, 4);
    stub_add("fail=host_register:1+:304");
    for (unsigned i = 0; i < 4; i++) {
        ASSERT_INT(
            ops->attach_slab(rig.backend, i, rig.partitions[i].slab, rig.partitions[i].bytes), 0);
        ASSERT(rig_event(&rig, BACKEND_SLAB_ATTACHED));
        ASSERT(rig.last.is_unpinned && strstr(rig.last.text, "304"));
    }
    ASSERT(rig_load(&rig));
    ASSERT(rig_prove(&rig) && rig_prove(&rig));
    ASSERT(rig_drop(&rig) && rig_detach(&rig));
    ASSERT_INT(stub_calls("host_unregister"), 0); /* there was nothing to let go of */
    ASSERT(rig_close(&rig));
}

TEST(a_slab_in_use_is_not_let_go_of)
{
    struct rig rig;
    opens(&rig, "");
    rig_make(&rig, &curve_bn254, 3, 2);
    ASSERT(rig_load(&rig) && rig_attach(&rig));
    stub_add("hang=copy_to_device:1");
    ASSERT_INT(rig_start(&rig, 0, 0), 0);
    ASSERT_INT(ops->detach_slab(rig.backend, 0), -EBUSY);
    ASSERT_INT(ops->detach_slab(rig.backend, 1), 0);
    ASSERT_INT(ops->drop_key(rig.backend, RIG_KEY), -EBUSY);
    stub_heal();
    ASSERT(rig_event(&rig, BACKEND_PROVED));
    ASSERT_INT(ops->detach_slab(rig.backend, 0), 0);
    ASSERT_INT(stub_registered(), 0);
    ASSERT(rig_close(&rig));
}

/* Who needs the slab for another partition, or for nobody, need not wait for this one's sums. */
TEST(a_slab_is_let_go_of_once_its_partition_is_uploaded)
{
    struct rig rig;
    opens(&rig, "");
    rig_make(&rig, &curve_bn254, 3, 2);
    ASSERT(rig_load(&rig) && rig_attach(&rig));
    stub_add("hang=msm_sum:1");
    ASSERT_INT(rig_start(&rig, 0, 0), 0);
    do
        ASSERT(rig_next(&rig, 10000));
    while (rig.last.kind != BACKEND_UPLOADED);
    ASSERT_INT(ops->detach_slab(rig.backend, 0), 0);
    ASSERT_INT(ops->detach_slab(rig.backend, 1), 0);
    stub_heal();
    ASSERT(rig_event(&rig, BACKEND_PROVED));
    ASSERT(rig_close(&rig));
}

/* Every driver call that open makes fails once. */
TEST(an_open_that_fails_anywhere_holds_nothing)
{
    static const char *const functions[] = {"device_count",  "device_get",   "open",
                                            "check_code",    "memory",       "malloc",
                                            "stream_create", "event_create", "malloc_host"};
    struct rig rig;
    opens(&rig, "");
    uint64_t calls[sizeof functions / sizeof functions[0]];
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        calls[i] = stub_calls(functions[i]);
    ASSERT(rig_close(&rig));
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        for (uint64_t k = 1; k <= calls[i]; k++) {
            char words[64];
            snprintf(words, sizeof words, "fail=%s:%llu:2", functions[i], (unsigned long long)k);
            ASSERT(rig_try_open(&rig, words, &rig_options) < 0);
            ASSERT(strstr(rig_text, "cudaErrorMemoryAllocation"));
            ASSERT_INT(stub_allocated(), 0);
            stub_heal();
            ASSERT_INT(ops->open(&rig_options, &rig.backend, rig_text), 0);
            ASSERT(rig_close(&rig));
        }
    }
}

/* Every driver call of a load fails once: the key is refused, or where that fails that cannot be
 * told from a slow device, loaded. What was there goes on. */
TEST(a_load_that_fails_anywhere_leaves_the_rest_as_it_was)
{
    static const char *const functions[] = {
        "copy_to_device", "copy_on_device",      "fill", "event_record", "stream_wait",
        "msm_fill_table", "transform_fill_table"};
    struct rig rig;
    opens(&rig, "");
    rig_make(&rig, &curve_bn254, 5, 2);
    ASSERT(rig_attach(&rig));
    unsigned refused = 0;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        for (uint64_t k = 1;; k++) {
            char words[64];
            snprintf(words, sizeof words, "fail=%s:%llu:1", functions[i], (unsigned long long)k);
            const uint64_t before = stub_calls(functions[i]);
            stub_add(words);
            ASSERT_INT(ops->load_key(rig.backend, RIG_KEY, &rig.circuit.prepared), 0);
            ASSERT(rig_next(&rig, RIG_TIMEOUT_MS));
            const bool is_loaded = rig.last.kind == BACKEND_KEY_LOADED;
            const bool has_failed = stub_calls(functions[i]) >= before + k;
            stub_heal();
            if (is_loaded) {
                ASSERT(!has_failed);
                ASSERT(rig_prove(&rig) && rig_drop(&rig));
                break;
            }
            ASSERT_INT(rig.last.kind, BACKEND_KEY_REFUSED);
            ASSERT_INT(rig.last.fault, BACKEND_FAULT_DEVICE);
            ASSERT(strstr(rig.last.text, "cudaErrorInvalidValue") ||
                   strstr(rig.last.text, "launch"));
            refused++;
        }
    }
    ASSERT(refused >= 5);
    ASSERT(rig_load(&rig) && rig_prove(&rig));
    ASSERT(rig_close(&rig));
}

TEST(a_key_that_fits_no_card_is_refused_with_need_and_free)
{
    struct rig rig;
    opens(&rig, "memory=96K");
    rig_make(&rig, &curve_bls12_381, 9, 1);
    ASSERT_INT(ops->load_key(rig.backend, RIG_KEY, &rig.circuit.prepared), 0);
    ASSERT(rig_event(&rig, BACKEND_KEY_REFUSED));
    ASSERT_INT(rig.last.fault, BACKEND_FAULT_MEMORY);
    ASSERT(strstr(rig.last.text, "needs") && strstr(rig.last.text, "free"));
    ASSERT(rig_close(&rig));
}

TEST(a_bellman_key_is_refused_in_words)
{
    struct rig rig;
    opens(&rig, "");
    rig_make(&rig, &curve_bls12_381, 5, 1);
    rig.circuit.prepared.layout = PREPARED_LAYOUT_BELLMAN;
    ASSERT_INT(ops->load_key(rig.backend, RIG_KEY, &rig.circuit.prepared), 0);
    ASSERT(rig_event(&rig, BACKEND_KEY_REFUSED));
    ASSERT_INT(rig.last.fault, BACKEND_FAULT_INPUT);
    ASSERT(strstr(rig.last.text, "bellman") && strstr(rig.last.text, "Backend=cpu"));
    rig.circuit.prepared.layout = PREPARED_LAYOUT_SNARKJS;
    ASSERT(rig_attach(&rig) && rig_load(&rig) && rig_prove(&rig));
    ASSERT(rig_close(&rig));
}

TEST(keys_come_and_go_without_a_call_of_the_allocator)
{
    enum { KEYS = 3 };
    struct circuit circuits[KEYS];
    struct rig rig;
    opens(&rig, "order=3;memory=24M");
    rig_make(&rig, &curve_bn254, 6, 2);
    ASSERT(rig_attach(&rig));
    for (unsigned i = 0; i < KEYS; i++)
        circuit_make(&rig.random, &circuits[i], i % 2 ? &curve_bn254 : &curve_bls12_381, 4 + i);
    uint64_t mallocs = 0;
    for (unsigned round = 0; round < 30; round++) {
        for (unsigned i = 0; i < KEYS; i++) {
            ASSERT_INT(ops->load_key(rig.backend, i, &circuits[i].prepared), 0);
            ASSERT(rig_event(&rig, BACKEND_KEY_LOADED));
        }
        ASSERT(rig_load(&rig) && rig_prove(&rig));
        if (round == 0)
            mallocs = stub_calls("malloc");
        for (unsigned i = 0; i < KEYS; i++) {
            ASSERT_INT(ops->drop_key(rig.backend, (i + round) % KEYS), 0);
            ASSERT(rig_event(&rig, BACKEND_KEY_DROPPED));
        }
        ASSERT(rig_prove(&rig) && rig_drop(&rig));
    }
    ASSERT_INT(stub_calls("malloc"), mallocs);
    for (unsigned i = 0; i < KEYS; i++)
        circuit_free(&circuits[i]);
    ASSERT(rig_close(&rig));
}

TEST(a_thousand_proofs_allocate_and_register_nothing)
{
    static const char *const functions[] = {
        "malloc",          "free",          "malloc_host",    "free_host",    "host_register",
        "host_unregister", "stream_create", "stream_destroy", "event_create", "event_destroy"};
    enum { FUNCTIONS = sizeof functions / sizeof functions[0] };
    uint64_t before[FUNCTIONS];
    struct rig rig;
    opens(&rig, "");
    rig_make(&rig, &curve_bn254, 2, RIG_PARTITIONS);
    ASSERT(rig_attach(&rig) && rig_load(&rig) && rig_prove(&rig));
    for (unsigned i = 0; i < FUNCTIONS; i++)
        before[i] = stub_calls(functions[i]);
    for (unsigned i = 0; i < 1000 / RIG_PARTITIONS; i++)
        ASSERT(rig_prove(&rig));
    for (unsigned i = 0; i < FUNCTIONS; i++)
        ASSERT_INT(stub_calls(functions[i]), before[i]);
    ASSERT(rig_close(&rig));
}

TEST(the_card_is_the_one_that_was_named)
{
    struct backend_options options = rig_options;
    struct rig rig;
    options.device = "GPU-000057b1";
    ASSERT_INT(rig_try_open(&rig, "devices=3;1.memory=64M", &options), 0);
    ASSERT_STR(rig.device.name, "Stub GPU 1");
    ASSERT_STR(rig.device.uuid, "GPU-000057b1-0000-4000-8000-000000000001");
    ASSERT_INT(rig.device.memory_bytes, 64 << 20);
    ASSERT(rig.device.partitions_useful >= 2);
    ASSERT_INT(rig.device.poll_interval_ns, 50000000);
    ASSERT(rig_close(&rig));
    options.device = "GPU-99";
    ASSERT_INT(rig_try_open(&rig, "", &options), -ENODEV);
    ASSERT(strstr(rig_text, "GPU-99"));
    ASSERT_INT(rig_try_open(&rig, "devices=0", &rig_options), -ENODEV);
}

TEST(a_card_that_is_held_is_not_touched)
{
    char folder[] = "/tmp/cuzk-XXXXXX", words[64], path[64];
    struct rig rig;
    ASSERT(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/gpu0", folder);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_INT(flock(fd, LOCK_EX | LOCK_NB), 0);
    snprintf(words, sizeof words, "lock=%s", folder);
    ASSERT_INT(rig_try_open(&rig, words, &rig_options), -EBUSY);
    ASSERT(strstr(rig_text, "held by another GPU worker (process"));
    ASSERT_INT(stub_calls("open") + stub_calls("malloc"), 0);
    close(fd);
    ASSERT_INT(ops->open(&rig_options, &rig.backend, rig_text), 0);
    ASSERT(rig_close(&rig));
    unlink(path);
    rmdir(folder);
}

TEST_MAIN(CASE(every_slab_is_registered_once_and_let_go_of),
          CASE(a_slab_that_cannot_be_registered_is_refused_and_nothing_of_it_stays),
          CASE(memory_that_cannot_be_pinned_is_read_all_the_same_where_that_is_allowed),
          CASE(a_slab_in_use_is_not_let_go_of),
          CASE(a_slab_is_let_go_of_once_its_partition_is_uploaded),
          CASE(an_open_that_fails_anywhere_holds_nothing),
          CASE(a_load_that_fails_anywhere_leaves_the_rest_as_it_was),
          CASE(a_key_that_fits_no_card_is_refused_with_need_and_free),
          CASE(a_bellman_key_is_refused_in_words),
          CASE(keys_come_and_go_without_a_call_of_the_allocator),
          CASE(a_thousand_proofs_allocate_and_register_nothing),
          CASE(the_card_is_the_one_that_was_named), CASE(a_card_that_is_held_is_not_touched))
