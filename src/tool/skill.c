/* The tool `skill`: lists the skills that this contract allows, loads one, and reads the files that lie beside its SKILL.md. Each
 * skill is walled in: nothing outside its own directory can be read through it. Runs on a pool thread. */
#include <inttypes.h>
#include <unistd.h>

#include "base/filename.h"
#include "tool/arguments.h"
#include "tool/file.h"
#include "tool/front_matter.h"
#include "tool/listing.h"
#include "tool/result.h"
#include "tool/skills.h"
#include "tool/table.h"

#define TEXT_MAX (1u << 20)
#define FILES_SHOWN 40
#define DESCRIPTION_SHOWN 400 /* bytes in the list */

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"
    "\"file\":{\"type\":\"string\",\"description\":\"Default SKILL.md\"},"
    "\"offset\":{\"type\":\"integer\",\"description\":\"Byte to go on from\"}}}";

static const struct argument arguments_known[] = {
    {"name", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, 256},
    {"file", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, SCOPE_PATH_MAX},
    {"offset", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 0, TEXT_MAX},
};

struct shelf {
    struct scope user;
    enum { USER_ABSENT, USER_OPEN } user_state;
    struct skills skills;
};

static void shelf_open(const struct tool_context *context, struct shelf *shelf)
{
    struct err ignored = ERR_INIT;
    struct str directory = context->services ? context->services->skills_directory : STR("");
    shelf->user_state = USER_ABSENT;
    if (directory.n > 0 &&
        scope_open(&shelf->user, arena_copy(context->arena, directory).p, &ignored) == 0)
        shelf->user_state = USER_OPEN;
    skills_find(context->scope, shelf->user_state == USER_OPEN ? &shelf->user : NULL,
                context->arena, &shelf->skills);
}

static void shelf_close(struct shelf *shelf)
{
    if (shelf->user_state == USER_OPEN)
        scope_close(&shelf->user);
}

/* "skill:formatting" and "formatting" are one name. */
static struct str bare(struct str name)
{
    struct str mark = STR("skill:");
    return str_starts(name, mark) ? (struct str){name.p + mark.n, name.n - mark.n} : name;
}

static bool is_allowed(const struct tool_context *context, struct str name)
{
    if (context->skills_state == SKILLS_ALL)
        return true;
    for (size_t i = 0; i < context->skill_count; i++)
        if (str_eq(bare(context->skills[i]), name))
            return true;
    return false;
}

static void list(const struct tool_context *context, const struct skills *skills,
                 struct tool_result *result)
{
    size_t shown = 0, left = 0;
    for (size_t i = 0; i < skills->count; i++) {
        const struct skill *skill = &skills->items[i];
        struct str description = utf8_cut(skill->description, DESCRIPTION_SHOWN);
        if (!is_allowed(context, skill->name))
            continue;
        if (tool_room(result) < 3 * description.n + 200) {
            left++;
            continue;
        }
        shown++;
        buf_printf(&result->text, "- %.*s: ", STR_FMT(skill->name));
        tool_add_clean(result, description);
        buf_printf(&result->text, "%s%s%s\n", description.n < skill->description.n ? "…" : "",
                   skill->origin == SKILL_OF_USER ? " (the user's)" : " (the workspace's)",
                   skill->hides ? " (hides another one of this name)" : "");
    }
    if (shown == 0)
        buf_text(&result->text, "There are no skills that you may use.\n");
    if (left > 0 || skills->extent == SKILLS_CUT)
        buf_text(&result->text, "[the list is truncated: ask for a skill by its name]\n");
}

/* What lies beside SKILL.md. */
static void list_files(const struct tool_context *context, const struct scope *scope,
                       struct str place, struct scope_allow allow, struct tool_result *result)
{
    struct err ignored = ERR_INIT;
    struct scope_file directory;
    struct listing listing = {0};
    size_t shown = 0;
    if (scope_open_dir(scope, place, allow, SCOPE_REFUSE_LINKS, &directory, &ignored) != 0)
        return;
    if (listing_read(&listing, context->arena, directory.fd, &ignored) != 0)
        listing.count = 0;
    for (size_t i = 0; i < listing.count; i++) {
        struct str name = str_from(listing.entries[i].name);
        if (str_is(name, "SKILL.md"))
            continue;
        if (shown == FILES_SHOWN || FILENAME_SHOWN(name.n) + 8 > tool_room(result)) {
            buf_text(&result->text, ", …");
            break;
        }
        buf_text(&result->text,
                 shown++ == 0 ? "[files of this skill, to read with the argument file: " : ", ");
        if (listing.entries[i].kind == LISTING_DIRECTORY)
            name = arena_printf(context->arena, "%.*s/", STR_FMT(name));
        filename_show(&result->text, name);
    }
    buf_text(&result->text, shown > 0 ? "]\n" : "");
    close(directory.fd);
}

static void show_text(const struct tool_context *context, struct str text, int64_t offset,
                      struct tool_result *result)
{
    struct buf clean;
    (void)context;
    buf_init(&clean, 3 * TEXT_MAX + 16);
    utf8_clean(&clean, text, UTF8_LINES);
    struct str whole = buf_view(&clean);
    size_t from = utf8_cut(whole, (size_t)offset).n;
    struct str rest = {whole.p + from, whole.n - from};
    struct str shown = utf8_cut(rest, tool_room(result));
    buf_str(&result->text, shown);
    buf_text(&result->text, shown.n > 0 && shown.p[shown.n - 1] != '\n' ? "\n" : "");
    if (whole.n == 0)
        buf_text(&result->text, "[the file is empty]\n");
    if (shown.n < rest.n)
        buf_printf(&result->text, "[truncated: bytes %zu to %zu of %zu; ask for offset %zu]\n",
                   from, from + shown.n, whole.n, from + shown.n);
    buf_release(&clean);
}

static void load(const struct tool_context *context, const struct scope *scope,
                 const struct skill *skill, const struct js *arguments, struct tool_result *result)
{
    struct err err = ERR_INIT;
    struct scope_file file;
    struct buf content;
    struct str asked = js_get_str(arguments, "file"), path, block, text;
    const struct scope_allow allow = {&skill->place, 1};
    int64_t offset = arguments_whole(arguments, "offset", 0);
    bool main_file = asked.n == 0;
    if (scope_path(scope, context->arena, skill->place, main_file ? STR("SKILL.md") : asked, &path,
                   &err) != 0 ||
        scope_open_read(scope, path, allow, SCOPE_FOLLOW_LINKS, &file, &err) != 0) {
        tool_fail_err(result, &err);
        tool_fail_within(result, "skill %.*s", STR_FMT(skill->name));
        return;
    }
    buf_init(&content, 2 * TEXT_MAX);
    text = STR("");
    if (file_load(context, &file, TEXT_MAX, &content, &err) != 0) {
        tool_fail_err(result, &err);
    } else if (content.n > 0 && memchr(content.p, '\0', content.n)) {
        tool_fail(result, "%s is a binary file of %zu bytes", filename_of(str_from(file.path)).text,
                  content.n);
    } else {
        text = buf_view(&content);
        if (main_file)
            front_matter_split(buf_view(&content), &block, &text);
        show_text(context, text, offset, result);
        if (main_file && offset == 0)
            list_files(context, scope, skill->place, allow, result);
        if (skill->origin == SKILL_OF_WORKSPACE)
            tool_add_read(context, result, str_from(file.path));
    }
    buf_release(&content);
    close(file.fd);
}

static void skill_run(const struct tool_context *context, const struct js *arguments,
                      const struct tool_prepared *prepared, struct tool_result *result)
{
    (void)prepared;
    struct shelf shelf;
    tool_result_start(context, result);
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0)
        return;
    struct str name = bare(js_get_str(arguments, "name"));
    if (name.n == 0 && js_get_str(arguments, "file").n > 0) {
        tool_fail(result, "\"file\" needs the name of the skill too");
        return;
    }
    if (name.n > 0 && !skill_name_valid(name)) {
        tool_fail(result, "a skill's name has at most %d small letters, digits and -",
                  SKILL_NAME_MAX);
        return;
    }
    shelf_open(context, &shelf);
    const struct skill *skill = skills_get(&shelf.skills, name);
    if (name.n == 0)
        list(context, &shelf.skills, result);
    else if (!is_allowed(context, name))
        tool_fail(result, "the skill %.*s is not among those that this contract allows",
                  STR_FMT(name));
    else if (skill == NULL)
        tool_fail(result, "there is no skill %.*s; call skill without arguments for the list",
                  STR_FMT(name));
    else
        load(context, skill->origin == SKILL_OF_USER ? &shelf.user : context->scope, skill,
             arguments, result);
    shelf_close(&shelf);
}

const struct tool tool_skill = {
    .name = "skill",
    .description = "List skills (instructions for kinds of work), or load one.",
    .schema = schema,
    .prepare = NULL,
    .run = skill_run,
};
