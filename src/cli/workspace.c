/* The workspace's facts. Instruction files are opened through a scope: a link in a repository
 * cannot bring a file from outside into a prompt. */
#include "cli/workspace.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/utf8.h"
#include "os/clock.h"
#include "os/random.h"
#include "os/scope.h"

#define SESSION_MAX 64
#define WORKSPACE_ID_LENGTH 16

static struct str session_of(struct arena *arena)
{
    struct str given = str_from(getenv("CADRE_SESSION"));
    if (given.n > 0 && given.n <= SESSION_MAX && utf8_valid(given) == given.n)
        return arena_copy(arena, given);
    uint8_t entropy[10];
    random_bytes(entropy, sizeof entropy);
    struct id id = id_make(clock_now_ms(), entropy);
    return arena_copy(arena, id_str(&id));
}

static struct str user_of(struct arena *arena)
{
    struct passwd entry, *found = NULL;
    char text[4096];
    uid_t uid = getuid();
    if (getpwuid_r(uid, &entry, text, sizeof text, &found) == 0 && found != NULL &&
        found->pw_name[0] != '\0')
        return arena_copy(arena, str_from(found->pw_name));
    return arena_printf(arena, "uid-%lu", (unsigned long)uid);
}

int workspace_open(struct workspace *workspace, struct str directory, struct err *err)
{
    char given[PATH_MAX], real[PATH_MAX], hex[HASH_HEX + 1];
    if (directory.n == 0)
        directory = STR(".");
    if (directory.n >= sizeof given)
        return err_set(err, ERR_USAGE, "the workspace's path is too long");
    memcpy(given, directory.p, directory.n);
    given[directory.n] = '\0';
    if (realpath(given, real) == NULL)
        return err_set(err, ERR_USAGE, "workspace %s: %s", given, strerror(errno));
    size_t length = strlen(real);
    if (utf8_valid((struct str){real, length}) != length)
        return err_set(err, ERR_USAGE, "workspace %s: the path is not valid UTF-8", given);
    struct scope scope;
    if (scope_open(&scope, real, err) != 0) {
        if (err->class == ERR_NOT_FOUND)
            err->class = ERR_USAGE;
        return err_prefix(err, "workspace %s", given);
    }
    scope_close(&scope);
    arena_init(&workspace->arena);
    workspace->path = arena_copy(&workspace->arena, str_from(real));
    struct hash hash = hash_of(workspace->path);
    hash_hex(&hash, hex);
    workspace->workspace_id = arena_copy(&workspace->arena, (struct str){hex, WORKSPACE_ID_LENGTH});
    workspace->session_id = session_of(&workspace->arena);
    workspace->user_id = user_of(&workspace->arena);
    return 0;
}

void workspace_release(struct workspace *workspace)
{
    arena_release(&workspace->arena);
}

/* Adds one file under its heading; nothing when it is not there. */
static int add_file(const struct scope *scope, const char *name, struct buf *out, struct err *err)
{
    static const struct str everywhere[] = {{".", 1}};
    struct scope_allow allow = {everywhere, 1};
    struct scope_file file;
    char bytes[INSTRUCTIONS_FILE_MAX];
    size_t n = 0;
    if (scope_open_read(scope, str_from(name), allow, SCOPE_FOLLOW_LINKS, &file, err) != 0) {
        if (err->class == ERR_NOT_FOUND)
            return 0;
        return err_prefix(err, "instructions in %s", name);
    }
    ssize_t got = 1;
    while (n < sizeof bytes && got > 0) {
        got = read(file.fd, bytes + n, sizeof bytes - n);
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got > 0)
            n += (size_t)got;
    }
    close(file.fd);
    if (got < 0)
        return err_set(err, ERR_IO, "instructions in %s: %s", name, strerror(errno));
    struct str text = {bytes, n};
    if (n == sizeof bytes)
        text = utf8_cut(text, n - 1);
    if (text.n == 0)
        return 0;
    buf_printf(out, "%s# %s\n\n", out->n > 0 ? "\n" : "", name);
    utf8_mend(out, text);
    if (out->n > 0 && out->p[out->n - 1] != '\n')
        buf_char(out, '\n');
    return 0;
}

int workspace_instructions(struct workspace *workspace, struct str *text, struct err *err)
{
    static const char *const names[] = {"AGENTS.md", "ENVIRONMENT.md"};
    struct scope scope;
    struct buf out;
    int result = 0;
    *text = STR_NONE;
    if (scope_open(&scope, workspace->path.p, err) != 0)
        return -1;
    /* Mending can make a byte three. */
    buf_init(&out, 2 * (3 * INSTRUCTIONS_FILE_MAX + 256));
    for (size_t i = 0; i < sizeof names / sizeof names[0] && result == 0; i++)
        result = add_file(&scope, names[i], &out, err);
    if (result == 0 && out.n > 0)
        *text = arena_copy(&workspace->arena, buf_view(&out));
    buf_release(&out);
    scope_close(&scope);
    return result;
}
