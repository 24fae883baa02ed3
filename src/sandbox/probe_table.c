/* The table of probes: see probe.h. Scripts see SECRET_STORE, OTHER_TREE, OUTSIDE_SOCKET (absolute paths), ABSTRACT_NAME, OUTSIDE_PORT,
 * HOST_NAME (the program that runs the sandbox) and start in the workspace. Nothing here changes the machine even if it gets
 * through: settings are opened for writing and not written, devices are looked at. */
#include "sandbox/probe.h"

#define PERL(text) "perl -e '" text "'"
/* Refused with exactly EPERM or ENOSYS: other failures would come from the arguments. */
#define REFUSED "exit(($! == 1 || $! == 38) ? 1 : 0) if $r == -1; exit 0"

const struct probe probes[] = {
    /* what can be seen */
    {"files", "read the store, which lies in the workspace", PROBE_ALL,
     "cat \"$SECRET_STORE/secret\"", "cat public", "read a file of the workspace"},
    {"files", "read another worktree", PROBE_USUAL, "cat \"$OTHER_TREE/secret\"", "cat public",
     "read a file of the workspace"},
    {"files", "look at /etc/shadow", PROBE_USUAL, "test -e /etc/shadow", "test -r /etc/passwd",
     "read /etc/passwd"},
    {"files", "list a home directory", PROBE_USUAL, "ls /root/. || ls /home/.",
     "ls -d \"$HOME\" && touch \"$HOME/x\"", "use a home of its own"},
    {"files", "see a disk among the devices", PROBE_USUAL,
     "ls /dev | grep -E '^([svh]d[a-z]|nvme|mem|kmsg|mapper)'",
     "echo x > /dev/null && head -c 1 /dev/urandom > /dev/zero", "use /dev/null and /dev/urandom"},
    {"files", "leave through the first process", PROBE_USUAL,
     "ls /proc/1/root/ || ls /proc/1/cwd/ || cat /proc/1/maps", "ls /proc/self/root/",
     "look at its own root"},
    {"files", "read what the kernel tells of the machine's keys", PROBE_USUAL,
     "head -c 1 /proc/keys | grep -q . || head -c 1 /proc/timer_list | grep -q .",
     "grep -q MemTotal /proc/meminfo", "read /proc/meminfo"},
    {"files", "inherit a descriptor", PROBE_USUAL,
     "for n in 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 50 100; do "
     "[ -e /proc/$$/fd/$n ] && exit 0; done; exit 1",
     "[ -e /proc/$$/fd/1 ]", "have an output"},
    /* what can be changed */
    {"files", "write to a system directory", PROBE_USUAL,
     "touch /usr/bin/planted || touch /etc/planted || touch /planted", "touch /tmp/x",
     "write to /tmp"},
    {"files", "write where the contract allows reading only", PROBE_USUAL,
     "echo x > kept/planted || echo x >> kept/file || rm -f kept/file && [ ! -e kept/file ]",
     "cat kept/file && echo x > src/x && rm src/x", "read there, and write where it may"},
    {"files", "write through a link that stands for a path to write to", PROBE_USUAL,
     "echo x > link/planted", "echo x > src/planted", "write to a directory"},
    {"files", "plant a hook", PROBE_USUAL,
     "echo x > repo/.git/hooks/pre-commit || echo x >> repo/.git/config || rm repo/.git/config || "
     "mv repo/.git repo/old",
     "cat repo/.git/config && echo x > repo/x", "read the repository, and write beside it"},
    {"files", "make a repository where there is none", PROBE_USUAL,
     "echo x > plain/.git/config || { rmdir plain/.git && mkdir -p plain/.git/hooks; } || "
     "mv plain/.git plain/old",
     "mkdir -p plain/sub", "make a directory"},
    {"files", "write the project's cadre.yaml, or make one", PROBE_ALL,
     "echo x > cadre.yaml || { rm -rf cadre.yaml && echo x > cadre.yaml; } || mv cadre.yaml old",
     "echo x > other.yaml", "write another file"},
    {"files", "write to .cadre, or make it", PROBE_ALL,
     "echo x > .cadre/planted || { rm -rf .cadre && mkdir -p .cadre/reports; } || mv .cadre old",
     "mkdir -p cadre", "make another directory"},
    {"files", "open a setting of the machine for writing", PROBE_USUAL,
     PERL("open(F, \"+<\", \"/proc/sys/kernel/core_pattern\") or "
          "open(F, \"+<\", \"/proc/sysrq-trigger\") or exit 1; exit 0"),
     "cat /proc/sys/kernel/core_pattern", "read it"},
    {"landlock", "write to a directory that only Landlock protects", PROBE_USUAL,
     "touch \"$SECRET_STORE/planted\"", "touch src/x", "write to the workspace"},
    /* other processes */
    {"processes", "see the processes of the machine", PROBE_USUAL,
     "cat /proc/[0-9]*/comm | grep -qx \"$HOST_NAME\"", "grep -qx sh /proc/$$/comm",
     "see its own process"},
    {"processes", "trace the first process", PROBE_USUAL,
     PERL("$r = syscall(101, 16, 1, 0, 0); " REFUSED),
     PERL("if (!($p = fork)) { sleep 60 } $r = syscall(101, 16, $p, 0, 0); kill 9, $p; exit($r == "
          "0 ? 0 : 1)"),
     "trace a child"},
    /* privileges */
    {"privileges", "have a capability", PROBE_USUAL,
     "grep -qE '^Cap[A-Z][a-z]+:.*[1-9a-f]' /proc/self/status",
     "grep -qE '^NoNewPrivs:.*1' /proc/self/status", "know that none can be gained"},
    {"privileges", "mount a file system", PROBE_USUAL,
     PERL("$r = syscall(165, \"none\", \"/tmp\", \"tmpfs\", 0, 0); " REFUSED), "mkdir /tmp/x",
     "make a directory"},
    {"privileges", "make a device file", PROBE_USUAL, "mknod /tmp/device c 1 3", "mkfifo /tmp/fifo",
     "make a FIFO"},
    /* system calls */
    {"seccomp", "make a user namespace by unshare", PROBE_USUAL,
     PERL("$r = syscall(272, 0x10000000); " REFUSED),
     PERL("exit(syscall(272, 0x400) == 0 ? 0 : 1)"), "stop sharing its descriptors"},
    {"seccomp", "make a user namespace by clone", PROBE_USUAL,
     PERL("$r = syscall(56, 0x10000011, 0, 0, 0, 0); " REFUSED),
     PERL("$r = syscall(56, 0x11, 0, 0, 0, 0); exit($r >= 0 ? 0 : 1)"), "make a process"},
    {"seccomp", "use io_uring", PROBE_USUAL,
     PERL("$b = \"\\0\" x 256; $r = syscall(425, 4, $b); " REFUSED),
     PERL("exit(syscall(291, 0) >= 0 ? 0 : 1)"), "use epoll"},
    {"seccomp", "push input into a terminal", PROBE_USUAL,
     PERL("open(F, \"<\", \"/dev/null\"); $r = ioctl(F, 0x5412, \"x\"); exit($! == 1 ? 1 : 0)"),
     PERL("open(F, \"<\", \"/dev/null\"); ioctl(F, 0x5401, $b = \"\\0\" x 64); exit($! == 25 ? 0 : "
          "1)"),
     "ask whether something is a terminal"},
    {"seccomp", "use keys, BPF, perf, userfaultfd, handles, other namespaces", PROBE_USUAL,
     PERL("for (250, 321, 298, 323, 304, 308, 428, 430, 246, 175) "
          "{ $! = 0; $r = syscall($_, 0, 0, 0, 0, 0); exit 0 if $r != -1 || ($! != 1 && $! != 38) "
          "} exit 1"),
     PERL("exit(syscall(39) > 0 ? 0 : 1)"), "ask for its process id"},
    {"seccomp", "open a socket of an unusual family", PROBE_USUAL,
     PERL("for (3, 17, 29, 38, 40, 44) { exit 0 if socket(S, $_, 3, 0) || $! != 97 } exit 1"),
     PERL("exit(socket(S, 1, 1, 0) && socket(T, 2, 1, 0) && socket(U, 16, 3, 0) ? 0 : 1)"),
     "open unix, internet and route sockets"},
    {"seccomp", "make calls of another architecture", PROBE_USUAL,
     PERL("$r = syscall(0x40000000 + 39); exit($r == -1 ? 1 : 0)"),
     PERL("exit(syscall(39) > 0 ? 0 : 1)"), "make calls of its own"},
    {"seccomp", "make a file setuid", PROBE_USUAL,
     "cp /bin/true src/t && chmod 4755 src/t || " PERL(
         "sysopen(F, \"src/u\", 65, 04755) or exit 1; exit 0"),
     "cp /bin/true src/v && chmod 755 src/v && src/v", "make a file executable and run it"},
    /* network */
    {"network", "reach a server of the machine", PROBE_USUAL,
     PERL("use Socket; socket(S, 2, 1, 0); "
          "exit(connect(S, pack_sockaddr_in($ENV{OUTSIDE_PORT}, INADDR_LOOPBACK)) ? 0 : 1)"),
     PERL("use Socket; socket(L, 2, 1, 0); bind(L, pack_sockaddr_in(0, INADDR_LOOPBACK)); "
          "listen(L, 1); "
          "socket(S, 2, 1, 0); exit(connect(S, getsockname(L)) ? 0 : 1)"),
     "reach a server of its own"},
    {"network", "send to another machine", PROBE_USUAL,
     PERL("use Socket; socket(S, 2, 2, 0); "
          "exit(send(S, \"x\", 0, pack_sockaddr_in(9, inet_aton(\"192.0.2.1\"))) ? 0 : 1)"),
     PERL("use Socket; socket(S, 2, 2, 0); "
          "exit(send(S, \"x\", 0, pack_sockaddr_in(9, INADDR_LOOPBACK)) ? 0 : 1)"),
     "send to itself"},
    {"network", "connect to an abstract socket of the machine", PROBE_USUAL,
     PERL("socket(S, 1, 1, 0); exit(connect(S, pack(\"S a*\", 1, \"\\0$ENV{ABSTRACT_NAME}\")) ? 0 "
          ": 1)"),
     PERL("$a = pack(\"S a*\", 1, \"\\0$ENV{ABSTRACT_NAME}\"); socket(L, 1, 1, 0); bind(L, $a); "
          "listen(L, 1); socket(S, 1, 1, 0); exit(connect(S, $a) ? 0 : 1)"),
     "connect to one of its own"},
    {"landlock", "connect to an abstract socket where the network is the machine's", PROBE_ONLINE,
     PERL("socket(S, 1, 1, 0); exit(connect(S, pack(\"S a*\", 1, \"\\0$ENV{ABSTRACT_NAME}\")) ? 0 "
          ": 1)"),
     PERL("use Socket; socket(S, 2, 1, 0); "
          "exit(connect(S, pack_sockaddr_in($ENV{OUTSIDE_PORT}, INADDR_LOOPBACK)) ? 0 : 1)"),
     "reach a server of the machine"},
    {"files", "connect to a unix socket of the machine by its path", PROBE_ONLINE,
     PERL("use Socket; socket(S, 1, 1, 0); exit(connect(S, pack_sockaddr_un($ENV{OUTSIDE_SOCKET})) "
          "? 0 : 1)"),
     PERL("use Socket; $a = pack_sockaddr_un(\"/tmp/s\"); socket(L, 1, 1, 0); bind(L, $a); "
          "listen(L, 1); "
          "socket(S, 1, 1, 0); exit(connect(S, $a) ? 0 : 1)"),
     "connect to one of its own"},
    /* limits */
    {"limits", "fill the disk with one file", PROBE_LIMITED, "head -c 3000000 /dev/zero > src/big",
     "head -c 1000 /dev/zero > src/small", "write a small file"},
    {"limits", "open files without end", PROBE_LIMITED,
     PERL("for (1 .. 200) { open(my $f, \"<\", \"/dev/null\") or exit 1; push @f, $f } exit 0"),
     PERL("for (1 .. 20) { open(my $f, \"<\", \"/dev/null\") or exit 1; push @f, $f } exit 0"),
     "open twenty"},
    {"limits", "start processes without end", PROBE_LIMITED,
     PERL("for (1 .. 600) { my $p = fork; exit 1 if !defined $p; if (!$p) { sleep 60; exit } } "
          "exit 0"),
     PERL("for (1 .. 20) { my $p = fork; exit 1 if !defined $p; if (!$p) { exit } } exit 0"),
     "start twenty"},
    {"limits", "take memory without end", PROBE_LIMITED,
     PERL("for (1 .. 60) { push @m, \"x\" x 20000000; select(undef, undef, undef, 0.05) } exit 0"),
     PERL("push @m, \"x\" x 20000000; exit 0"), "take a little"},
};

const size_t probe_count = sizeof probes / sizeof probes[0];
