/* What cuzkctl says: errors, JSON, tables. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/ctl.h"
#include "config/units.h"

#define PATIENCE_NS_MIN 1000000000u           /* a daemon at work may take a moment */
#define PATIENCE_NS_MAX UINT64_C(60000000000) /* libcuzk's own */

int ctl_exit_of(enum cuzk_code code)
{
    switch (code) {
    case CUZK_OK:
        return CTL_OK;
    case CUZK_USAGE:
        return CTL_USAGE;
    case CUZK_NO_DAEMON:
    case CUZK_SHUTTING_DOWN:
    case CUZK_PROTOCOL:
        return CTL_NO_DAEMON;
    case CUZK_BAD_INPUT:
    case CUZK_NOT_FOUND:
    case CUZK_KEY_CONFLICT:
    case CUZK_EXPIRED:
        return CTL_BAD_INPUT;
    case CUZK_BUSY:
        return CTL_BUSY;
    case CUZK_CANCELLED:
    case CUZK_INTERRUPTED:
        return CTL_CANCELLED;
    case CUZK_TIMEOUT:
    case CUZK_DEADLINE:
        return CTL_TIMEOUT;
    case CUZK_EXISTS:
        return CTL_EXISTS;
    case CUZK_DENIED:
    case CUZK_FAILED:
    case CUZK_TOO_LATE:
    case CUZK_NO_MEMORY:
        break;
    }
    return CTL_FAILED;
}

int ctl_fail(struct ctl *ctl, const struct cuzk_error *error)
{
    fprintf(stderr, "cuzkctl: %s", error->message);
    if (error->code == CUZK_BUSY && error->retry_after_ms > 0)
        fprintf(stderr, " (try again in %.1f s)", error->retry_after_ms / 1e3);
    fprintf(stderr, "\n");
    if (ctl->is_json) {
        json_t *inner = json_pack("{s:s, s:s}", "code", cuzk_code_to_string(error->code), "message",
                                  error->message);
        if (inner && error->retry_after_ms > 0)
            json_object_set_new(inner, "retry_after_ms", json_integer(error->retry_after_ms));
        ctl_print_json(ctl, json_pack("{s:o}", "error", inner));
    }
    return ctl_exit_of(error->code);
}

int ctl_failf(struct ctl *ctl, enum cuzk_code code, const char *format, ...)
{
    struct cuzk_error error = {.code = code};
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error.message, sizeof error.message, format, arguments);
    va_end(arguments);
    return ctl_fail(ctl, &error);
}

int ctl_print_json(struct ctl *ctl, json_t *value)
{
    int r = value ? json_dumpf(value, stdout, JSON_COMPACT) : -1;

    json_decref(value);
    if (r == 0)
        r = putchar('\n') == EOF ? -1 : 0;
    if (r < 0) {
        /* Not ctl_failf: that would come back here. */
        fprintf(stderr, "cuzkctl %s: the output cannot be written\n", ctl->verb->name);
        return CTL_FAILED;
    }
    return CTL_OK;
}

/* --timeout holds also where the daemon is stopped and answers nothing at all. */
static void bound_patience(const struct ctl *ctl, struct cuzk *cuzk)
{
    const char *text = ctl_value(ctl, "timeout");
    uint64_t timeout_ns;

    if (!text || units_parse_time(text, &timeout_ns) < 0 || timeout_ns >= PATIENCE_NS_MAX)
        return;
    if (timeout_ns < PATIENCE_NS_MIN)
        timeout_ns = PATIENCE_NS_MIN;
    cuzk_set_patience(cuzk, (uint32_t)(timeout_ns / 1000000u));
}

int ctl_open(struct ctl *ctl, bool is_admin, struct cuzk **ret_cuzk)
{
    struct cuzk_error error;
    int r = is_admin ? cuzk_open_admin(ctl->socket, ret_cuzk, &error)
                     : cuzk_open(ctl->socket, ret_cuzk, &error);
    if (r != CUZK_OK)
        return ctl_fail(ctl, &error);
    bound_patience(ctl, *ret_cuzk);
    return CTL_OK;
}

json_t *ctl_json(struct ctl *ctl, char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

    cuzk_free(text);
    if (!value)
        ctl_failf(ctl, CUZK_NO_MEMORY, "out of memory");
    return value;
}

int ctl_show_text(struct ctl *ctl, char *text, void (*print)(const json_t *value))
{
    json_t *value = ctl_json(ctl, text);

    if (!value)
        return CTL_FAILED;
    if (ctl->is_json)
        return ctl_print_json(ctl, value);
    print(value);
    json_decref(value);
    return CTL_OK;
}

int ctl_show(struct ctl *ctl,
             int (*ask)(struct cuzk *cuzk, char **ret_json, struct cuzk_error *ret_error),
             void (*print)(const json_t *value))
{
    struct cuzk_error error;
    struct cuzk *cuzk;
    char *text;
    /* Operators see all; over the submit socket the jobs of others are not named. */
    int r = cuzk_open_admin(ctl->socket, &cuzk, &error) == CUZK_OK ? CTL_OK
                                                                   : ctl_open(ctl, false, &cuzk);
    if (r != CTL_OK)
        return r;
    r = ask(cuzk, &text, &error);
    cuzk_close(cuzk);
    return r == CUZK_OK ? ctl_show_text(ctl, text, print) : ctl_fail(ctl, &error);
}

enum {
    TABLE_COLUMNS_MAX = 16,
};

struct ctl_table {
    unsigned column_count;
    size_t cell_count, cell_capacity;
    char **cells; /* row by row, headings first */
};

struct ctl_table *ctl_table_new(const char *const *headings, unsigned column_count)
{
    struct ctl_table *table = calloc(1, sizeof *table);

    if (!table || column_count > TABLE_COLUMNS_MAX)
        abort();
    table->column_count = column_count;
    for (unsigned i = 0; i < column_count; i++)
        ctl_table_cell(table, "%s", headings[i]);
    return table;
}

void ctl_table_cell(struct ctl_table *table, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;

    if (table->cell_count == table->cell_capacity) {
        size_t capacity = table->cell_capacity ? 2 * table->cell_capacity : 64;
        char **cells = realloc(table->cells, capacity * sizeof *cells);
        if (!cells)
            abort();
        table->cells = cells;
        table->cell_capacity = capacity;
    }
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        abort();
    va_end(arguments);
    /* What the daemon hands on may come from anywhere: keep the terminal safe. */
    for (char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = '?';
    table->cells[table->cell_count++] = text;
}

void ctl_table_json(struct ctl_table *table, const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);

    if (json_is_integer(value))
        ctl_table_cell(table, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        ctl_table_cell(table, "%.3f", json_real_value(value));
    else if (json_is_string(value))
        ctl_table_cell(table, "%s", json_string_value(value));
    else if (json_is_boolean(value))
        ctl_table_cell(table, "%s", json_is_true(value) ? "yes" : "no");
    else
        ctl_table_cell(table, "-");
}

static bool is_number(const char *text)
{
    return strspn(text, "-0123456789.%") == strlen(text);
}

void ctl_table_print(struct ctl_table *table, FILE *out)
{
    size_t width[TABLE_COLUMNS_MAX] = {0};
    bool is_right[TABLE_COLUMNS_MAX];

    memset(is_right, true, sizeof is_right);
    for (size_t i = 0; i < table->cell_count; i++) {
        unsigned column = (unsigned)(i % table->column_count);
        size_t bytes = strlen(table->cells[i]);
        if (bytes > width[column])
            width[column] = bytes;
        if (i >= table->column_count && !is_number(table->cells[i]))
            is_right[column] = false;
    }
    for (size_t i = 0; i < table->cell_count; i++) {
        unsigned column = (unsigned)(i % table->column_count);
        bool is_last = column + 1 == table->column_count;
        int padding = (int)(width[column] - strlen(table->cells[i]));
        if (is_right[column])
            fprintf(out, "%*s%s", padding, "", table->cells[i]);
        else
            fprintf(out, "%s%*s", table->cells[i], is_last ? 0 : padding, "");
        fputs(is_last ? "\n" : "  ", out);
        free(table->cells[i]);
    }
    free(table->cells);
    free(table);
}
