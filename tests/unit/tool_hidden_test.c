/* Text that a browser would not show does not reach a model from a page; its harmless twin does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tool/html.h"

#define WORD "injected"

/* Every page has the word once, and "seen" in front of it and behind it. */
static void check(const char *page, bool shown)
{
    struct buf text, title;
    buf_init(&text, 1 << 20);
    buf_init(&title, 4096);
    html_to_markdown(str_from(page), "https://example.org/", &text, &title);
    const char *got = text.p != NULL ? text.p : "";
    if ((strstr(got, WORD) != NULL) != shown || strstr(got, "seen") == NULL)
        fail_msg("%s became: %s", page, got);
    buf_release(&text);
    buf_release(&title);
}

static void check_style(const char *declarations, bool shown)
{
    static const char *const elements[] = {"div", "p", "span", "li", "td", "b", "h2", "custom-tag"};
    char page[1000];
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++) {
        snprintf(page, sizeof page, "<p>seen</p><%s style=\"%s\">a " WORD "</%s><p>seen",
                 elements[i], declarations, elements[i]);
        check(page, shown);
        snprintf(page, sizeof page,
                 "<style>.x { color: red; %s }</style>seen <%s class='y x'><i>" WORD
                 "</i></%s> seen",
                 declarations, elements[i], elements[i]);
        check(page, shown);
    }
}

static void what_styles_hide_is_left_out(void **state)
{
    static const char *const hidden[] = {"display:none",
                                         "DISPLAY : NONE",
                                         "display: none !important;",
                                         "color:red;display:/**/none",
                                         "d\\69splay:none",
                                         "visibility:hidden",
                                         "visibility: collapse",
                                         "opacity:0",
                                         "opacity: 0.0",
                                         "opacity:0%",
                                         "font-size:0",
                                         "font-size: 0px",
                                         "width:0;overflow:hidden",
                                         "height:0px; overflow: hidden",
                                         "max-height:0;overflow:clip",
                                         "position:absolute;left:-9999px",
                                         "position: fixed; top: -5000px",
                                         "position:absolute;left:-100vw",
                                         "text-indent:-9999px",
                                         "margin-left:-99999px",
                                         "margin-top: -9999px",
                                         "margin:0 0 0 -9999px",
                                         "margin: -9999px !important; margin: 0",
                                         "margin-left:-99999px;padding-left:10px",
                                         "zoom:0",
                                         "zoom: 0%",
                                         "transform:translateX(-9999px)",
                                         "transform: scale(0)",
                                         "position:absolute;clip:rect(0,0,0,0)",
                                         "content-visibility:hidden",
                                         "display:block;display:none"};
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        check_style(hidden[i], false);
}

static void what_styles_show_stays(void **state)
{
    static const char *const visible[] = {"display:block",
                                          "display:none;display:block",
                                          "visibility:visible",
                                          "opacity:.5",
                                          "opacity:1",
                                          "font-size:10px",
                                          "font-size:0.8em",
                                          "width:0",
                                          "height:0;overflow:visible",
                                          "width:100%;overflow:hidden",
                                          "position:absolute;left:10px",
                                          "left:-9999px",
                                          "position:absolute;left:-20px",
                                          "text-indent:-2em",
                                          "margin-left:-100%",
                                          "margin-left:-960px",
                                          "margin:0 -9999px;padding:0 9999px",
                                          "margin-bottom:-99999px",
                                          "margin:10px auto -9999px",
                                          "zoom:1",
                                          "zoom:normal",
                                          "transform:translateX(-50%)",
                                          "background:url(display:none)",
                                          "content:'display:none'",
                                          "color:red",
                                          ""};
    for (size_t i = 0; i < sizeof visible / sizeof visible[0]; i++)
        check_style(visible[i], true);
}

static void hidden_elements_hide_all_that_is_in_them(void **state)
{
    static const char *const pages[] = {
        "seen<p hidden>" WORD "</p>seen",
        "seen<div hidden><p>a</p><ul><li>" WORD "<li>x</ul></div>seen",
        "seen<div style=display:none><div>x</div>" WORD "</div>seen",
        "seen<ul><li style=display:none>" WORD "<li>seen</ul>",
        "seen<table><tr><td hidden>" WORD "<td>seen</table>",
        "seen<p hidden>" WORD "<p>seen",
        "seen<div hidden>never closed " WORD,
        "seen<div hidden><span>x</div></span>seen<div hidden>" WORD "</div>",
        "seen<div hidden></span></p>" WORD "</div>seen",
        "seen<p><b style='display:none'></p><p>" WORD "</p></b>seen",
        "seen<span hidden><div>x</span>" WORD "</div>",
        "seen<div hidden><table><tr><td></div>" WORD "</table></div>seen",
        "seen<template>" WORD "</template>seen",
        "seen<p id=a>" WORD "</p>seen<style>#a{display:none}</style>",
        "<style>p.a.b{display:none}</style>seen<p class='b a'>" WORD "</p>seen",
        "<style>@media screen{.a{opacity:0}}</style>seen<p class=a>" WORD "</p>seen",
        "<style>h1, .a /* c */, i{display:none}</style>seen<p class=a>" WORD "</p>seen",
        "seen<p style='display:n&#111;ne'>" WORD "</p>seen",
        "seen<div style=visibility:hidden>a<b>" WORD "</b></div>seen",
        "<pre>seen<span hidden>" WORD "</span></pre>seen",
        "seen<img alt='" WORD "' style='display:none'>seen",
        "seen<img hidden alt=" WORD ">seen",
        "seen<img width=0 height=0 alt=" WORD ">seen",
        "seen<img width='&#49;' height=200 alt=" WORD ">seen",
        "seen<img style='height:1px' alt=" WORD ">seen",
        "<style>.a{opacity:0}</style>seen<img class=a alt=" WORD ">seen",
    };
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
        check(pages[i], false);
}

static void harmless_twins_are_shown(void **state)
{
    static const char *const pages[] = {
        "seen<p hidden>x</p>" WORD " seen",
        "seen<p hidden>x<p>" WORD "<p>seen",
        "seen<ul><li hidden>x<li>" WORD "</ul>seen",
        "seen<div style=visibility:hidden>a<b style=visibility:visible>" WORD "</b></div>seen",
        "seen<div style=font-size:0>a<b style=font-size:16px>" WORD "</b></div>seen",
        "seen<span aria-hidden=true>" WORD "</span>",
        "seen<p hidden style=display:block>" WORD "</p>",
        "<style>@media print{.a{display:none}}</style>seen<p class=a>" WORD "</p>",
        "<style>@media (max-width: 600px){.a{display:none}}</style>seen<p class=a>" WORD "</p>",
        "<style>.a{display:none}.a{display:block}</style>seen<p class=a>" WORD "</p>",
        "<style>.a{display:none}p.a{display:block}</style>seen<p class=a>" WORD "</p>",
        "<style>.a .b{display:none} .a:hover{opacity:0}</style>seen<p class='a b'>" WORD "</p>",
        "<style>body{opacity:0}</style><body>seen<p>" WORD "</p>",
        "<style>.b{display:none}</style>seen<p class=a>" WORD "</p>",
        "seen<div hidden><img><br><input></div>" WORD,
        "seen<p>a<b hidden>x</b>" WORD "</p>",
        "seen<input hidden>" WORD,
        "seen<img hidden>" WORD,
        "seen<img hidden><img alt=" WORD ">",
        "seen<img width=100 height=100% alt=" WORD ">",
        "seen<img width=0 height=0 style='width:9em;height:auto' alt=" WORD ">",
    };
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
        check(pages[i], true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_styles_hide_is_left_out),
        cmocka_unit_test(what_styles_show_stays),
        cmocka_unit_test(hidden_elements_hide_all_that_is_in_them),
        cmocka_unit_test(harmless_twins_are_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
