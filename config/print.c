/* The option table as text: effective values, the annotated sample, the man page. */
#include "config/print.h"

#include <stdbool.h>
#include <string.h>

#include "config/changes.h"
#include "config/config.h"
#include "config/options.h"
#include "config/origins.h"
#include "config/parse.h"
#include "config/units.h"

static const char *choice_name(const struct option_choice *choices, uint64_t value)
{
    for (; choices->name; choices++)
        if (choices->value == value)
            return choices->name;
    return "?";
}

const char *print_value(const struct option *option, const void *base,
                        char buffer[UNITS_TEXT_BYTES])
{
    const char *field = (const char *)base + option->off;

    switch (option->type) {
    case OPTION_PATH:
    case OPTION_DEVICES:
    case OPTION_GROUP:
        return *(char *const *)field;
    case OPTION_MODE:
        snprintf(buffer, UNITS_TEXT_BYTES, "%04o", *(const uint32_t *)field);
        return buffer;
    case OPTION_SIZE:
        return units_print_size(*(const uint64_t *)field, buffer);
    case OPTION_TIME:
        return units_print_time(*(const uint64_t *)field, buffer);
    case OPTION_INTEGER:
        snprintf(buffer, UNITS_TEXT_BYTES, "%u", *(const uint32_t *)field);
        return buffer;
    case OPTION_CHOICE:
        return choice_name(option->choices, *(const uint32_t *)field);
    }
    return "";
}

static void print_assignment(struct config *config, const struct option *option, uint32_t instance,
                             FILE *out)
{
    char buffer[UNITS_TEXT_BYTES];
    const char *value = print_value(option, parse_base(config, option->base, instance), buffer);
    const struct config_origin *origin =
        config_origins_find(config->origins, option, option->base, instance);

    if (!value)
        return;
    if (origin)
        fprintf(out, "# %s:%u\n", config->origins->files[origin->file], origin->line);
    else if (option->default_text && *option->default_text && strcmp(option->default_text, value))
        fprintf(out, "# default %s\n", option->default_text);
    else if (option->default_text && *option->default_text)
        fprintf(out, "# default\n");
    else
        fprintf(out, "# derived\n");
    fprintf(out, "%s=%s\n", option->key, value);
}

static void print_section(struct config *config, const struct option_section *section,
                          unsigned scope, uint32_t instance, FILE *out)
{
    for (unsigned i = 0; i < option_count; i++)
        if (strcmp(options[i].section, section->name) == 0 && (options[i].scope & scope))
            print_assignment(config, &options[i], instance, out);
    fprintf(out, "\n");
}

void config_print_effective(const struct config *const_config, FILE *out)
{
    /* Only read; the shared look-ups give writable pointers. */
    struct config *config = (struct config *)const_config;

    for (unsigned i = 0; i < option_section_count; i++) {
        const struct option_section *section = &option_sections[i];
        if (section->scope & OPTION_PLAIN) {
            fprintf(out, "[%s]\n", section->name);
            print_section(config, section, OPTION_PLAIN, 0, out);
        }
        if (strcmp(section->name, "Ring") == 0)
            for (uint32_t k = 1; k < config->ring_count; k++) {
                fprintf(out, "[Ring \"%s\"]\n", config->rings[k].name);
                print_section(config, section, OPTION_NAMED, k, out);
            }
        if (strcmp(section->name, "Circuit") == 0)
            for (uint32_t k = 0; k < config->circuit_count; k++) {
                fprintf(out, "[Circuit \"%s\"]\n", config->circuits[k].name);
                print_section(config, section, OPTION_NAMED, k, out);
            }
    }
}

/* Wraps words into lines of at most 78 bytes that start with "# ". */
static void print_comment(const char *text, FILE *out)
{
    size_t column = 0;

    while (*text) {
        size_t word = strcspn(text, " ");
        if (column > 0 && column + 1 + word > 78) {
            fprintf(out, "\n");
            column = 0;
        }
        column += (size_t)fprintf(out, "%s%.*s", column == 0 ? "# " : " ", (int)word, text);
        text += word;
        text += strspn(text, " ");
    }
    fprintf(out, "\n");
}

void config_print_sample(FILE *out)
{
    char text[1024], range[128];

    fprintf(out, "# Configuration of cuzkd. Every key is shown at its default; remove the # to "
                 "change it.\n"
                 "# Files in cuzkd.conf.d/ whose names end in .conf are read after this one, in "
                 "order.\n"
                 "# `cuzkd --check-config` shows what is in effect and where it was set.\n");
    for (unsigned i = 0; i < option_section_count; i++) {
        const struct option_section *section = &option_sections[i];
        bool is_named = !(section->scope & OPTION_PLAIN);
        fprintf(out, "\n");
        print_comment(section->help, out);
        fprintf(out, is_named ? "#[%s \"name\"]\n" : "[%s]\n", section->name);
        for (unsigned k = 0; k < option_count; k++) {
            const struct option *option = &options[k];
            if (strcmp(option->section, section->name) != 0)
                continue;
            snprintf(text, sizeof text, "%s Allowed: %s.", option->help,
                     option_range(option, range, sizeof range));
            fprintf(out, "\n");
            print_comment(text, out);
            fprintf(out, "#%s=%s\n", option->key, option->default_text ? option->default_text : "");
        }
    }
}

/* Backslashes, and dots and quotes at the start of a line, mean something to troff; quotes inside
 * macro arguments too. The table's texts have none of the first two; this keeps it so. */
static void print_troff(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
    }
    fputc('\n', out);
}

static void print_man_effect(const struct option *option, FILE *out)
{
    switch (config_effect_of(option)) {
    case CONFIG_EFFECT_NOW:
        fputs("A reload applies it at once.\n", out);
        break;
    case CONFIG_EFFECT_SYNTH:
    case CONFIG_EFFECT_GPU:
    case CONFIG_EFFECT_FINALIZER:
        fputs("A reload replaces these workers for it, one by one.\n", out);
        break;
    case CONFIG_EFFECT_DAEMON:
    case CONFIG_EFFECT_COUNT:
        fputs("Needs the daemon restarted.\n", out);
        break;
    }
}

static void print_man_section(const struct option_section *section, FILE *out)
{
    char range[128];

    fprintf(out, ".SS \"[%s%s]\"\n", section->name,
            section->scope & OPTION_PLAIN ? "" : " \\(dqname\\(dq");
    print_troff(section->help, out);
    for (unsigned i = 0; i < option_count; i++) {
        const struct option *option = &options[i];
        if (strcmp(option->section, section->name) != 0)
            continue;
        fprintf(out, ".TP\n.B %s=\n", option->key);
        print_troff(option->help, out);
        fputs("Allowed: ", out);
        option_range(option, range, sizeof range);
        print_troff(range, out);
        if (option->default_text && *option->default_text) {
            fputs("(default ", out);
            for (const char *c = option->default_text; *c; c++)
                fputs(*c == '-' ? "\\-" : (char[]){*c, '\0'}, out);
            fputs(").\n", out);
        } else {
            fputs(option->default_text ? "(optional).\n" : "(required).\n", out);
        }
        print_man_effect(option, out);
    }
}

void config_print_man(FILE *out)
{
    fputs(".TH CUZKD.CONF 5 \"\" \"cuzkd\" \"File formats\"\n"
          ".SH NAME\ncuzkd.conf \\- configuration of the proving daemon cuzkd\n"
          ".SH SYNOPSIS\n.I " CONFIG_PATH_DEFAULT "\n.br\n.I " CONFIG_PATH_DEFAULT ".d/*.conf\n"
          ".SH DESCRIPTION\n"
          "Sections in brackets, then lines of Key=value. Lines that start with # or ; are\n"
          "comments. Files of the .d folder are read after the main file, in the order of their\n"
          "names; a later value replaces an earlier one. A key that is unknown, stands twice in\n"
          "one file or has a value out of range is refused with file and line.\n"
          ".PP\n"
          "Sizes are bytes, or end in K, M, G or T (powers of 1024). Times end in us, ms, s, min,\n"
          "h or d. Paths are absolute.\n"
          ".PP\n"
          ".B cuzkd \\-\\-check\\-config\nprints every value in effect and where it was set, and the "
          "memory plan.\n"
          ".B cuzkctl reload\n(or SIGHUP) has a running daemon read the files again; what each key "
          "takes to act is\nsaid with it. A file with a fault changes nothing.\n"
          "When a ring shrinks or goes, its slabs go as they come free. A circuit that fits no slab\n"
          "any more takes no new jobs; those it has are finished in the slabs they have.\n"
          ".SH OPTIONS\n",
          out);
    for (unsigned i = 0; i < option_section_count; i++)
        print_man_section(&option_sections[i], out);
    fputs(".SH SEE ALSO\n.BR cuzkctl (1)\n", out);
}

static const char *config_choice(const char *section, const char *key, uint64_t value)
{
    return choice_name(option_find(section, OPTION_PLAIN, key)->choices, value);
}

const char *config_huge_pages_to_string(enum config_huge_pages value)
{
    return config_choice("Ring", "HugePages", value);
}

const char *config_malloc_trim_to_string(enum config_malloc_trim value)
{
    return config_choice("Synthesis", "MallocTrim", value);
}

const char *config_evaluate_to_string(enum config_evaluate value)
{
    return config_choice("Synthesis", "Evaluate", value);
}

const char *config_gpu_backend_to_string(enum config_gpu_backend value)
{
    return config_choice("GPU", "Backend", value);
}
