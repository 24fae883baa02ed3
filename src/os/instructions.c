/* See instructions.h. */
#include "os/instructions.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "os/scope.h"

struct str instructions_stand_in(struct str name)
{
    return str_is(name, "AGENTS.md") ? STR("CLAUDE.md") : STR_NONE;
}

bool instructions_found_upward(struct str name)
{
    return name.n > 3 && memcmp(name.p + name.n - 3, ".md", 3) == 0 &&
           memchr(name.p, '/', name.n) == NULL;
}

static int read_text(int fd, struct buf *out, enum instructions_extent *extent, struct err *err)
{
    char bytes[INSTRUCTIONS_FILE_MAX];
    size_t n = 0;
    ssize_t got = 1;
    while (n < sizeof bytes && got > 0) {
        got = read(fd, bytes + n, sizeof bytes - n);
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got > 0)
            n += (size_t)got;
    }
    struct str text = {bytes, n};
    if (got < 0)
        return err_set(err, ERR_IO, "%s", strerror(errno));
    if (n > 0 && memchr(bytes, '\0', n) != NULL)
        return err_set(err, ERR_USAGE, "it is a binary file");
    *extent = n == sizeof bytes ? INSTRUCTIONS_CUT : INSTRUCTIONS_WHOLE;
    utf8_mend(out, n == sizeof bytes ? utf8_cut(text, n - 1) : text);
    return 0;
}

/* Whoever may put files into somebody's directory must not speak for that somebody. */
static int check_owner(const struct scope *scope, const struct scope_file *file, struct err *err)
{
    struct stat directory;
    uid_t owner = file->status.st_uid;
    if (owner == geteuid() || owner == 0 ||
        (fstat(scope->fd, &directory) == 0 && owner == directory.st_uid))
        return 0;
    return err_set(err, ERR_DENIED,
                   "it belongs to user %lu, neither to you nor to root; make it yours (chown) or "
                   "remove it",
                   (unsigned long)owner);
}

static int read_one(const struct scope *scope, struct str name, struct buf *out,
                    enum instructions_extent *extent, struct err *err)
{
    static const struct str everywhere[] = {{".", 1}};
    const struct scope_allow allow = {everywhere, 1};
    struct scope_file file;
    if (scope_open_read(scope, name, allow, SCOPE_FOLLOW_LINKS, &file, err) != 0)
        return -1;
    int result = check_owner(scope, &file, err);
    if (result == 0)
        result = read_text(file.fd, out, extent, err);
    close(file.fd);
    return result;
}

int instructions_read(const char *directory, struct str name, struct buf *out,
                      struct instructions_found *found, struct err *err)
{
    struct scope scope;
    struct str other = instructions_stand_in(name);
    *found = (struct instructions_found){.name = name};
    if (scope_open(&scope, directory, err) != 0)
        return -1;
    int result = read_one(&scope, name, out, &found->extent, err);
    if (result != 0 && err->class == ERR_NOT_FOUND && other.p != NULL) {
        *err = ERR_INIT;
        found->name = other;
        result = read_one(&scope, other, out, &found->extent, err);
    }
    scope_close(&scope);
    if (result != 0 && err->class != ERR_NOT_FOUND)
        err_prefix(err, "instructions in %s/%.*s", directory, STR_FMT(found->name));
    return result;
}
