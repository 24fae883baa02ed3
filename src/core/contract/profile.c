/* See profile.h. Reading and printing as JSON is settings.c's work. Pure. */
#include "core/contract/profile.h"

#include "base/utf8.h"
#include "core/contract/settings.h"

#define SPECIALTY_CHARS 120

const struct profile *settings_profile(const struct settings *settings, struct str name)
{
    for (size_t i = 0; i < settings->profile_count; i++) {
        if (str_eq(settings->profiles[i].name, name))
            return &settings->profiles[i];
    }
    return NULL;
}

const char *profile_words(const struct settings *settings, struct arena *arena)
{
    struct str words = STR("none");
    for (size_t i = 0; i < settings->profile_count; i++)
        words = arena_printf(arena, "%.*s%s%.*s", i > 0 ? (int)words.n : 0, words.p,
                             i > 0 ? ", " : "", STR_FMT(settings->profiles[i].name));
    return words.p;
}

void prompt_escape(struct buf *out, struct str text)
{
    static const struct {
        char c;
        const char *entity;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
    struct buf line;
    buf_init(&line, SIZE_MAX / 4);
    utf8_clean(&line, text, UTF8_ONE_LINE);
    for (size_t i = 0; i < line.n; i++) {
        const char *entity = NULL;
        for (size_t k = 0; k < sizeof entities / sizeof entities[0]; k++)
            entity = line.p[i] == entities[k].c ? entities[k].entity : entity;
        if (entity != NULL)
            buf_text(out, entity);
        else
            buf_char(out, line.p[i]);
    }
    buf_release(&line);
}

static struct str first_sentence(struct str text)
{
    struct str line = {text.p, 0};
    while (line.n < text.n && text.p[line.n] != '\n' && text.p[line.n] != '.')
        line.n++;
    return utf8_cut_chars(line, SPECIALTY_CHARS);
}

static void add_profile(struct buf *out, const struct profile *profile)
{
    struct str says = first_sentence(profile->system_prompt);
    buf_text(out, "  <profile name=\"");
    prompt_escape(out, profile->name);
    buf_text(out, "\">");
    prompt_escape(out, says);
    buf_text(out, says.n > 0 ? ". Tools: " : "Tools: ");
    for (size_t i = 0; i < profile->tools.n; i++) {
        buf_text(out, i > 0 ? ", " : "");
        prompt_escape(out, profile->tools.items[i]);
    }
    buf_text(out, profile->tools.n > 0 ? ".</profile>\n" : "all.</profile>\n");
}

void profiles_prompt(const struct settings *settings, struct buf *out)
{
    if (settings->profile_count == 0)
        return;
    buf_text(out, "<available_spawn_profiles>\n");
    for (size_t i = 0; i < settings->profile_count; i++)
        add_profile(out, &settings->profiles[i]);
    buf_text(out, "</available_spawn_profiles>\n");
}
