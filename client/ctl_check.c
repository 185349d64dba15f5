/* cuzkctl check. */
#include <stdio.h>
#include <string.h>

#include "client/ctl.h"

static void print_check(const json_t *reply)
{
    const json_t *checks = json_object_get(reply, "checks");

    for (size_t i = 0; i < json_array_size(checks); i++) {
        const json_t *check = json_array_get(checks, i);
        const char *outcome = json_string_value(json_object_get(check, "outcome"));
        const char *text = json_string_value(json_object_get(check, "text"));
        long long faults = (long long)json_integer_value(json_object_get(check, "faults"));
        printf("%-8s %-12s %s", outcome ? outcome : "-",
               json_string_value(json_object_get(check, "name")), text ? text : "");
        if (faults > 1)
            printf(" (and %lld more)", faults - 1);
        printf("\n");
    }
    printf(
        "%s%s\n", json_is_true(json_object_get(reply, "fine")) ? "all is well" : "SOMETHING IS OFF",
        json_is_true(json_object_get(reply, "idle")) ? "" : " (busy: not everything can be told)");
}

int ctl_check(struct ctl *ctl)
{
    struct cuzk_error error;
    struct cuzk *cuzk;
    char *text;
    int r = ctl_open(ctl, true, &cuzk);

    if (r != CTL_OK)
        return r;
    int code = cuzk_check(cuzk, &text, &error);
    cuzk_close(cuzk);
    if (code != CUZK_OK)
        return ctl_fail(ctl, &error);
    json_t *reply = ctl_json(ctl, text);
    if (!reply)
        return CTL_FAILED;
    bool is_fine = json_is_true(json_object_get(reply, "fine"));
    if (ctl->is_json) {
        ctl_print_json(ctl, reply);
    } else {
        print_check(reply);
        json_decref(reply);
    }
    return is_fine ? CTL_OK : CTL_BROKEN;
}
