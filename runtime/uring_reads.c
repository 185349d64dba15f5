/* File reads of the io_uring loop: a read is cut into pieces of at most READ_REQUEST_BYTES_MAX, one
 * READ request each, several in flight. Pieces come from a pool; reads take turns for them. A short
 * piece goes out again for its rest, until the file ends. */
#include <assert.h>
#include <errno.h>

#include "config/limits.h"
#include "runtime/check.h"
#include "runtime/loop_uring.h"

enum {
    PIECES_PER_READ = 8, /* enough to fill io-wq's workers from one file */
};

/* In loop_read.private_state. */
struct read_state {
    struct loop_read *next, *previous; /* in the list of the state */
    uint64_t issued;
    uint64_t end; /* bytes wanted, lowered when the file ends early */
    int32_t error;
    uint16_t pieces;
    bool is_cancelled;
    uint8_t state;
};
static_assert(sizeof(struct read_state) <= sizeof((struct loop_read *)0)->private_state,
              "a read has room for its state");

enum read_list_state {
    READ_IDLE,
    READ_ISSUING, /* in the issuing list: bytes left to ask for */
    READ_WAITING, /* everything is asked for */
    READ_DONE,    /* in the done list: its callback is due */
};

static struct read_state *read_state(struct loop_read *read)
{
    return (struct read_state *)read->private_state;
}

static void read_append(struct uring_read_list *list, struct loop_read *read)
{
    read_state(read)->next = NULL;
    read_state(read)->previous = list->last;
    if (list->last)
        read_state(list->last)->next = read;
    else
        list->first = read;
    list->last = read;
    list->count++;
}

static void read_unlink(struct uring_read_list *list, struct loop_read *read)
{
    struct read_state *state = read_state(read);

    if (state->previous)
        read_state(state->previous)->next = state->next;
    else
        list->first = state->next;
    if (state->next)
        read_state(state->next)->previous = state->previous;
    else
        list->last = state->previous;
    list->count--;
}

static void piece_finish(struct uring_loop *loop, struct uring_piece *piece)
{
    struct loop_read *read = piece->read;
    struct read_state *state = read_state(read);

    piece->read = NULL;
    loop->pieces_free++;
    state->pieces--;
    if (state->pieces || state->is_cancelled || (state->issued < state->end && !state->error))
        return;
    if (state->state == READ_ISSUING)
        read_unlink(&loop->issuing, read);
    state->state = READ_DONE;
    read_append(&loop->done, read);
}

void uring_on_read(struct uring_loop *loop, uint32_t index, int32_t result)
{
    struct uring_piece *piece = &loop->pieces[index];
    struct read_state *state;

    CHECK(index < URING_PIECES_MAX && piece->read && piece->in_ring);
    piece->in_ring = false;
    state = read_state(piece->read);
    if (result > 0) {
        piece->from += (uint32_t)result;
        piece->bytes -= (uint32_t)result;
    } else if (result == 0) {
        if (state->end > piece->from)
            state->end = piece->from;
        piece->bytes = 0;
    } else if (result != -EINTR && result != -EAGAIN) {
        if (!state->error)
            state->error = result;
        piece->bytes = 0;
    }
    if (piece->bytes == 0 || piece->from >= state->end || state->error || state->is_cancelled)
        piece_finish(loop, piece);
    else
        loop->pieces_to_issue++;
}

int uring_read_start(struct loop *base, struct loop_read *read)
{
    struct uring_loop *loop = uring_self(base);

    *read_state(read) = (struct read_state){
        .end = read->bytes,
        .state = read->bytes ? READ_ISSUING : READ_DONE,
    };
    read_append(read->bytes ? &loop->issuing : &loop->done, read);
    return 0;
}

static bool piece_issue(struct uring_loop *loop, struct uring_piece *piece)
{
    struct io_uring_sqe *sqe = uring_take_sqe(loop);
    struct loop_read *read = piece->read;

    if (!sqe)
        return false;
    io_uring_prep_read(sqe, read->fd, (char *)read->memory + piece->from, piece->bytes,
                       read->offset + piece->from);
    sqe->flags |= IOSQE_ASYNC; /* a cached read would otherwise be copied inside the submit */
    io_uring_sqe_set_data64(sqe,
                            uring_user_data(URING_TAG_PIECE, (uint64_t)(piece - loop->pieces)));
    piece->in_ring = true;
    return true;
}

/* Gives the read that waits first a free piece; reads take turns. */
static void piece_assign(struct uring_loop *loop)
{
    struct loop_read *read = loop->issuing.first;
    struct read_state *state = read_state(read);
    struct uring_piece *piece = loop->pieces;
    uint64_t left = state->end - state->issued;

    while (piece->read)
        piece++;
    *piece = (struct uring_piece){
        .read = read,
        .from = state->issued,
        .bytes = left < READ_REQUEST_BYTES_MAX ? (uint32_t)left : READ_REQUEST_BYTES_MAX,
    };
    loop->pieces_free--;
    loop->pieces_to_issue++;
    state->pieces++;
    state->issued += piece->bytes;
    read_unlink(&loop->issuing, read);
    if (state->issued < state->end)
        read_append(&loop->issuing, read);
    else
        state->state = READ_WAITING;
}

void uring_issue(struct uring_loop *loop)
{
    uint32_t tries = loop->issuing.count;

    while (loop->pieces_free && tries && loop->issuing.first) {
        struct loop_read *read = loop->issuing.first;
        struct read_state *state = read_state(read);
        if (state->issued >= state->end || state->error) {
            /* Ended early with pieces still out; the last of them finishes it. */
            read_unlink(&loop->issuing, read);
            state->state = READ_WAITING;
            tries--;
        } else if (state->pieces >= PIECES_PER_READ) {
            read_unlink(&loop->issuing, read);
            read_append(&loop->issuing, read);
            tries--;
        } else {
            piece_assign(loop);
            tries = loop->issuing.count;
        }
    }
    for (uint32_t i = 0; i < URING_PIECES_MAX && loop->pieces_to_issue; i++) {
        if (!loop->pieces[i].read || loop->pieces[i].in_ring)
            continue;
        if (!piece_issue(loop, &loop->pieces[i]))
            return;
        loop->pieces_to_issue--;
    }
}

void uring_read_cancel(struct loop *base, struct loop_read *read)
{
    struct uring_loop *loop = uring_self(base);
    struct read_state *state = read_state(read);

    if (state->state == READ_IDLE)
        return;
    if (state->state == READ_ISSUING)
        read_unlink(&loop->issuing, read);
    else if (state->state == READ_DONE)
        read_unlink(&loop->done, read);
    state->state = READ_WAITING;
    state->is_cancelled = true;
    for (uint32_t i = 0; i < URING_PIECES_MAX; i++) {
        struct uring_piece *piece = &loop->pieces[i];
        if (piece->read != read)
            continue;
        if (!piece->in_ring) {
            loop->pieces_to_issue--;
            piece_finish(loop, piece);
            continue;
        }
        struct io_uring_sqe *sqe = uring_take_sqe(loop);
        if (!sqe)
            continue; /* it is waited out all the same */
        io_uring_prep_cancel64(sqe, uring_user_data(URING_TAG_PIECE, i), 0);
        io_uring_sqe_set_data64(sqe, uring_user_data(URING_TAG_IGNORE, 0));
    }
    while (state->pieces) {
        int error = uring_enter(loop, UINT64_MAX);
        CHECK(error == 0); /* returning would leave the kernel writing into freed memory */
    }
    state->state = READ_IDLE;
}

int uring_dispatch_reads(struct uring_loop *loop)
{
    int called = 0;

    for (uint32_t left = loop->done.count; left && loop->done.first; left--) {
        struct loop_read *read = loop->done.first;
        struct read_state *state = read_state(read);
        int64_t result = state->error ? state->error : (int64_t)state->end;
        read_unlink(&loop->done, read);
        state->state = READ_IDLE;
        read->on_done(read, result);
        called++;
    }
    return called;
}
