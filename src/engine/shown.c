/* See shown.h. Any thread. */
#include "engine/shown.h"

#include "base/mask.h"
#include "base/utf8.h"

static const char *const kinds[PREVIEW_KIND_COUNT] = {
    [PREVIEW_TEXT] = "text", [PREVIEW_DIFF] = "diff", [PREVIEW_PROBLEM] = "problem"};

/* --- printing ------------------------------------------------------------------------------------------------------------------ */

static size_t line_length(struct str text)
{
    const char *end = memchr(text.p, '\n', text.n);
    return end != NULL ? (size_t)(end - text.p) + 1 : text.n;
}

static size_t add_masked(struct buf *out, struct str text, const struct masker *masker)
{
    struct buf piece;
    buf_init(&piece, text.n + 1);
    buf_str(&piece, text);
    size_t count = masker_apply(masker, &piece);
    buf_str(out, buf_view(&piece));
    buf_release(&piece);
    return count;
}

/* Lines that are added stay as they are; those between them are masked together, since a secret may have several lines. */
static size_t mask_diff(struct str diff, const struct masker *masker, struct buf *out)
{
    size_t count = 0;
    while (diff.n > 0) {
        size_t kept = 0, old = 0;
        while (kept < diff.n && diff.p[kept] == '+')
            kept += line_length((struct str){diff.p + kept, diff.n - kept});
        buf_add(out, diff.p, kept);
        diff = (struct str){diff.p + kept, diff.n - kept};
        while (old < diff.n && diff.p[old] != '+')
            old += line_length((struct str){diff.p + old, diff.n - old});
        count += add_masked(out, (struct str){diff.p, old}, masker);
        diff = (struct str){diff.p + old, diff.n - old};
    }
    return count;
}

static void print_text(struct jw *w, struct str text)
{
    if (utf8_valid(text) == text.n) {
        jw_kstr(w, "text", text);
        return;
    }
    struct buf hex;
    buf_init(&hex, 2 * text.n + 1);
    for (size_t i = 0; i < text.n; i++)
        buf_printf(&hex, "%02x", (unsigned char)text.p[i]);
    jw_kstr(w, "hex", buf_view(&hex));
    buf_release(&hex);
}

size_t shown_print(const struct preview *preview, const struct masker *masker, struct buf *out)
{
    struct jw w;
    size_t masked = 0;
    jw_init(&w, out);
    jw_object(&w);
    jw_kstr(&w, "tool", preview->tool);
    jw_ktext(&w, "reach", preview->reach == PREVIEW_INSIDE ? "inside" : "outside");
    jw_key(&w, "parts");
    jw_array(&w);
    for (size_t i = 0; i < preview->count; i++) {
        const struct preview_part *part = &preview->parts[i];
        struct buf text;
        buf_init(&text, 2 * PREVIEW_BYTES_MAX);
        if (part->kind == PREVIEW_DIFF)
            masked += mask_diff(part->text, masker, &text);
        else
            buf_str(&text, part->text);
        jw_object(&w);
        jw_ktext(&w, "kind", kinds[part->kind]);
        jw_kstr(&w, "label", part->label);
        print_text(&w, buf_view(&text));
        jw_end_object(&w);
        buf_release(&text);
    }
    jw_end_array(&w);
    jw_end_object(&w);
    return masked;
}

/* --- reading ------------------------------------------------------------------------------------------------------------------- */

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int text_of(struct arena *arena, const struct js *part, struct str *text)
{
    struct str hex = js_get_str(part, "hex");
    if (js_kind(js_get(part, "hex")) != JS_STRING) {
        *text = arena_copy(arena, js_get_str(part, "text"));
        return js_kind(js_get(part, "text")) == JS_STRING ? 0 : -1;
    }
    char *bytes = arena_alloc(arena, hex.n / 2 + 1);
    for (size_t i = 0; i + 1 < hex.n; i += 2) {
        int high = digit_of(hex.p[i]), low = digit_of(hex.p[i + 1]);
        if (high < 0 || low < 0)
            return -1;
        bytes[i / 2] = (char)(high * 16 + low);
    }
    *text = (struct str){bytes, hex.n / 2};
    return 0;
}

int shown_parse(struct arena *arena, const struct js *value, struct preview *preview)
{
    const struct js *parts = js_get(value, "parts");
    *preview = (struct preview){
        .tool = arena_copy(arena, js_get_str(value, "tool")),
        .reach = str_is(js_get_str(value, "reach"), "inside") ? PREVIEW_INSIDE : PREVIEW_OUTSIDE};
    if (js_kind(parts) != JS_ARRAY || js_count(parts) > PREVIEW_PARTS_MAX)
        return -1;
    for (; preview->count < js_count(parts); preview->count++) {
        const struct js *from = js_at(parts, preview->count);
        struct preview_part *part = &preview->parts[preview->count];
        size_t kind = 0;
        while (kind < PREVIEW_KIND_COUNT && !str_is(js_get_str(from, "kind"), kinds[kind]))
            kind++;
        if (kind == PREVIEW_KIND_COUNT || text_of(arena, from, &part->text) != 0)
            return -1;
        part->kind = (enum preview_kind)kind;
        part->label = arena_copy(arena, js_get_str(from, "label"));
        preview->bytes += part->label.n + part->text.n;
    }
    return 0;
}
