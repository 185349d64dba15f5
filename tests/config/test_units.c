/* What config/units.h promises, case by case. */
#include <errno.h>

#include "config/name.h"
#include "config/nearest.h"
#include "config/socket_path.h"
#include "config/units.h"
#include "tests/test.h"

static uint64_t size(const char *text)
{
    uint64_t value = 0;
    ASSERT_INT(units_parse_size(text, &value), 0);
    return value;
}

static uint64_t ns(const char *text)
{
    uint64_t value = 0;
    ASSERT_INT(units_parse_time(text, &value), 0);
    return value;
}

TEST(sizes_are_read_with_their_units)
{
    ASSERT_INT(size("0"), 0);
    ASSERT_INT(size("4096"), 4096);
    ASSERT_INT(size("1K"), 1024);
    ASSERT_INT(size("64M"), 64ll << 20);
    ASSERT_INT(size("10G"), 10ll << 30);
    ASSERT_INT(size("1T"), 1ll << 40);
}

TEST(sizes_refuse_what_is_none)
{
    static const char *const bad[] = {"",    "M",   "-1",   "+1",   "1m",
                                      "1MB", "1 M", "1.5G", "0x10", " 1"};
    uint64_t value = 7;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ASSERT_INT(units_parse_size(bad[i], &value), -EINVAL);
    ASSERT_INT(units_parse_size("18446744073709551616", &value), -ERANGE);
    ASSERT_INT(units_parse_size("16777216T", &value), -ERANGE);
    ASSERT_INT(value, 7);
    ASSERT(size("18446744073709551615") == UINT64_MAX);
}

TEST(times_are_summed_over_their_terms)
{
    ASSERT_INT(ns("5s"), 5000000000);
    ASSERT_INT(ns("2min"), 120000000000);
    ASSERT_INT(ns("500ms"), 500000000);
    ASSERT_INT(ns("1min 30s"), 90000000000);
    ASSERT_INT(ns("1h30min"), 5400000000000);
    ASSERT_INT(ns("1d"), 86400000000000);
    ASSERT_INT(ns("0"), 0);
}

TEST(times_refuse_what_is_none)
{
    static const char *const bad[] = {"", "5", "s", "5 s", "5sec", "5s,", "-5s", "5S", "5s 3"};
    uint64_t value;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ASSERT_INT(units_parse_time(bad[i], &value), -EINVAL);
    ASSERT_INT(units_parse_time("999999999999d", &value), -ERANGE);
    ASSERT_INT(units_parse_time("200000d 200000d", &value), -ERANGE);
}

TEST(printed_values_read_back_the_same)
{
    uint64_t state = test_seed();
    char text[UNITS_TEXT_BYTES];
    for (int i = 0; i < 10000; i++) {
        uint64_t value = test_random(&state) >> (test_random(&state) % 64);
        ASSERT(size(units_print_size(value, text)) == value);
        value = value / 100000 * 1000;
        ASSERT(ns(units_print_time(value, text)) == value);
    }
    ASSERT_STR(units_print_size(256 << 20, text), "256M");
    ASSERT_STR(units_print_time(90000000000, text), "90s");
}

TEST(names_have_the_documented_alphabet_and_length)
{
    char longest[65];
    memset(longest, 'a', sizeof longest);
    ASSERT(name_is_valid("Az09._-", 7));
    ASSERT(name_is_valid(longest, 64));
    ASSERT(!name_is_valid(longest, 65));
    ASSERT(!name_is_valid("", 0));
    ASSERT(!name_is_valid("a/b", 3));
    ASSERT(!name_is_valid("a b", 3));
    ASSERT(!name_is_valid("a\0b", 3));
    ASSERT(!name_is_valid("\xc3\xa4", 2));
}

TEST(admin_socket_derives_from_submit_socket)
{
    char admin[SOCKET_PATH_BYTES], text[SOCKET_PATH_BYTES + 8];
    ASSERT_INT(socket_path_admin("/run/cuzkd/cuzkd.sock", admin), 0);
    ASSERT_STR(admin, "/run/cuzkd/cuzkd-admin.sock");
    ASSERT_INT(socket_path_admin("/run/x", admin), 0);
    ASSERT_STR(admin, "/run/x-admin");
    memset(text, 'a', sizeof text);
    text[101] = '\0';
    ASSERT_INT(socket_path_admin(text, admin), 0);
    ASSERT_INT(strlen(admin), 107);
    text[101] = 'a';
    text[102] = '\0';
    ASSERT_INT(socket_path_admin(text, admin), -ENAMETOOLONG);
}

TEST(nearest_finds_slips_and_nothing_else)
{
    struct nearest nearest;
    ASSERT_INT(nearest_distance("kitten", "sitting"), 3);
    ASSERT_INT(nearest_distance("", "abc"), 3);
    ASSERT_INT(nearest_distance("SlabSize", "slabsize"), 0);
    nearest_init(&nearest, "Workrs");
    nearest_offer(&nearest, "Threads");
    nearest_offer(&nearest, "Workers");
    ASSERT_STR(nearest.best, "Workers");
    nearest_init(&nearest, "Colour");
    nearest_offer(&nearest, "Threads");
    ASSERT(!nearest.best);
}

TEST_MAIN(CASE(sizes_are_read_with_their_units), CASE(sizes_refuse_what_is_none),
          CASE(times_are_summed_over_their_terms), CASE(times_refuse_what_is_none),
          CASE(printed_values_read_back_the_same),
          CASE(names_have_the_documented_alphabet_and_length),
          CASE(admin_socket_derives_from_submit_socket), CASE(nearest_finds_slips_and_nothing_else))
