/* The command line of cuzkctl. Options may stand anywhere after the program's name; "--" ends
 * them; --name VALUE and --name=VALUE are the same. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client/ctl.h"
#include "config/nearest.h"
#include "config/units.h"

const struct ctl_option ctl_global_options[] = {
    {"socket", "PATH", false, false,
     "the daemon's submit socket (default: $CUZK_SOCKET or " CUZK_SOCKET_DEFAULT ")"},
    {"json", NULL, false, false, "results on stdout as JSON"},
    {"verbose", NULL, false, false, "say more; also -v"},
    {"help", NULL, false, false, "this text; also -h"},
    {"version", NULL, false, false, "the version"},
    {0},
};

static int find_verb(struct ctl *ctl, const struct ctl_verb *verbs);
static int read_option(struct ctl *ctl, int argc, char **argv, int *index);
static int check_given(struct ctl *ctl);

static int __attribute__((format(printf, 2, 3)))
usage(const struct ctl *ctl, const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "cuzkctl: ");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\nTry: cuzkctl %s%s--help\n", ctl->verb ? ctl->verb->name : "",
            ctl->verb ? " " : "");
    return CTL_USAGE;
}

/* Global options stand before the verb as well, so the verb's words are collected first: those
 * that are no option and no option's value. */
static const struct ctl_option *find_option(const struct ctl_option *options, const char *name,
                                            size_t bytes)
{
    for (; options->name; options++)
        if (strlen(options->name) == bytes && memcmp(options->name, name, bytes) == 0)
            return options;
    return NULL;
}

/* An option of any kind takes a value or not wherever it stands: needed before the verb is known.
 */
static bool takes_value(const struct ctl_verb *verbs, const char *argument)
{
    const char *name = argument + 2;

    if (strncmp(argument, "--", 2) != 0 || strchr(argument, '='))
        return false;
    const struct ctl_option *option = find_option(ctl_global_options, name, strlen(name));
    for (; !option && verbs->name; verbs++)
        option = find_option(verbs->options, name, strlen(name));
    return option && option->value;
}

int ctl_parse(struct ctl *ctl, const struct ctl_verb *verbs, int argc, char **argv)
{
    bool options_ended = false;

    for (int i = 1; i < argc; i++) {
        if (!options_ended && strcmp(argv[i], "--") == 0) {
            options_ended = true;
        } else if (!options_ended && argv[i][0] == '-' && argv[i][1] != '\0') {
            i += takes_value(verbs, argv[i]);
        } else if (ctl->positional_count == CTL_POSITIONAL_MAX) {
            return usage(ctl, "too many arguments at \"%s\"", argv[i]);
        } else {
            ctl->positional[ctl->positional_count++] = argv[i];
        }
    }
    int r = find_verb(ctl, verbs);
    for (int i = 1; i < argc && r == CTL_OK && strcmp(argv[i], "--") != 0; i++)
        if (argv[i][0] == '-' && argv[i][1] != '\0')
            r = read_option(ctl, argc, argv, &i);
    if (r != CTL_OK || ctl->wants_help || ctl->wants_version)
        return r;
    if (!ctl->verb)
        return usage(ctl, "what is to be done? A verb is missing, such as prove or status");
    return check_given(ctl);
}

/* Verbs have one word or two; those that remain are arguments. */
static int find_verb(struct ctl *ctl, const struct ctl_verb *verbs)
{
    char two[64], one[32];
    unsigned used = 0;
    struct nearest nearest;

    if (ctl->positional_count == 0)
        return CTL_OK;
    snprintf(one, sizeof one, "%s", ctl->positional[0]);
    snprintf(two, sizeof two, "%s %s", one, ctl->positional_count > 1 ? ctl->positional[1] : "");
    nearest_init(&nearest, two);
    for (const struct ctl_verb *verb = verbs; verb->name && used == 0; verb++) {
        if (strcmp(verb->name, one) == 0)
            used = 1;
        else if (strcmp(verb->name, two) == 0)
            used = 2;
        if (used > 0)
            ctl->verb = verb;
        nearest_offer(&nearest, verb->name);
    }
    if (used == 0) {
        const char *best = nearest.best;
        nearest_init(&nearest, one);
        for (const struct ctl_verb *verb = verbs; verb->name; verb++)
            nearest_offer(&nearest, verb->name);
        if (nearest.best)
            best = nearest.best;
        if (strcmp(one, "circuit") == 0)
            return usage(ctl, "circuit is followed by add, list or remove");
        return usage(ctl, "there is no verb \"%s\"%s%s%s", one, best ? "; did you mean " : "",
                     best ? best : "", best ? "?" : "");
    }
    ctl->positional_count -= used;
    memmove(ctl->positional, ctl->positional + used,
            ctl->positional_count * sizeof ctl->positional[0]);
    return CTL_OK;
}

static int refuse_option(const struct ctl *ctl, const char *name)
{
    struct nearest nearest;

    nearest_init(&nearest, name);
    for (const struct ctl_option *option = ctl_global_options; option->name; option++)
        nearest_offer(&nearest, option->name);
    for (const struct ctl_option *option = ctl->verb ? ctl->verb->options : NULL;
         option && option->name; option++)
        nearest_offer(&nearest, option->name);
    return usage(ctl, "%s has no option --%s%s%s%s", ctl->verb ? ctl->verb->name : "cuzkctl", name,
                 nearest.best ? "; did you mean --" : "", nearest.best ? nearest.best : "",
                 nearest.best ? "?" : "");
}

static void set_global(struct ctl *ctl, const char *name, const char *value)
{
    if (strcmp(name, "socket") == 0)
        ctl->socket = value;
    else if (strcmp(name, "json") == 0)
        ctl->is_json = true;
    else if (strcmp(name, "verbose") == 0)
        ctl->is_verbose = true;
    else if (strcmp(name, "help") == 0)
        ctl->wants_help = true;
    else if (strcmp(name, "version") == 0)
        ctl->wants_version = true;
}

static int read_option(struct ctl *ctl, int argc, char **argv, int *index)
{
    const char *argument = argv[*index], *name = argument + 2, *value = NULL;

    if (strcmp(argument, "-h") == 0 || strcmp(argument, "-v") == 0) {
        set_global(ctl, argument[1] == 'h' ? "help" : "verbose", NULL);
        return CTL_OK;
    }
    if (argument[1] != '-')
        return usage(ctl, "there is no option %s; long options have two dashes", argument);
    size_t bytes = strcspn(name, "=");
    bool is_global = true;
    const struct ctl_option *option = find_option(ctl_global_options, name, bytes);
    if (!option && ctl->verb) {
        is_global = false;
        option = find_option(ctl->verb->options, name, bytes);
    }
    if (!option)
        return refuse_option(ctl, name);
    if (name[bytes] == '=')
        value = name + bytes + 1;
    if (value && !option->value)
        return usage(ctl, "--%s takes no value", option->name);
    if (!value && option->value) {
        if (*index + 1 >= argc)
            return usage(ctl, "--%s needs a value: %s", option->name, option->value);
        value = argv[++*index];
    }
    if (value && *value == '\0')
        return usage(ctl, "the value of --%s is empty", option->name);
    if (is_global) {
        set_global(ctl, option->name, value);
        return CTL_OK;
    }
    if (!option->is_repeatable && ctl_has(ctl, option->name))
        return usage(ctl, "--%s is given twice", option->name);
    if (ctl->given_count == CTL_GIVEN_MAX)
        return usage(ctl, "too many options");
    ctl->given[ctl->given_count].option = option;
    ctl->given[ctl->given_count++].value = value;
    return CTL_OK;
}

static int check_given(struct ctl *ctl)
{
    const struct ctl_verb *verb = ctl->verb;

    if (ctl->positional_count < verb->positional_count)
        return usage(ctl, "%s needs an argument: %s", verb->name, verb->positional);
    if (ctl->positional_count > verb->positional_count + verb->optional_count)
        return usage(ctl, "%s does not take the argument \"%s\"", verb->name,
                     ctl->positional[verb->positional_count + verb->optional_count]);
    for (const struct ctl_option *option = verb->options; option->name; option++)
        if (option->is_required && !ctl_value(ctl, option->name))
            return usage(ctl, "%s needs --%s %s", verb->name, option->name, option->value);
    return CTL_OK;
}

const char *ctl_value_at(const struct ctl *ctl, const char *name, unsigned index)
{
    for (unsigned i = 0; i < ctl->given_count; i++)
        if (strcmp(ctl->given[i].option->name, name) == 0 && index-- == 0)
            return ctl->given[i].value;
    return NULL;
}

const char *ctl_value(const struct ctl *ctl, const char *name)
{
    return ctl_value_at(ctl, name, 0);
}

bool ctl_has(const struct ctl *ctl, const char *name)
{
    for (unsigned i = 0; i < ctl->given_count; i++)
        if (strcmp(ctl->given[i].option->name, name) == 0)
            return true;
    return false;
}

int ctl_job_number(struct ctl *ctl, uint64_t *ret_job)
{
    if (ctl->positional[0][0] == '@' && ctl->positional[0][1]) {
        *ret_job = 0; /* ctl_job_find asks the daemon */
        return CTL_OK;
    }
    if (units_parse_integer(ctl->positional[0], ret_job) < 0 || *ret_job == 0)
        return usage(ctl, "\"%s\" is no job number", ctl->positional[0]);
    return CTL_OK;
}

int ctl_time_ms(struct ctl *ctl, const char *name, uint32_t *ret_ms)
{
    const char *text = ctl_value(ctl, name);
    uint64_t ns;

    *ret_ms = CUZK_FOREVER;
    if (!text)
        return CTL_OK;
    if (units_parse_time(text, &ns) < 0)
        return usage(ctl, "--%s=%s is no time; write 30s, 10min or 1h", name, text);
    uint64_t ms = (ns + 999999) / 1000000u;
    *ret_ms = ms >= CUZK_FOREVER ? CUZK_FOREVER - 1 : (uint32_t)ms;
    return CTL_OK;
}

static void print_options(const struct ctl_option *options)
{
    char left[40];

    for (; options->name; options++) {
        snprintf(left, sizeof left, "--%s%s%s", options->name, options->value ? " " : "",
                 options->value ? options->value : "");
        printf("  %-18s %s%s\n", left, options->help,
               options->is_required ? (options->is_repeatable ? " (one or more)" : " (required)")
                                    : "");
    }
}

/* Words of the text in lines of at most 78. */
static void print_wrapped(const char *text)
{
    size_t column = 0;

    while (*text) {
        size_t word = strcspn(text, " ");
        if (column > 0 && column + 1 + word > 78) {
            putchar('\n');
            column = 0;
        }
        column += (size_t)printf("%s%.*s", column > 0 ? " " : "", (int)word, text);
        text += word;
        text += strspn(text, " ");
    }
    putchar('\n');
}

void ctl_print_help(const struct ctl *ctl, const struct ctl_verb *verbs)
{
    const struct ctl_verb *verb = ctl->verb;

    if (verb) {
        printf("cuzkctl %s%s%s [options]: %s\n", verb->name, *verb->positional ? " " : "",
               verb->positional, verb->summary);
        if (*verb->details) {
            putchar('\n');
            print_wrapped(verb->details);
        }
        if (verb->options->name) {
            printf("\nOptions:\n");
            print_options(verb->options);
        }
    } else {
        printf("cuzkctl VERB [options]: proofs from the proving daemon cuzkd\n\nVerbs:\n");
        for (; verbs->name; verbs++)
            printf("  %-18s %s\n", verbs->name, verbs->summary);
        printf("\ncuzkctl VERB --help says more about each.\n");
    }
    printf("\nEverywhere:\n");
    print_options(ctl_global_options);
    if (!verb)
        printf("\nExit codes: 0 ok, 1 failed or not verified, 2 usage, 3 no daemon, 4 bad input,\n"
               "5 busy, 6 cancelled, 7 timeout, 8 a check found what does not hold,\n"
               "9 the name is taken.\n");
}
