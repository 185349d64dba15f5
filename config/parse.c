/* Text of a configuration file, line by line, into struct config.
 * Upstream: config.c (files). Downstream: options.c (the table), origins.c (where it was set). */
#include "config/parse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "config/name.h"
#include "config/nearest.h"
#include "config/origins.h"
#include "config/units.h"

enum {
    LINE_BYTES_MAX = PATH_BYTES_MAX + 256,
    RANGE_TEXT_BYTES = 128,
};

/* The place in the file that is being read. */
struct parser {
    struct config *config;
    struct config_fault *fault;
    const char *file;
    uint32_t file_index, line;
    const struct option_section *section; /* NULL before the first header */
    unsigned scope;                       /* OPTION_PLAIN or OPTION_NAMED */
    enum option_base base;                /* of options in a named section */
    uint32_t instance;
};

static int parse_line(struct parser *parser, char *line);
static int parse_header(struct parser *parser, char *line);
static int parse_assignment(struct parser *parser, char *line);
static int assign(struct config *config, const struct option *option, uint32_t instance,
                  const char *value);

int parse_fault(struct config_fault *fault, int error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
    for (char *c = fault->text; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
            *c = '?';
    return error;
}

#define refuse(parser, format, ...)                                                                \
    parse_fault((parser)->fault, -EBADMSG, "%s:%u: " format, (parser)->file, (parser)->line,       \
                ##__VA_ARGS__)

static int out_of_memory(struct config_fault *fault)
{
    return parse_fault(fault, -ENOMEM, "out of memory while reading the configuration");
}

int parse_text(struct config *config, const char *file, const char *text, size_t bytes,
               struct config_fault *ret_fault)
{
    struct parser parser = {.config = config, .fault = ret_fault, .file = file};
    char line[LINE_BYTES_MAX];

    if (config_origins_add_file(config->origins, file) < 0)
        return out_of_memory(ret_fault);
    parser.file_index = config->origins->file_count - 1;

    for (size_t off = 0; off < bytes;) {
        const char *end = memchr(text + off, '\n', bytes - off);
        size_t count = end ? (size_t)(end - (text + off)) : bytes - off;
        parser.line++;
        if (count >= sizeof line)
            return refuse(&parser, "the line is longer than %d bytes", LINE_BYTES_MAX - 1);
        memcpy(line, text + off, count);
        line[count] = '\0';
        if (strlen(line) != count)
            return refuse(&parser, "the line contains a NUL byte; is this a text file?");
        int r = parse_line(&parser, line);
        if (r < 0)
            return r;
        off += count + 1;
    }
    return 0;
}

/* Cuts white space off both ends, in place. */
static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t bytes = strlen(text);
    while (bytes > 0 && strchr(" \t\r", text[bytes - 1]))
        bytes--;
    text[bytes] = '\0';
    return text;
}

static int parse_line(struct parser *parser, char *line)
{
    line = trim(line);
    if (*line == '\0' || *line == '#' || *line == ';')
        return 0;
    for (const char *c = line; *c; c++)
        if ((unsigned char)*c < 0x20 && *c != '\t')
            return refuse(parser, "the line contains a control character");
    return *line == '[' ? parse_header(parser, line) : parse_assignment(parser, line);
}

/* Splits [Word] or [Word "name"] in place. */
static bool split_header(char *line, char **ret_word, char **ret_name)
{
    size_t bytes = strlen(line);
    if (bytes < 2 || line[bytes - 1] != ']')
        return false;
    line[bytes - 1] = '\0';
    char *word = trim(line + 1), *name = NULL, *quote = strchr(word, '"');
    if (quote) {
        size_t rest = strlen(quote);
        if (rest < 2 || quote[rest - 1] != '"' || quote == word)
            return false;
        quote[rest - 1] = '\0';
        name = quote + 1;
        *quote = '\0';
        word = trim(word);
    }
    if (strpbrk(word, " \t\"[]"))
        return false;
    *ret_word = word;
    *ret_name = name;
    return true;
}

/* Finds or makes the ring or circuit of a named section. */
static int enter_named(struct parser *parser, const char *name)
{
    struct config *config = parser->config;
    bool is_ring = strcmp(parser->section->name, "Ring") == 0;
    uint32_t count = is_ring ? config->ring_count : config->circuit_count, i;

    parser->base = is_ring ? OPTION_OF_RING : OPTION_OF_CIRCUIT;
    if (!name_is_valid(name, strlen(name)))
        return refuse(parser, "\"%.80s\" is no name; allowed: 1 to %d of A-Z a-z 0-9 . _ -", name,
                      NAME_BYTES_MAX);
    if (is_ring && strcmp(name, config->rings[0].name) == 0)
        return refuse(parser, "the name \"%s\" is taken by the plain [Ring]", name);
    for (i = 0; i < count; i++)
        if (strcmp(is_ring ? config->rings[i].name : config->circuits[i].name, name) == 0)
            break;
    parser->instance = i;
    if (i < count)
        return 0;
    if (count == (is_ring ? RINGS_MAX : CIRCUITS_MAX))
        return refuse(parser, "too many [%s] sections; allowed: %u", parser->section->name, count);
    if (is_ring) {
        memset(&config->rings[i], 0, sizeof config->rings[i]);
        strcpy(config->rings[i].name, name);
        config->ring_count++;
    } else {
        struct config_circuit *circuits =
            realloc(config->circuits, (count + 1) * sizeof *config->circuits);
        if (!circuits)
            return out_of_memory(parser->fault);
        config->circuits = circuits;
        memset(&circuits[i], 0, sizeof circuits[i]);
        strcpy(circuits[i].name, name);
        config->circuit_count++;
    }
    struct config_origin here = {NULL, parser->base, i, parser->file_index, parser->line};
    if (config_origins_add(config->origins, &here) < 0)
        return out_of_memory(parser->fault);
    for (unsigned k = 0; k < option_count; k++)
        if (options[k].base == parser->base && (options[k].scope & OPTION_NAMED) &&
            options[k].default_text && *options[k].default_text &&
            assign(config, &options[k], i, options[k].default_text) < 0)
            return out_of_memory(parser->fault);
    return 0;
}

static int parse_header(struct parser *parser, char *line)
{
    char *word, *name;

    if (!split_header(line, &word, &name))
        return refuse(parser, "a section header looks like [Ring] or [Ring \"name\"]");
    const struct option_section *section = option_section_find(word);
    if (!section) {
        struct nearest nearest;
        nearest_init(&nearest, word);
        for (unsigned i = 0; i < option_section_count; i++)
            nearest_offer(&nearest, option_sections[i].name);
        return refuse(parser,
                      "unknown section [%.80s]%s%s%s; sections are Supervisor, Ring, "
                      "Synthesis, GPU, Finalizer and Circuit",
                      word, nearest.best ? ", did you mean [" : "",
                      nearest.best ? nearest.best : "", nearest.best ? "]?" : "");
    }
    parser->section = section;
    parser->scope = name ? OPTION_NAMED : OPTION_PLAIN;
    parser->instance = 0;
    if (!(section->scope & parser->scope) && name)
        return refuse(parser, "[%s] takes no name", word);
    if (!(section->scope & parser->scope))
        return refuse(parser, "[%s \"name\"] needs a name", word);
    return name ? enter_named(parser, name) : 0;
}

static int refuse_key(struct parser *parser, const char *key)
{
    const char *section = parser->section->name;
    struct nearest here, elsewhere;
    const char *home = NULL;

    for (const struct option_removal *gone = option_removals; gone->section; gone++)
        if (strcmp(gone->section, section) == 0 && strcmp(gone->key, key) == 0)
            return refuse(parser, "%s= of [%s] was removed: %s", key, section, gone->instead);
    nearest_init(&here, key);
    nearest_init(&elsewhere, key);
    for (unsigned i = 0; i < option_count; i++) {
        bool is_here =
            strcmp(options[i].section, section) == 0 && (options[i].scope & parser->scope);
        nearest_offer(is_here ? &here : &elsewhere, options[i].key);
        if (elsewhere.best == options[i].key)
            home = options[i].section;
    }
    if (elsewhere.best && (!here.best || elsewhere.best_distance < here.best_distance))
        return refuse(parser, "unknown key %.80s= in this [%s] section; %s= belongs to [%s]", key,
                      section, elsewhere.best, home);
    if (here.best)
        return refuse(parser, "unknown key %.80s= in [%s]; did you mean %s=?", key, section,
                      here.best);
    return refuse(parser, "unknown key %.80s= in [%s]; cuzkd.conf(5) lists the keys", key, section);
}

static int refuse_value(struct parser *parser, const struct option *option, const char *value,
                        int error)
{
    static const char *const nouns[] = {
        [OPTION_PATH] = "an absolute path",           [OPTION_SIZE] = "a size such as 256M",
        [OPTION_TIME] = "a time such as 30s or 2min", [OPTION_INTEGER] = "a number",
        [OPTION_CHOICE] = "one of its values",        [OPTION_DEVICES] = "a list of cards",
        [OPTION_MODE] = "a file mode such as 0660",   [OPTION_GROUP] = "a group",
    };
    char range[RANGE_TEXT_BYTES];
    const char *key = option->key;

    if (error == -ENOMEM)
        return out_of_memory(parser->fault);
    option_range(option, range, sizeof range);
    if (*value == '\0')
        return refuse(parser, "%s= has no value; allowed: %s; for the default%s%s delete the line",
                      key, range, option->default_text ? " " : "",
                      option->default_text ? option->default_text : "");
    if (strpbrk(value, "#;"))
        return refuse(parser, "%s=%.200s: comments stand on lines of their own; allowed: %s", key,
                      value, range);
    if (error == -EEXIST)
        return refuse(parser, "%s=%.200s names a card twice; one process serves each", key, value);
    if (error == -ERANGE || option->choices || option->type == OPTION_PATH)
        return refuse(parser, "%s=%.200s is not allowed; allowed: %s", key, value, range);
    return refuse(parser, "%s=%.200s is not %s; allowed: %s", key, value, nouns[option->type],
                  range);
}

static int parse_assignment(struct parser *parser, char *line)
{
    struct config_origins *origins = parser->config->origins;
    char *equals = strchr(line, '=');

    if (!equals)
        return refuse(parser, "\"%.80s\" is neither a [Section] nor a Key=value", line);
    *equals = '\0';
    const char *key = trim(line), *value = trim(equals + 1);
    if (!parser->section)
        return refuse(parser, "%.80s= stands before the first [Section]", key);
    const struct option *option = option_find(parser->section->name, parser->scope, key);
    if (!option)
        return refuse_key(parser, key);

    struct config_origin here = {option, option->base, parser->instance, parser->file_index,
                                 parser->line};
    struct config_origin *before =
        config_origins_find(origins, option, option->base, parser->instance);
    if (before && before->file == parser->file_index)
        return refuse(parser, "%s= is already set in line %u; delete one of the two", key,
                      before->line);
    int r = assign(parser->config, option, parser->instance, value);
    if (r < 0)
        return refuse_value(parser, option, value, r);
    if (before)
        *before = here;
    else if (config_origins_add(origins, &here) < 0)
        return out_of_memory(parser->fault);
    return 0;
}

void *parse_base(struct config *config, enum option_base base, uint32_t instance)
{
    switch (base) {
    case OPTION_OF_RING:
        return &config->rings[instance];
    case OPTION_OF_CIRCUIT:
        return &config->circuits[instance];
    case OPTION_OF_CONFIG:
        break;
    }
    return config;
}

static int assign_path(char **field, const struct option *option, const char *value)
{
    size_t bytes = strlen(value);
    char *copy = NULL;

    /* Empty is the default of the keys that may be left out. */
    if (bytes > 0 || !option->default_text || *option->default_text) {
        if (bytes < option->min || bytes > option->max)
            return -ERANGE;
        if (value[0] != '/')
            return -EINVAL;
        copy = strdup(value);
        if (!copy)
            return -ENOMEM;
    }
    free(*field);
    *field = copy;
    return 0;
}

static int parse_mode(const char *value, uint64_t *ret)
{
    size_t digits = strspn(value, "01234567");
    if (digits < 3 || digits > 4 || value[digits])
        return -EINVAL;
    *ret = strtoull(value, NULL, 8);
    return 0;
}

/* Names as useradd and systemd take them. */
static int assign_group(char **field, const struct option *option, const char *value)
{
    char *copy = NULL;
    if (*value) {
        size_t bytes = strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789_-.");
        if (value[bytes] || *value == '-')
            return -EINVAL;
        if (bytes > option->max)
            return -ERANGE;
        copy = strdup(value);
        if (!copy)
            return -ENOMEM;
    }
    free(*field);
    *field = copy;
    return 0;
}

static int parse_number(const struct option *option, const char *value, uint64_t *ret)
{
    switch (option->type) {
    case OPTION_SIZE:
        return units_parse_size(value, ret);
    case OPTION_TIME:
        return units_parse_time(value, ret);
    case OPTION_INTEGER:
        return units_parse_integer(value, ret);
    case OPTION_CHOICE:
        for (const struct option_choice *choice = option->choices; choice->name; choice++)
            if (strcmp(choice->name, value) == 0) {
                *ret = choice->value;
                return 0;
            }
        break;
    case OPTION_MODE:
        return parse_mode(value, ret);
    case OPTION_PATH:
    case OPTION_DEVICES:
    case OPTION_GROUP:
        break;
    }
    return -EINVAL;
}

static int assign_devices(char **field, const char *value)
{
    struct devices devices;
    int r = devices_parse(value, &devices);
    char *copy = r == 0 ? strdup(value) : NULL;

    if (r < 0)
        return r == -E2BIG ? -ERANGE : r;
    if (!copy)
        return -ENOMEM;
    free(*field);
    *field = copy;
    return 0;
}

/* -EINVAL: not of the type; -ERANGE: not allowed; -EEXIST: said twice; -ENOMEM. */
static int assign(struct config *config, const struct option *option, uint32_t instance,
                  const char *value)
{
    char *field = (char *)parse_base(config, option->base, instance) + option->off;
    uint64_t number = 0;

    if (option->type == OPTION_PATH)
        return assign_path((char **)field, option, value);
    if (option->type == OPTION_DEVICES)
        return assign_devices((char **)field, value);
    if (option->type == OPTION_GROUP)
        return assign_group((char **)field, option, value);
    int r = parse_number(option, value, &number);
    if (r < 0)
        return r;
    if (option->type == OPTION_SIZE && option->choices) {
        const struct option_choice *choice = option->choices;
        while (choice->name && choice->value != number)
            choice++;
        if (!choice->name)
            return -ERANGE;
    } else if (option->type != OPTION_CHOICE && (number < option->min || number > option->max)) {
        return -ERANGE;
    }
    if (option->type == OPTION_SIZE || option->type == OPTION_TIME)
        *(uint64_t *)field = number;
    else
        *(uint32_t *)field = (uint32_t)number;
    return 0;
}

int parse_defaults(struct config *ret)
{
    struct config config = {.ring_count = 1, .rings[0].name = "default"};
    int r = 0;

    config.origins = calloc(1, sizeof *config.origins);
    if (!config.origins)
        return -ENOMEM;
    for (unsigned i = 0; i < option_count && r == 0; i++)
        if (options[i].scope & OPTION_PLAIN)
            r = assign(&config, &options[i], 0, options[i].default_text);
    if (r < 0) {
        config_destroy(&config);
        return r;
    }
    *ret = config;
    return 0;
}
