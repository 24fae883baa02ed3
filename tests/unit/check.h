/* What every unit test includes: cmocka with the headers it needs, and checks for string views. */
#ifndef CADRE_TESTS_UNIT_CHECK_H
#define CADRE_TESTS_UNIT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/str.h"

/* A NULL view equals an empty text here; check .p where the difference matters. */
#define check_str(view, text)                                                                      \
    do {                                                                                           \
        struct str check_view_ = (view);                                                           \
        const char *check_text_ = (text);                                                          \
        if (!str_is(check_view_, check_text_))                                                     \
            fail_msg("\"%.*s\" is not \"%s\"", STR_FMT(check_view_), check_text_);                 \
    } while (0)

#endif
