/* Builds command line and environment of a git call and runs it: see call.h. The caller's thread waits. */
#include "git/call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/utf8.h"
#include "os/process.h"

#define WORDS_MAX 512
#define VARIABLES_MAX 40
#define ERRORS_MAX 16384 /* bytes kept of what git says about a failure */
#define ERRORS_SHOWN 600
#define DISK_FULL_BYTES 65536 /* less is left: no file of any use fits */

/* Where git is looked for. PATH is not asked: it may name a directory that an agent can write to. */
static const char *const programs[] = {"/usr/bin/git", "/usr/local/bin/git", "/bin/git"};

/* The common directory's config is ours, so these only matter for what git would do by itself; the empty values stand for programs that
 * a later git might find a default for. */
static const char *const settings[] = {
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.sshCommand=false",
    "core.askPass=false",
    "core.pager=cat",
    "core.editor=false",
    "core.attributesFile=/dev/null",
    "core.logAllRefUpdates=false",
    "core.quotePath=false",
    "core.commitGraph=false",
    "core.fsync=committed,reference", /* a branch never names what a power cut takes */
    "core.fsyncMethod=batch",
    "protocol.allow=never",
    "submodule.recurse=false",
    "diff.ignoreSubmodules=dirty",
    "diff.submodule=short",
    "diff.autoRefreshIndex=false",
    "credential.helper=",
    "gc.auto=0",
    "maintenance.auto=false",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "commit.gpgSign=false",
    "log.showSignature=false",
    "color.ui=false",
    "advice.detachedHead=false",
    "init.defaultBranch=main",
};

static const char *const variables[] = {
    "PATH=/usr/bin:/bin",
    "LC_ALL=C",
    "TZ=UTC",
    "GIT_CONFIG_NOSYSTEM=1",
    "GIT_CONFIG_SYSTEM=/dev/null",
    "GIT_CONFIG_GLOBAL=/dev/null",
    "GIT_ATTR_NOSYSTEM=1",
    "GIT_TERMINAL_PROMPT=0",
    "GIT_ASKPASS=/bin/false",
    "SSH_ASKPASS=/bin/false",
    "GIT_SSH_COMMAND=/bin/false",
    "GIT_ALLOW_PROTOCOL=none",
    "GIT_PROTOCOL_FROM_USER=0",
    "GIT_LITERAL_PATHSPECS=1",
    "GIT_NO_REPLACE_OBJECTS=1",
    "GIT_PAGER=cat",
    "GIT_EDITOR=/bin/false",
    "GIT_SEQUENCE_EDITOR=/bin/false",
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* --- opening ------------------------------------------------------------------------------------------------------------ */

/* Absolute, because calls start in another directory than this process. */
static int copy_path(char to[GIT_PATH_MAX], struct str from, struct err *err)
{
    char here[GIT_PATH_MAX] = "";
    bool relative = from.n > 0 && from.p[0] != '/';
    if (relative && getcwd(here, sizeof here) == NULL)
        return err_set(err, ERR_IO, "this directory is gone: %s", strerror(errno));
    int n = snprintf(to, GIT_PATH_MAX, "%s%s%.*s", here, relative ? "/" : "", STR_FMT(from));
    return n < GIT_PATH_MAX ? 0 : err_set(err, ERR_USAGE, "a path is too long");
}

int git_open(struct git *git, struct str state, struct str excludes, struct err *err)
{
    *git = (struct git){.program = ""};
    for (size_t i = 0; i < COUNT(programs) && git->program[0] == '\0'; i++)
        if (access(programs[i], X_OK) == 0)
            snprintf(git->program, sizeof git->program, "%s", programs[i]);
    if (git->program[0] == '\0')
        return err_set(err, ERR_NOT_FOUND, "git is not installed on this machine");
    if (copy_path(git->state, state, err) != 0 || copy_path(git->excludes, excludes, err) != 0)
        return -1;
    return 0;
}

/* --- one call ----------------------------------------------------------------------------------------------------------- */

struct line {
    const char *words[WORDS_MAX];
    const char *environment[VARIABLES_MAX];
    size_t word_count, variable_count;
    struct arena arena;
};

static void add_word(struct line *line, const char *word)
{
    if (line->word_count < WORDS_MAX)
        line->words[line->word_count] = word;
    line->word_count++;
}

static void add_variable(struct line *line, const char *name, struct str value)
{
    line->environment[line->variable_count++] =
        arena_printf(&line->arena, "%s=%.*s", name, STR_FMT(value)).p;
}

static void add_signature(struct line *line, const char *who, const struct git_signature *signature)
{
    if (signature == NULL)
        return;
    struct str when = arena_printf(&line->arena, "@%lld +0000", (long long)signature->when);
    add_variable(line, arena_printf(&line->arena, "GIT_%s_NAME", who).p, signature->name);
    add_variable(line, arena_printf(&line->arena, "GIT_%s_EMAIL", who).p, signature->email);
    add_variable(line, arena_printf(&line->arena, "GIT_%s_DATE", who).p, when);
}

static void build_environment(struct line *line, const struct git_call *call)
{
    for (size_t i = 0; i < COUNT(variables); i++)
        line->environment[line->variable_count++] = variables[i];
    if (call->site != NULL)
        add_variable(line, "GIT_COMMON_DIR", call->site->common_dir);
    if (call->effect == GIT_READS)
        add_variable(line, "GIT_OPTIONAL_LOCKS", STR("0"));
    if (call->index_file != NULL)
        add_variable(line, "GIT_INDEX_FILE", str_from(call->index_file));
    add_signature(line, "AUTHOR", call->author);
    add_signature(line, "COMMITTER", call->committer);
}

static void build_words(struct line *line, const struct git *git, const struct git_call *call)
{
    add_word(line, git->program);
    add_word(line, "--no-pager");
    if (call->site == NULL) {
        add_word(line, "--git-dir=/nonexistent"); /* nothing is looked for from here upwards */
    } else {
        add_word(line,
                 arena_printf(&line->arena, "--git-dir=%.*s", STR_FMT(call->site->git_dir)).p);
        add_word(line,
                 arena_printf(&line->arena, "--work-tree=%.*s", STR_FMT(call->site->work_tree)).p);
    }
    for (size_t i = 0; i < COUNT(settings); i++) {
        add_word(line, "-c");
        add_word(line, settings[i]);
    }
    if (git->excludes[0] != '\0') {
        add_word(line, "-c");
        add_word(line, arena_printf(&line->arena, "core.excludesFile=%s", git->excludes).p);
    }
    for (size_t i = 0; call->words[i] != NULL; i++)
        add_word(line, call->words[i]);
    if (line->word_count < WORDS_MAX)
        line->words[line->word_count] = NULL;
}

/* Whether git says that it could not write. It often leaves out why. */
static bool could_not_write(const char *text)
{
    static const char *const words[] = {"No space left",    "unable to write",    "cannot write",
                                        "could not write",  "failed to write",    "write error",
                                        "unable to create", "Disk quota exceeded"};
    for (size_t i = 0; i < COUNT(words); i++)
        if (strstr(text, words[i]) != NULL)
            return true;
    return false;
}

/* The directory of the call whose disk has no room for a file, or NULL. What git wrote of the file that did not fit is still there. */
static const char *full_disk(const struct git *git, const struct git_call *call,
                             char path[GIT_PATH_MAX])
{
    const struct str places[] = {call->site != NULL ? call->site->work_tree : STR(""),
                                 call->site != NULL ? call->site->common_dir : STR(""),
                                 str_from(git->state)};
    struct statvfs disk;
    for (size_t i = 0; i < COUNT(places); i++) {
        snprintf(path, GIT_PATH_MAX, "%.*s", STR_FMT(places[i]));
        if (path[0] == '\0' || statvfs(path, &disk) != 0)
            continue;
        bool no_room = (uint64_t)disk.f_bavail * disk.f_frsize < DISK_FULL_BYTES;
        bool no_inodes = disk.f_files > 0 && disk.f_favail == 0;
        if (no_room || no_inodes)
            return path;
    }
    return NULL;
}

/* git's own words, on one line, as far as a person wants to read them. */
static int explain(const struct git *git, const struct git_call *call,
                   const struct process_outcome *outcome, struct err *err)
{
    struct buf clean;
    char path[GIT_PATH_MAX];
    struct str said = buf_view(&outcome->errors);
    if (said.n == 0)
        said = buf_view(&outcome->output);
    buf_init(&clean, 4 * ERRORS_MAX);
    utf8_clean(&clean, said, UTF8_ONE_LINE);
    struct str shown = utf8_cut(buf_view(&clean), ERRORS_SHOWN);
    while (shown.n > 0 && shown.p[shown.n - 1] == ' ')
        shown.n--;
    const char *text = said.n > 0 && outcome->errors.p != NULL ? outcome->errors.p : "";
    const char *full = could_not_write(text) ? full_disk(git, call, path) : NULL;
    if (strstr(text, ".lock': File exists") != NULL)
        err_set(err, ERR_RETRY, "another git works in this repository at the moment: %.*s",
                STR_FMT(shown));
    else if (full != NULL)
        err_set(err, ERR_IO, "the disk of %s is full; free some space there (git %s: %.*s)", full,
                call->words[0], STR_FMT(shown));
    else if (strstr(text, "No space left") != NULL)
        err_set(err, ERR_IO, "the disk is full: %.*s", STR_FMT(shown));
    else
        err_set(err, ERR_IO, "git %s: %.*s", call->words[0], STR_FMT(shown));
    buf_release(&clean);
    return -1;
}

static int judge(const struct git *git, const struct git_call *call,
                 const struct process_outcome *outcome, size_t max, struct err *err)
{
    switch (outcome->end) {
    case PROCESS_CANCELLED:
        return err_set(err, ERR_CANCELLED, "cancelled");
    case PROCESS_TIMEOUT:
        return err_set(err, ERR_TIMEOUT, "git %s took longer than %lld s", call->words[0],
                       (long long)(outcome->wall_ms / 1000));
    case PROCESS_KILLED:
        return err_set(err, ERR_IO, "git %s was killed by signal %d", call->words[0],
                       outcome->code);
    case PROCESS_EXITED:
        break;
    }
    bool expected = outcome->code == 0 || call->expects == GIT_ANY_STATUS ||
                    (outcome->code == 1 && call->expects == GIT_ZERO_OR_ONE);
    if (!expected)
        return explain(git, call, outcome, err);
    if (call->output == GIT_WHOLE && outcome->output_bytes > max)
        return err_set(err, ERR_IO, "git %s answers with more than %zu bytes", call->words[0], max);
    return 0;
}

/* Paths in words and answers start at the work tree, whatever directory this process is in. A work tree that somebody removed must not
 * keep its refs from being looked at. */
static int start_directory(const struct git_call *call)
{
    char path[GIT_PATH_MAX] = "/";
    if (call->site != NULL)
        snprintf(path, sizeof path, "%.*s", STR_FMT(call->site->work_tree));
    int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return directory >= 0 ? directory : open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int git_call(const struct git *git, const struct git_call *call, struct git_answer *answer,
             struct err *err)
{
    struct process_outcome outcome;
    struct line *line = calloc(1, sizeof *line);
    size_t max = call->output_max != 0 ? call->output_max : GIT_OUTPUT_MAX;
    int result = -1, directory = start_directory(call);
    *answer = (struct git_answer){.status = -1};
    if (line == NULL)
        abort();
    build_words(line, git, call);
    build_environment(line, call);
    if (line->word_count >= WORDS_MAX) {
        err_set(err, ERR_USAGE, "too many words for git");
        goto out;
    }
    struct process_command command = {
        .program = git->program,
        .argv = line->words,
        .environment = line->environment,
        .directory = directory,
        .handles = call->site != NULL && call->site->lock > 0 ? &call->site->lock : NULL,
        .handle_count = call->site != NULL && call->site->lock > 0 ? 1 : 0,
        .input = call->input,
        .streams = PROCESS_APART,
        .wall_ms = call->wall_ms > 0 ? call->wall_ms : GIT_WALL_MS,
        .output_max = max,
        .cancelled = call->cancelled,
    };
    if (process_run(&command, &outcome, err) != 0)
        goto out;
    result = judge(git, call, &outcome, max, err);
    if (result == 0) {
        *answer = (struct git_answer){outcome.output, outcome.errors, outcome.code};
    } else {
        process_outcome_release(&outcome);
    }
out:
    close(directory);
    arena_release(&line->arena);
    free(line);
    return result;
}

void git_answer_release(struct git_answer *answer)
{
    buf_release(&answer->output);
    buf_release(&answer->errors);
}

int git_list_config(const struct git *git, const char *file, struct buf *output, struct err *err)
{
    struct git_answer answer;
    struct git_call call = {
        .words = GIT_WORDS("config", "--file", file, "--no-includes", "-z", "--list"),
        .output_max = 1 << 20,
    };
    if (git_call(git, &call, &answer, err) != 0)
        return -1;
    *output = answer.output;
    buf_release(&answer.errors);
    return 0;
}
