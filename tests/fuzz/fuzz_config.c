/* Configuration text of any kind. What is accepted prints as a configuration that is accepted and
 * prints the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static int load(const char *text, size_t count, struct config *ret)
{
    struct config config;
    struct config_fault fault;

    if (parse_defaults(&config) < 0)
        abort();
    int r = parse_text(&config, "fuzz.conf", text, count, &fault);
    if (r == 0)
        r = parse_finish(&config, &fault);
    if (r < 0) {
        if (!memchr(fault.text, '\0', sizeof fault.text))
            __builtin_trap();
        config_destroy(&config);
        return r;
    }
    *ret = config;
    return 0;
}

/* Without comments: they name lines, which differ. */
static char *print(const struct config *config)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    config_print_effective(config, out);
    fclose(out);
    return text;
}

static void strip_comments(char *text)
{
    char *to = text;
    for (char *line = text; *line;) {
        size_t bytes = strcspn(line, "\n");
        bytes += line[bytes] == '\n';
        if (*line != '#') {
            memmove(to, line, bytes);
            to += bytes;
        }
        line += bytes;
    }
    *to = '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct config config, again;

    if (load((const char *)bytes, count, &config) < 0)
        return 0;
    char *first = print(&config);
    if (load(first, strlen(first), &again) < 0)
        __builtin_trap();
    char *second = print(&again);
    strip_comments(first);
    strip_comments(second);
    if (strcmp(first, second) != 0)
        __builtin_trap();
    free(first);
    free(second);
    config_destroy(&config);
    config_destroy(&again);
    return 0;
}
