/* cuzkctl reload. */
#include <stdio.h>
#include <string.h>

#include "client/ctl.h"

static const char *text_of(const json_t *map, const char *key)
{
    const char *text = json_string_value(json_object_get(map, key));
    return text ? text : "";
}

/* When a change acts, for people. */
static void print_effect(const char *effect)
{
    if (strcmp(effect, "now") == 0)
        printf("from now on\n");
    else if (strcmp(effect, "daemon") == 0)
        printf("NOT IN EFFECT: needs the daemon restarted\n");
    else
        printf("as the %s workers are replaced\n", effect);
}

static void print_list(const char *title, const json_t *list, const char *between)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        printf("%s%s", i == 0 ? title : between, json_string_value(json_array_get(list, i)));
    if (json_array_size(list) > 0)
        printf("\n");
}

static void print_reload(const json_t *reply)
{
    const json_t *changed = json_object_get(reply, "changed");
    if (json_array_size(changed) == 0)
        printf("nothing has changed\n");
    for (size_t i = 0; i < json_array_size(changed); i++) {
        const json_t *change = json_array_get(changed, i);
        printf("%s  %s -> %s  ", text_of(change, "key"), text_of(change, "old"),
               text_of(change, "new"));
        print_effect(text_of(change, "effect"));
    }
    print_list("replaced, one of a kind at a time: ", json_object_get(reply, "restarts"), ", ");
    print_list("", json_object_get(reply, "notes"), "\n");
}

int ctl_reload(struct ctl *ctl)
{
    struct cuzk_error error;
    struct cuzk *cuzk;
    char *text;
    int r = ctl_open(ctl, true, &cuzk);
    if (r != CTL_OK)
        return r;
    int code = cuzk_reload(cuzk, &text, &error);
    cuzk_close(cuzk);
    return code == CUZK_OK ? ctl_show_text(ctl, text, print_reload) : ctl_fail(ctl, &error);
}
