/* cuzkctl circuit add, list, remove. */
#include <stdio.h>

#include "client/ctl.h"
#include "config/units.h"

static void print_circuits(const json_t *reply)
{
    const json_t *circuits = json_object_get(reply, "circuits");
    static const char *const headings[] = {"CIRCUIT", "STATE",   "CURVE", "CONSTRAINTS", "PUBLIC",
                                           "DOMAIN",  "SLAB >=", "KEY",   "WHY"};
    struct ctl_table *table = ctl_table_new(headings, 9);
    char size[UNITS_TEXT_BYTES];

    for (size_t i = 0; i < json_array_size(circuits); i++) {
        const json_t *circuit = json_array_get(circuits, i);
        const json_t *bytes = json_object_get(circuit, "slab_bytes");
        const char *digest = json_string_value(json_object_get(circuit, "key_digest"));
        ctl_table_json(table, circuit, "name");
        ctl_table_json(table, circuit, "state");
        ctl_table_json(table, circuit, "curve");
        ctl_table_json(table, circuit, "constraints");
        ctl_table_json(table, circuit, "public");
        ctl_table_json(table, circuit, "domain");
        if (json_is_integer(bytes))
            ctl_table_cell(table, "%s",
                           units_print_size((uint64_t)json_integer_value(bytes), size));
        else
            ctl_table_cell(table, "-");
        ctl_table_cell(table, "%.12s", digest ? digest : "-");
        ctl_table_json(table, circuit, "error");
    }
    ctl_table_print(table, stdout);
    for (size_t i = 0; i < json_array_size(circuits); i++) {
        const json_t *circuit = json_array_get(circuits, i);
        const char *plan = json_string_value(json_object_get(circuit, "plan"));
        if (plan)
            printf("%s on the device: %s\n", json_string_value(json_object_get(circuit, "name")),
                   plan);
    }
}

int ctl_circuit_list(struct ctl *ctl)
{
    return ctl_show(ctl, cuzk_circuit_list, print_circuits);
}

static void print_added(const json_t *circuit)
{
    const char *name = json_string_value(json_object_get(circuit, "name"));
    const char *curve = json_string_value(json_object_get(circuit, "curve"));

    const long long constraints = json_integer_value(json_object_get(circuit, "constraints"));
    const long long public = json_integer_value(json_object_get(circuit, "public"));

    printf("circuit %s is ready: %s, %lld constraint%s, %lld public input%s\n", name ? name : "?",
           curve ? curve : "?", constraints, constraints == 1 ? "" : "s", public,
           public == 1 ? "" : "s");
}

int ctl_circuit_add(struct ctl *ctl)
{
    const char *name = ctl->positional[0];
    struct cuzk_error error;
    struct cuzk *cuzk;
    char *text;
    int r = ctl_open(ctl, true, &cuzk);

    if (r != CTL_OK)
        return r;
    if (ctl->is_verbose)
        fprintf(stderr, "checking and preparing the key ...\n");
    r = cuzk_circuit_add(cuzk, name, ctl_value(ctl, "zkey"), ctl_value(ctl, "r1cs"), &text, &error);
    cuzk_close(cuzk);
    return r == CUZK_OK ? ctl_show_text(ctl, text, print_added) : ctl_fail(ctl, &error);
}

int ctl_circuit_remove(struct ctl *ctl)
{
    const char *name = ctl->positional[0];
    struct cuzk_error error;
    struct cuzk *cuzk;
    int r = ctl_open(ctl, true, &cuzk);

    if (r != CTL_OK)
        return r;
    r = cuzk_circuit_remove(cuzk, name, &error);
    cuzk_close(cuzk);
    if (r != CUZK_OK)
        return ctl_fail(ctl, &error);
    if (ctl->is_json)
        return ctl_print_json(ctl, json_pack("{s:s}", "name", name));
    printf("circuit %s is removed\n", name);
    return CTL_OK;
}
