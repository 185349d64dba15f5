/* Slabs before anything else: see preparation.h. Upstream: supervisor.c's start; downstream:
 * adoption.c, from which the memory takes them as it takes those of an earlier process. */
#include "supervisor/preparation.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "runtime/log.h"
#include "runtime/notify.h"
#include "supervisor/leftovers.h"
#include "supervisor/supervisor.h"

enum {
    SLAB_S_MAX = 120, /* to touch one slab; more is no progress */
};

static int fail(const struct slab_fault *fault, int error)
{
    log_error("%s", fault->text[0] ? fault->text : strerror(-error));
    return error;
}

int preparation_begin(struct supervisor *supervisor)
{
    struct preparation *preparation = &supervisor->preparation;
    const struct config *config = &supervisor->config;
    struct slab_fault fault = {""};
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < config->ring_count; i++) {
        uint32_t there = adoption_count(&supervisor->adoption, i);
        uint32_t wanted = config->rings[i].slab_count;
        preparation->missing[i] = wanted > there ? wanted - there : 0;
        preparation->wanted += preparation->missing[i];
        bytes += preparation->missing[i] * config->rings[i].slab_bytes;
    }
    if (bytes == 0)
        return 0;
    leftovers_wait_pages(supervisor, bytes);
    int r = memory_check_room(config, bytes, &fault);
    return r < 0 ? fail(&fault, r) : 0;
}

/* The dead child is heard of once; what it made is looked at in the turn that follows. */
static void on_over(struct loop_watch *watch, uint32_t events)
{
    struct preparation *preparation =
        (struct preparation *)((char *)watch - offsetof(struct preparation, watch));
    struct supervisor *supervisor =
        (struct supervisor *)((char *)preparation - offsetof(struct supervisor, preparation));
    (void)events;
    supervisor_take_time(supervisor);
    loop_modify(supervisor->loop, watch, 0);
}

static void stop_watching(struct supervisor *supervisor)
{
    struct preparation *preparation = &supervisor->preparation;
    if (preparation->watch.on_ready)
        loop_remove(supervisor->loop, &preparation->watch);
    preparation->watch = (struct loop_watch){.fd = -1};
}

static int begin_slab(struct supervisor *supervisor, struct slab_fault *ret_fault)
{
    struct preparation *preparation = &supervisor->preparation;
    const struct config *config = &supervisor->config;
    const struct config_ring *plan = &config->rings[preparation->ring];
    enum slab_pages pages = (enum slab_pages)config->huge_pages;
    char name[96];
    if (preparation->on_ordinary_pages)
        pages = SLAB_PAGES_OFF;
    snprintf(name, sizeof name, "cuzkd-slab-%s-%u", plan->name, preparation->made);
    notify_extend_timeout(SLAB_S_MAX * UINT64_C(1000000000));
    int r = slab_make_begin(name, plan->slab_bytes, pages, config->huge_page_bytes,
                            &preparation->making, ret_fault);
    if (r < 0)
        return r;
    preparation->watch = (struct loop_watch){
        .fd = preparation->making.child.pidfd, .events = POLLIN, .on_ready = on_over};
    r = loop_add(supervisor->loop, &preparation->watch);
    if (r < 0) {
        preparation->watch.on_ready = NULL;
        slab_make_abort(&preparation->making);
    }
    return r;
}

/* 0, or -EAGAIN while its child lives. */
static int end_slab(struct supervisor *supervisor, struct slab_fault *ret_fault)
{
    struct preparation *preparation = &supervisor->preparation;
    struct slab slab;
    bool was_hugepage = preparation->making.slab.is_hugepage;
    if (!preparation->watch.on_ready)
        return 0;
    int r = slab_make_end(&preparation->making, &slab, ret_fault);
    if (r == -EAGAIN)
        return r;
    stop_watching(supervisor);
    if (r < 0 && was_hugepage && supervisor->config.huge_pages == CONFIG_HUGE_PAGES_PREFER) {
        preparation->on_ordinary_pages = true;
        return 0;
    }
    if (r < 0)
        return r;
    adoption_add(&supervisor->adoption, preparation->ring, &slab);
    preparation->missing[preparation->ring]--;
    preparation->made++;
    return 0;
}

int preparation_turn(struct supervisor *supervisor)
{
    struct preparation *preparation = &supervisor->preparation;
    struct slab_fault fault = {""};
    int r = end_slab(supervisor, &fault);
    if (r == -EAGAIN)
        return 0;
    while (preparation->ring < supervisor->config.ring_count &&
           preparation->missing[preparation->ring] == 0)
        preparation->ring++;
    if (r == 0 && preparation->ring == supervisor->config.ring_count)
        return 1;
    if (r == 0)
        r = begin_slab(supervisor, &fault);
    return r < 0 ? fail(&fault, r) : 0;
}

void preparation_destroy(struct supervisor *supervisor)
{
    if (supervisor->loop && supervisor->preparation.watch.on_ready) {
        stop_watching(supervisor);
        slab_make_abort(&supervisor->preparation.making);
    }
}

void preparation_describe(const struct supervisor *supervisor, char *ret, size_t room)
{
    snprintf(ret, room, "starting: %u of %u slabs are made and touched",
             supervisor->preparation.made, supervisor->preparation.wanted);
}
