/* See executed.h. */
#include "cli/executed.h"

#include <fnmatch.h>
#include <string.h>

#define PATH_BYTES 4096
#define MODE_PROGRAM 0100755

/* The first row that fits counts. A pattern with a slash is about the whole path, one without about the last part at any depth; small
 * and large letters are the same. */
static const struct {
    const char *pattern, *program;
} table[] = {
    {"Makefile", "make"},
    {"GNUmakefile", "make"},
    {"*.mk", "make"},
    {"justfile", "just"},
    {"Taskfile.y*ml", "task"},
    {"Rakefile", "rake"},
    {"CMakeLists.txt", "cmake"},
    {"*.cmake", "cmake"},
    {"meson.build", "meson"},
    {"configure", "configure"},
    {"configure.ac", "autoconf"},
    {"package.json", "npm scripts"},
    {".npmrc", "npm"},
    {".yarnrc*", "yarn"},
    {".pnpmfile.cjs", "pnpm"},
    {"*.config.js", "node tools"},
    {"*.config.ts", "node tools"},
    {"*.config.mjs", "node tools"},
    {"*.config.cjs", "node tools"},
    {"setup.py", "pip"},
    {"conftest.py", "pytest"},
    {"noxfile.py", "nox"},
    {"tox.ini", "tox"},
    {"pyproject.toml", "pip and Python tools"},
    {"sitecustomize.py", "python"},
    {"build.rs", "cargo"},
    {"*.cargo/config*", "cargo"},
    {"build.gradle*", "gradle"},
    {"settings.gradle*", "gradle"},
    {"gradlew*", "gradle"},
    {"pom.xml", "maven"},
    {"mvnw*", "maven"},
    {"composer.json", "composer scripts"},
    {"Gemfile", "bundler"},
    {"*.gemspec", "bundler"},
    {"Dockerfile*", "docker"},
    {"docker-compose*.y*ml", "docker"},
    {"compose.y*ml", "docker"},
    {"*.devcontainer/*", "the editor's container"},
    {"*.github/workflows/*", "CI"},
    {"*.github/actions/*", "CI"},
    {".gitlab-ci.y*ml", "CI"},
    {"*.gitlab/*.y*ml", "CI"},
    {"*.circleci/*", "CI"},
    {".travis.yml", "CI"},
    {"azure-pipelines*.y*ml", "CI"},
    {"bitbucket-pipelines.yml", "CI"},
    {"Jenkinsfile*", "CI"},
    {"*.buildkite/*", "CI"},
    {"*.ci/*", "CI"},
    {"*.husky/*", "git hooks"},
    {"*hooks/*", "git hooks"},
    {".pre-commit-config.yaml", "git hooks"},
    {"lefthook.y*ml", "git hooks"},
    {".gitattributes", "git filters"},
    {".envrc", "direnv"},
    {".tool-versions", "asdf"},
    {"mise.toml", "mise"},
    {"*.vscode/tasks.json", "the editor"},
    {"*.vscode/settings.json", "the editor"},
    {"*.vscode/launch.json", "the editor"},
    {"*.idea/*", "the editor"},
    {".vimrc", "the editor"},
    {".exrc", "the editor"},
    {".mcp.json", "coding agents"},
    {"*.claude/*", "coding agents"},
};

const char *executed_by(const struct vcs_outlook_file *file)
{
    char path[PATH_BYTES];
    if (file->what == VCS_FILE_DELETED || file->path.n >= sizeof path)
        return NULL;
    memcpy(path, file->path.p, file->path.n);
    path[file->path.n] = '\0';
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const char *text = strchr(table[i].pattern, '/') != NULL ? path : name;
        if (fnmatch(table[i].pattern, text, FNM_CASEFOLD) == 0)
            return table[i].program;
    }
    return file->new_mode == MODE_PROGRAM ? "whoever starts it" : NULL;
}
