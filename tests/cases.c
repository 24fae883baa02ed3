/* Linked into every cmocka program: its first argument, unless that is an option, picks the cases to run by name; `*` and `?` stand
 * for anything. Without one, all run. A constructor reads it (glibc hands it the arguments of main), so that no test has to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

__attribute__((constructor)) static void pick_cases(int argc, char **argv)
{
    if (argc > 1 && argv[1][0] != '-')
        cmocka_set_test_filter(argv[1]);
}
