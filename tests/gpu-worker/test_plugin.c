/* gpu-worker/plugin.h and backend_find: which plug-ins are taken, and what is said of the others.
 */
#include <errno.h>
#include <string.h>

#include "gpu-worker/plugin.h"
#include "tests/test.h"

static char text[BACKEND_TEXT_BYTES];

static const struct backend_ops *load(const char *path, int expected)
{
    const struct backend_ops *ops = NULL;
    strcpy(text, "untouched");
    ASSERT_INT(plugin_load(path, "cuda", &ops, text), expected);
    ASSERT(expected < 0 ? !ops : ops != NULL);
    return ops;
}

TEST(fitting_plugin_is_taken)
{
    ASSERT_STR(load(PLUGIN_GOOD, 0)->name, "cuda");
    ASSERT_STR(text, "untouched");
}

TEST(plugin_of_another_version_is_refused)
{
    load(PLUGIN_ABI, -ELIBBAD);
    ASSERT(strstr(text, "install both from one build"));
    ASSERT(strstr(text, "version 1 of"));
}

TEST(plugin_of_another_name_is_refused)
{
    load(PLUGIN_NAME, -ELIBBAD);
    ASSERT(strstr(text, "is the backend 'other', not 'cuda'"));
}

TEST(library_without_a_table_is_refused)
{
    load(PLUGIN_EMPTY, -ELIBBAD);
    ASSERT(strstr(text, "no symbol " BACKEND_PLUGIN_SYMBOL));
}

TEST(file_that_does_not_load_is_refused_with_the_linkers_words)
{
    load(PLUGIN_NO_LIBRARY, -ELIBBAD);
    ASSERT(strstr(text, "cannot load the backend's plug-in: "));
    ASSERT(strstr(text, "ELF") || strstr(text, "header"));
}

TEST(missing_plugin_is_no_device)
{
    const struct backend_ops *ops = NULL;
    char path[PLUGIN_PATH_BYTES];
    /* This program's own folder has none. */
    ASSERT_INT(plugin_path_installed("cuda", path, text), -ENODEV);
    ASSERT(strstr(text, "no CUDA backend"));
    ASSERT(strstr(text, "Backend=cpu"));
    unsetenv("CUZK_TEST_PLUGIN");
    ASSERT_INT(backend_find("cuda", &ops, text), -ENODEV);
    ASSERT(!ops);
}

TEST(names_are_looked_up)
{
    const struct backend_ops *ops = NULL;
    ASSERT_INT(backend_find("cpu", &ops, text), 0);
    ASSERT(ops == &backend_cpu);
    ASSERT_INT(backend_find("tpu", &ops, text), -EINVAL);
    ASSERT(strstr(text, "unknown backend 'tpu'"));
}

TEST_MAIN(CASE(fitting_plugin_is_taken), CASE(plugin_of_another_version_is_refused),
          CASE(plugin_of_another_name_is_refused), CASE(library_without_a_table_is_refused),
          CASE(file_that_does_not_load_is_refused_with_the_linkers_words),
          CASE(missing_plugin_is_no_device), CASE(names_are_looked_up))
