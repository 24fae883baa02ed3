/* sandbox: the remedy for a machine without user namespaces is chosen by what the machine says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/remedy.h"
#include "unit/check.h"

/* What is said of a machine that this script makes below a directory. */
static void check_remedy(const char *script, const char *needle, const char *absent)
{
    char root[] = "/tmp/cadre-remedy-XXXXXX", line[1024];
    struct buf out;
    assert_non_null(mkdtemp(root));
    snprintf(line, sizeof line,
             "cd %s && mkdir -p proc/sys/user proc/sys/kernel run && "
             "echo 63000 > proc/sys/user/max_user_namespaces && %s",
             root, script);
    assert_int_equal(system(line), 0);
    buf_init(&out, 4096);
    remedy_namespaces(root, &out);
    buf_char(&out, '\0');
    if (strstr(out.p, needle) == NULL || (absent != NULL && strstr(out.p, absent) != NULL))
        fail_msg("%s: %s", script, out.p);
    buf_release(&out);
    snprintf(line, sizeof line, "rm -rf %s", root);
    assert_int_equal(system(line), 0);
}

static void each_setting_that_forbids_them_has_its_remedy(void **state)
{
    check_remedy("echo 0 > proc/sys/user/max_user_namespaces",
                 "sysctl -w user.max_user_namespaces=15000", "AppArmor");
    check_remedy("echo 0 > proc/sys/kernel/unprivileged_userns_clone",
                 "sysctl -w kernel.unprivileged_userns_clone=1", "container");
    check_remedy("echo 1 > proc/sys/kernel/apparmor_restrict_unprivileged_userns",
                 "AppArmor forbids user namespaces", "max_user_namespaces");
    check_remedy(": > .dockerenv", "--security-opt seccomp=unconfined", "sysctl");
    check_remedy(": > run/.containerenv", "--security-opt seccomp=unconfined", "sysctl");
}

static void settings_that_allow_them_are_not_named(void **state)
{
    check_remedy("echo 1 > proc/sys/kernel/unprivileged_userns_clone && "
                 "echo 0 > proc/sys/kernel/apparmor_restrict_unprivileged_userns",
                 "nothing that cadre knows of", "sysctl");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_setting_that_forbids_them_has_its_remedy),
        cmocka_unit_test(settings_that_allow_them_are_not_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
