/* What this kernel lets a process do, by trying it. */
#include <stdlib.h>
#include <string.h>

#include "client/doctor/doctor.h"
#include "runtime/loop.h"
#include "runtime/sandbox.h"

void doctor_io_uring(struct doctor *doctor)
{
    struct loop *loop;
    if (loop_create(LOOP_AUTO, &loop) < 0) {
        doctor_add(doctor, DOCTOR_WARN, "io_uring",
                   "it cannot be tried: no event loop can be made");
        return;
    }
    const char *why = loop_fallback_reason(loop);
    const bool is_refused = why[0] != '\0';
    const bool is_required = doctor->config && doctor->config->event_loop == LOOP_IO_URING;
    doctor_add(doctor,
               !is_refused   ? DOCTOR_OK
               : is_required ? DOCTOR_FAIL
                             : DOCTOR_WARN,
               "io_uring", "%s%s", is_refused ? "refused: " : "allowed", why);
    if (is_refused) {
        doctor_means(doctor, is_required
                                 ? "cuzkd refuses to start ([Supervisor] EventLoop=io_uring)"
                                 : "the service waits with ppoll instead: somewhat more processor "
                                   "time, and witnesses are read more slowly");
        doctor_change(doctor,
                      "sysctl kernel.io_uring_disabled=0; in a container, a seccomp profile "
                      "with io_uring_setup, io_uring_enter and io_uring_register");
    }
    loop_free(loop);
}

void doctor_sandbox(struct doctor *doctor)
{
    char why[SANDBOX_TEXT_BYTES];
    const unsigned parts = sandbox_probe(why);
    const enum sandbox_policy policy = doctor->config ? doctor->config->sandbox : SANDBOX_PREFER;
    if (policy == SANDBOX_OFF) {
        doctor_add(doctor, DOCTOR_WARN, "sandbox", "[Supervisor] Sandbox=off");
        doctor_means(doctor, "a file that breaks into the worker that reads it has all that the "
                             "service's user has");
        doctor_change(doctor, "[Supervisor] Sandbox=prefer or require");
        return;
    }
    if (parts == SANDBOX_ALL) {
        doctor_add(doctor, DOCTOR_OK, "sandbox", "Landlock and seccomp are there");
        return;
    }
    doctor_add(doctor, policy == SANDBOX_REQUIRE ? DOCTOR_FAIL : DOCTOR_WARN, "sandbox",
               "not whole (%s): %s", sandbox_parts_to_string(parts), why);
    doctor_means(doctor, policy == SANDBOX_REQUIRE
                             ? "cuzkd refuses to start ([Supervisor] Sandbox=require)"
                             : "a worker that a file breaks into is held by less");
    doctor_change(doctor, "a kernel of 5.13 or later with Landlock in lsm=; in a container, a "
                          "profile with landlock_create_ruleset, landlock_add_rule, "
                          "landlock_restrict_self and seccomp");
}
