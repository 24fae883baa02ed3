/* Pages as Markdown: one behaviour of the conversion each, and pages that are wrong or hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tool/html.h"
#include "tool/html_token.h"

#define BASE "https://example.org/docs/page.html"

static void converts(const char *html, const char *expected)
{
    struct buf text, title;
    buf_init(&text, 1 << 20);
    buf_init(&title, 4096);
    html_to_markdown(str_from(html), BASE, &text, &title);
    assert_false(text.failed);
    assert_string_equal(buf_view(&text).p, expected);
    buf_release(&text);
    buf_release(&title);
}

static void white_space_collapses_and_blocks_stand_apart(void **state)
{
    (void)state;
    converts("<p>one\n  two&nbsp; three</p><p>four<br>five</p>six",
             "one two three\n\nfour\nfive\n\nsix\n");
    converts("<div>a</div><div><div>b</div></div>", "a\nb\n");
    converts("a <b>b</b> <i> c </i>d", "a b c d\n");
    converts("", "");
    converts("<html><body></body></html>", "");
}

static void headings_keep_their_level(void **state)
{
    (void)state;
    converts("<h1>Top</h1>text<h3>Low <span>er</span></h3>more",
             "# Top\n\ntext\n\n### Low er\n\nmore\n");
    converts("<h2><div>in a</div><div>block</div></h2>x", "## in a block\n\nx\n");
}

static void lists_nest_and_count(void **state)
{
    (void)state;
    converts("<ul><li>a<li><p>b</p><ul><li>c</li></ul></li></ul>after",
             "- a\n- b\n  - c\n\nafter\n");
    converts("<ol start=3><li>x</li><li>y<br>z</li></ol>", "3. x\n4. y\n   z\n");
    converts("<blockquote><p>q</p><p>r</p></blockquote>s", "> q\n>\n> r\n\ns\n");
    converts("<li>alone", "- alone\n");
}

static void links_are_absolute(void **state)
{
    (void)state;
    converts("<a href='other.html?a=1&amp;b=2'>rel</a> <a href=\"/top\">root</a> <a "
             "href=//h.example/x>net</a>",
             "[rel](https://example.org/docs/other.html?a=1&b=2) [root](https://example.org/top) "
             "[net](https://h.example/x)\n");
    converts("<a href='#part'>here</a> <a href='javascript:alert(1)'>run</a> <a "
             "href='mailto:a@b'>mail</a> "
             "<a>none</a>",
             "here run mail none\n");
    converts("<a href='/p(1)'>paren</a><a href='/e'></a>",
             "[paren](https://example.org/p%281%29)\n");
    converts("<a href='/card'><h3>Title</h3><p>text</p></a>",
             "### [Title](https://example.org/card)\n\ntext\n");
}

static void images_are_their_words(void **state)
{
    (void)state;
    converts("<p>see <img src=x.png alt=' a cat '> <img src=y.png></p>", "see [image: a cat]\n");
}

static void code_stays_as_it_is(void **state)
{
    (void)state;
    converts("<p>use <code>ls  -l</code> now</p>", "use `ls -l` now\n");
    converts("<pre><code class=\"hl language-c\">int a;\n  if (a &lt; b)\n</code></pre>x",
             "```c\nint a;\n  if (a < b)\n```\n\nx\n");
    converts("<ul><li>item<pre>a\nb</pre></li></ul>", "- item\n\n  ```\n  a\n  b\n  ```\n");
    converts("<pre>has ``` fence</pre>", "````\nhas ``` fence\n````\n");
    converts("<pre>never closed\n<b>x", "```\nnever closed\nx\n```\n");
}

static void tables_have_a_rule_behind_their_first_row(void **state)
{
    (void)state;
    converts("<table><tr><th>A<th>B</tr><tr><td>1 | one</td><td><p>2</p></td></tr></table>after",
             "| A | B |\n|---|---|\n| 1 \\| one | 2 |\n\nafter\n");
    converts("<table><tr><td><table><tr><td>in</td><td>side</td></tr><tr><td>row</td></tr></"
             "table></td></tr></table>",
             "|  |\n|---|\n\nin side\nrow\n");
}

static void scripts_styles_and_navigation_are_left_out(void **state)
{
    (void)state;
    converts("<script>if (a < b) document.write('<p>x</p>')</script>a<style>p{}</style>"
             "<nav><ul><li>menu<nav>deep</nav></ul></nav>b<noscript>no</noscript><svg><text>s</"
             "text></svg>c"
             "<template>t</template><!-- comment --><button>Copy</button>",
             "abc\n");
    converts("x<script>never closed <p>y", "x\n");
    converts("a<div hidden>secret</div>b<span style='display: none'>no</span><span "
             "aria-hidden=true>#</span>c",
             "ab#c\n");
}

static void navigation_that_is_never_closed_is_read_after_all(void **state)
{
    (void)state;
    converts("a<nav><p>b</p><p>c</p>", "a\n\nb\n\nc\n");
}

static void entities_are_replaced(void **state)
{
    (void)state;
    converts("&lt;a&gt; &amp;amp; &eacute;&#233;&#xE9; &#8364; &#128; &hellip; &nosuch; & x &amp",
             "<a> &amp; \xC3\xA9\xC3\xA9\xC3\xA9 \xE2\x82\xAC \xE2\x82\xAC \xE2\x80\xA6 &nosuch; & "
             "x &amp\n");
    converts("&#0;&#xD800;&#x110000;&#99999999999;",
             "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\n");
}

static void the_title_is_found(void **state)
{
    (void)state;
    struct buf text, title;
    buf_init(&text, 1 << 16);
    buf_init(&title, 4096);
    html_to_markdown(
        STR("<head><title>A &amp;\n B</title></head><svg><title>icon</title></svg>body"), BASE,
        &text, &title);
    assert_string_equal(title.p, "A & B");
    assert_string_equal(text.p, "body\n");
    buf_release(&text);
    buf_release(&title);
}

static void wrong_tags_are_forgiven(void **state)
{
    (void)state;
    converts("</p></ul></table></h1></a>a < b <> <3 </ x><p", "a < b <> <3 </ x>\n");
    converts("<A HREF='/x'>up</A ><P CLASS=\"a>b\">q</P>", "[up](https://example.org/x)\n\nq\n");
    converts("<p title=\"never closed>text", "");
    converts("<!-- never closed", "");
    converts("<![CDATA[x]]>y<?php z ?>w", "yw\n");
}

/* A page of `n` times a text; must end, and its work must not grow with the square. */
static void converts_many(const char *part, size_t n)
{
    struct buf html, text, title;
    buf_init(&html, 64 << 20);
    buf_init(&text, 4 << 20);
    buf_init(&title, 4096);
    for (size_t i = 0; i < n; i++)
        buf_text(&html, part);
    html_to_markdown(buf_view(&html), BASE, &text, &title);
    assert_true(text.n <= text.max);
    buf_release(&html);
    buf_release(&text);
    buf_release(&title);
}

/* Each would take minutes, or more stack than there is, if it were done twice for every part. */
static void hostile_pages_take_no_more_than_their_length(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "<div>",     "<ul><li>",   "<blockquote>", "<table><tr><td>",
        "<a href='", "<a href=x>", "<!--",         "<nav>",
        "</script",  "<script>",   "<pre>",        "<",
        "&",         "&#",         "<p a=\"",      "<br>",
        "<h1>",      "<code>",     "<li>",         "`",
        "<textarea>"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        converts_many(parts[i], 100000);
}

static void a_page_that_does_not_fit_is_cut_at_its_end(void **state)
{
    (void)state;
    struct buf text, title;
    buf_init(&text, 8);
    buf_init(&title, 64);
    html_to_markdown(STR("<p>12345</p><p>67890</p>"), BASE, &text, &title);
    assert_true(text.failed);
    assert_true(str_starts(buf_view(&text), STR("12345")));
    buf_release(&text);
    buf_release(&title);
}

static void attributes_are_found_in_any_spelling(void **state)
{
    (void)state;
    struct str value;
    struct html_token token = {.attributes = STR(" a=1 B = 'x y' data-href=no href=\"z\" empty")};
    assert_true(html_attribute(&token, "href", &value));
    assert_true(str_is(value, "z"));
    assert_true(html_attribute(&token, "b", &value));
    assert_true(str_is(value, "x y"));
    assert_true(html_attribute(&token, "empty", &value));
    assert_int_equal(value.n, 0);
    assert_false(html_attribute(&token, "y", &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(white_space_collapses_and_blocks_stand_apart),
        cmocka_unit_test(headings_keep_their_level),
        cmocka_unit_test(lists_nest_and_count),
        cmocka_unit_test(links_are_absolute),
        cmocka_unit_test(images_are_their_words),
        cmocka_unit_test(code_stays_as_it_is),
        cmocka_unit_test(tables_have_a_rule_behind_their_first_row),
        cmocka_unit_test(scripts_styles_and_navigation_are_left_out),
        cmocka_unit_test(navigation_that_is_never_closed_is_read_after_all),
        cmocka_unit_test(entities_are_replaced),
        cmocka_unit_test(the_title_is_found),
        cmocka_unit_test(wrong_tags_are_forgiven),
        cmocka_unit_test(hostile_pages_take_no_more_than_their_length),
        cmocka_unit_test(a_page_that_does_not_fit_is_cut_at_its_end),
        cmocka_unit_test(attributes_are_found_in_any_spelling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
