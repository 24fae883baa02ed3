/* See trust.h. A record's name is what counts: hash of the path, then hash of path and content. Its text, the path, is for people. */
#include "config/trust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

enum { PATH_DIGITS = 32, NAME_BYTES = PATH_DIGITS + 1 + HASH_HEX + 1 };

/* "<hash of the path>-<hash of path and content>" */
static void record_name(const struct config_project_file *project, char name[NAME_BYTES])
{
    char path[HASH_HEX + 1], whole[HASH_HEX + 1];
    struct hasher h;
    struct hash hash = hash_of(project->file);
    hash_hex(&hash, path);
    hasher_init(&h);
    hasher_str(&h, project->file);
    hasher_str(&h, project->text);
    hash = hasher_end(&h);
    hash_hex(&hash, whole);
    snprintf(name, NAME_BYTES, "%.*s-%s", (int)PATH_DIGITS, path, whole);
}

/* The directory of records, or -1 with errno. */
static int open_directory(const struct config *config)
{
    if (config->trust_directory.n == 0) {
        errno = ENOENT;
        return -1;
    }
    return open(config->trust_directory.p, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool is_kept(int directory, const struct config_project_file *project)
{
    char name[NAME_BYTES];
    struct stat status;
    record_name(project, name);
    return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
           status.st_uid == geteuid();
}

bool config_trust_known(const struct config *config)
{
    int directory = open_directory(config);
    bool known = directory >= 0;
    for (size_t i = 0; known && i < config->project_count; i++)
        if (config->projects[i].widens > 0)
            known = is_kept(directory, &config->projects[i]);
    if (directory >= 0)
        close(directory);
    return known;
}

/* Makes the directory and those above it. */
static int make_directory(struct str path)
{
    char part[4096];
    if (path.n == 0 || path.n >= sizeof part) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (size_t i = 1; i <= path.n; i++) {
        if (i < path.n && path.p[i] != '/')
            continue;
        memcpy(part, path.p, i);
        part[i] = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return -1;
    }
    return 0;
}

bool config_trust_prepare(const struct config *config)
{
    return make_directory(config->trust_directory) == 0;
}

static int cannot_keep(const struct config *config, struct err *err)
{
    return err_set(err, ERR_IO, "that the project is trusted cannot be kept in %.*s: %s",
                   STR_FMT(config->trust_directory), strerror(errno));
}

static int keep(const struct config *config, int directory,
                const struct config_project_file *project, struct err *err)
{
    char name[NAME_BYTES];
    int result = 0;
    record_name(project, name);
    int file = openat(directory, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0 || ftruncate(file, 0) != 0 || write(file, project->file.p, project->file.n) < 0)
        result = cannot_keep(config, err);
    if (file >= 0)
        close(file);
    return result;
}

int config_trust_keep(const struct config *config, struct err *err)
{
    int result = 0;
    if (config->trust_directory.n == 0)
        return err_set(err, ERR_CONFIG,
                       "HOME is not set, so there is no place to keep that a project is trusted");
    int directory = make_directory(config->trust_directory) == 0 ? open_directory(config) : -1;
    if (directory < 0)
        return cannot_keep(config, err);
    for (size_t i = 0; i < config->project_count && result == 0; i++)
        if (config->projects[i].widens > 0)
            result = keep(config, directory, &config->projects[i], err);
    close(directory);
    return result;
}

/* Whether a record is of one of these files, whatever its content was. */
static bool is_of(const struct config *config, const char *record)
{
    char name[NAME_BYTES];
    for (size_t i = 0; i < config->project_count; i++) {
        record_name(&config->projects[i], name);
        if (strncmp(record, name, PATH_DIGITS + 1) == 0)
            return true;
    }
    return false;
}

int config_trust_revoke(const struct config *config, size_t *count, struct err *err)
{
    int directory = open_directory(config);
    DIR *listing = directory >= 0 ? fdopendir(directory) : NULL;
    *count = 0;
    if (directory < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (listing == NULL) {
        if (directory >= 0)
            close(directory);
        return err_set(err, ERR_IO, "%.*s cannot be read", STR_FMT(config->trust_directory));
    }
    int result = 0;
    for (struct dirent *entry; result == 0 && (entry = readdir(listing)) != NULL;) {
        if (!is_of(config, entry->d_name))
            continue;
        if (unlinkat(directory, entry->d_name, 0) == 0)
            (*count)++;
        else if (errno != ENOENT)
            result = err_set(err, ERR_IO, "%.*s/%s cannot be removed: %s",
                             STR_FMT(config->trust_directory), entry->d_name, strerror(errno));
    }
    closedir(listing);
    return result;
}
