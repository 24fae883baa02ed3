/* sandbox: memory that commands use up is counted wherever they put it, and whatever else they do meanwhile. Each case asks for the reason of
 * the end as well: an attack that fails for another reason proves nothing. */
#include "unit/sandbox_room.h"

#define PERL(text) "perl -e '" text "'"
#define TOO_MUCH_MEMORY "it used more memory than it may"

/* 64 megabytes, and files enough to hold more than that in sockets. */
static void limit_memory(struct sandbox_room *room)
{
    room->walls.limits.memory_bytes = 64 << 20;
    room->walls.limits.open_files = 4096;
}

static void expect_too_much_memory(struct sandbox_room *room, const char *script)
{
    limit_memory(room);
    assert_int_equal(sandbox_room_run(room, script), -1);
    assert_int_equal(room->outcome.end, SANDBOX_KILLED);
    assert_string_equal(room->outcome.note, TOO_MUCH_MEMORY);
}

/* Sixteen processes ask at once, so the launcher always has a question to answer and is never idle, however fast it is. */
static void memory_is_looked_at_while_calls_are_refused_without_end(void **state)
{
    expect_too_much_memory(
        *state, PERL("for (1 .. 16) { if (!fork) { syscall(165, 0, 0, 0, 0, 0) while 1 } } "
                     "push @m, \"x\" x 20000000 for 1 .. 8; sleep 30"));
}

static void segments_that_nobody_has_attached_count(void **state)
{
    expect_too_much_memory(
        *state,
        PERL("$x = \"x\" x 5000000; for (1 .. 40) { $i = shmget(0, 5000000, 0600) // exit 1; "
             "shmwrite($i, $x, 0, 5000000) or exit 1 } sleep 30"));
}

/* --- buffers of sockets --------------------------------------------------------------------------------------------------------- */

#define FILL                                                                                       \
    "use Socket; sub fill { my $s = shift; setsockopt($s, SOL_SOCKET, SO_SNDBUF, 1 << 20); "       \
    "fcntl($s, 4, 2048); 1 while syswrite($s, \"x\" x 65536) } "

static void buffers_of_unix_sockets_count(void **state)
{
    expect_too_much_memory(
        *state, PERL(FILL "for (1 .. 400) { socketpair(my $a, my $b, 1, 1, 0) or exit 1; fill($a); "
                          "push @s, $a, $b } sleep 30"));
}

static void datagrams_of_unix_sockets_count(void **state)
{
    expect_too_much_memory(
        *state, PERL(FILL "for (1 .. 400) { socketpair(my $a, my $b, 1, 2, 0) or exit 1; fill($a); "
                          "push @s, $a, $b } sleep 30"));
}

/* The kernel counts them for the sender, which is on no list any more. Few sockets with much in each, */
static void buffers_count_when_their_sender_is_closed(void **state)
{
    expect_too_much_memory(
        *state, PERL(FILL "for (1 .. 100) { socketpair(my $a, my $b, 1, 1, 0) or exit 1; fill($a); "
                          "close($a); push @s, $b } sleep 30"));
}

/* and many messages of a byte, each of which takes hundreds in the kernel. */
static void small_messages_count_when_their_sender_is_closed(void **state)
{
    expect_too_much_memory(
        *state, PERL("for (1 .. 400) { socketpair(my $a, my $b, 1, 1, 0) or exit 1; fcntl($a, 4, "
                     "2048); 1 while syswrite($a, \"x\"); close($a); push @s, $b } sleep 30"));
}

#define SERVER                                                                                     \
    "socket(L, 2, 1, 0); bind(L, pack_sockaddr_in(0, INADDR_LOOPBACK)); listen(L, 1000); "         \
    "sub connected { socket(my $s, 2, 1, 0); connect($s, getsockname(L)) or exit 1; "              \
    "accept(my $t, L) or exit 1; ($s, $t) } "

static void buffers_of_tcp_count(void **state)
{
    expect_too_much_memory(*state, PERL(FILL SERVER "for (1 .. 300) { ($a, $b) = connected(); "
                                                    "fill($a); push @s, $a, $b } sleep 30"));
}

/* A connection that was reset is on no list of the kernel's, and what was received can still be read. */
static void buffers_of_tcp_count_after_a_reset(void **state)
{
    expect_too_much_memory(
        *state,
        PERL(FILL SERVER "for (1 .. 300) { ($a, $b) = connected(); fill($a); "
                         "setsockopt($a, SOL_SOCKET, SO_LINGER, pack(\"ii\", 1, 0)); close($a); "
                         "push @s, $b } sleep 30"));
}

static void buffers_of_udp_count(void **state)
{
    expect_too_much_memory(
        *state, PERL(FILL "for (1 .. 600) { socket(my $r, 2, 2, 0); "
                          "setsockopt($r, SOL_SOCKET, SO_RCVBUF, 1 << 20); "
                          "bind($r, pack_sockaddr_in(0, INADDR_LOOPBACK)); socket(my $s, 2, 2, 0); "
                          "connect($s, getsockname($r)) or exit 1; "
                          "send($s, \"x\" x 60000, 0) for 1 .. 8; push @s, $r } sleep 30"));
}

/* Idle sockets, listeners and connections that were closed hold nothing. */
static void sockets_that_hold_little_are_nobodys_concern(void **state)
{
    struct sandbox_room *room = *state;
    limit_memory(room);
    assert_int_equal(
        sandbox_room_run(
            room,
            PERL(FILL SERVER
                 "for (1 .. 300) { socketpair(my $a, my $b, 1, 1, 0) or exit 1; syswrite($a, \"x\" "
                 "x 1000); push @s, $a, $b } for (1 .. 100) { push @s, connected() } "
                 "for (1 .. 300) { connected() } select(undef, undef, undef, 1)")),
        0);
}

#define ROOM(test) cmocka_unit_test_setup_teardown(test, sandbox_room_setup, sandbox_room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM(memory_is_looked_at_while_calls_are_refused_without_end),
        ROOM(segments_that_nobody_has_attached_count),
        ROOM(buffers_of_unix_sockets_count),
        ROOM(datagrams_of_unix_sockets_count),
        ROOM(buffers_count_when_their_sender_is_closed),
        ROOM(small_messages_count_when_their_sender_is_closed),
        ROOM(buffers_of_tcp_count),
        ROOM(buffers_of_tcp_count_after_a_reset),
        ROOM(buffers_of_udp_count),
        ROOM(sockets_that_hold_little_are_nobodys_concern),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
