/* What a prompt says about skills: their names and descriptions, cheap enough to stand there in every request. Loading one is the
 * tool's business. Pure; any thread. */
#include "base/utf8.h"
#include "core/contract/settings.h"

#define DESCRIPTION_CHARS 240
#define BLOCK_MAX 6000 /* bytes; later skills are only counted */

void skills_prompt(const struct settings *settings, const struct list *allowed, struct buf *out)
{
    size_t start = out->n, left = 0, shown = 0;
    for (size_t i = 0; i < settings->skill_count; i++) {
        const struct skill_listed *skill = &settings->skills[i];
        if (!list_has(allowed, skill->name))
            continue;
        if (out->n - start > BLOCK_MAX) {
            left++;
            continue;
        }
        if (shown++ == 0)
            buf_text(out, "<available_skills>\n");
        struct str says = utf8_cut_chars(skill->description, DESCRIPTION_CHARS);
        buf_text(out, "  <skill name=\"");
        prompt_escape(out, skill->name);
        buf_text(out, "\">");
        prompt_escape(out, says);
        buf_text(out, says.n < skill->description.n ? "…</skill>\n" : "</skill>\n");
    }
    if (left > 0)
        buf_printf(out, "  %zu more: call skill without arguments.\n", left);
    if (shown > 0)
        buf_text(out, "</available_skills>\nLoad a skill with the tool skill when the task is of "
                      "its kind.\n");
}
