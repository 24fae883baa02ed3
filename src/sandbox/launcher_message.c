/* Reads the policy from its descriptor and checks it: every part lies inside, every list is as long as it says, every text ends.
 * What is wrong here is a bug in cadre, never a wall. */
#include "sandbox/launcher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void check_list(const struct launch *launch, struct launch_part part)
{
    size_t at = part.at;
    if (part.count > LAUNCH_TEXTS_MAX)
        launch_refuse("message", "a list of the message is too long");
    for (uint32_t i = 0; i < part.count; i++) {
        const char *end = at < launch->area_bytes
                              ? memchr(launch->area + at, '\0', launch->area_bytes - at)
                              : NULL;
        if (end == NULL)
            launch_refuse("message", "a list of the message does not end");
        at = (size_t)(end - launch->area) + 1;
    }
}

static void check_filter(const struct launch *launch, struct launch_part part)
{
    if (part.count > LAUNCH_FILTER_MAX || part.at % 8 != 0 || part.at > launch->area_bytes ||
        part.count * 8 > launch->area_bytes - part.at)
        launch_refuse("message", "a filter of the message is wrong");
}

const char *launch_next(const struct launch *launch, struct launch_part part, const char *last)
{
    const char *text = launch->area + part.at;
    if (last == NULL)
        return part.count > 0 ? text : NULL;
    for (uint32_t i = 0; i < part.count; i++, text += strlen(text) + 1)
        if (text == last)
            return i + 1 < part.count ? text + strlen(text) + 1 : NULL;
    return NULL;
}

static char **vector(const struct launch *launch, struct launch_part part)
{
    char **out = calloc(part.count + 1, sizeof *out);
    const char *text = launch->area + part.at;
    if (out == NULL)
        launch_fail("message", "no memory");
    for (uint32_t i = 0; i < part.count; i++, text += strlen(text) + 1)
        out[i] = (char *)text;
    return out;
}

static void *read_whole(size_t *bytes)
{
    struct stat status;
    if (fstat(LAUNCH_MESSAGE, &status) != 0)
        launch_fail("message", "cannot look at the message");
    if (status.st_size < (off_t)sizeof(struct launch_head) || status.st_size > LAUNCH_MESSAGE_MAX)
        launch_refuse("message", "the message has %lld bytes", (long long)status.st_size);
    *bytes = (size_t)status.st_size;
    char *message = malloc(*bytes);
    if (message == NULL || pread(LAUNCH_MESSAGE, message, *bytes, 0) != (ssize_t)*bytes)
        launch_fail("message", "cannot read the message");
    return message;
}

void launch_read_message(struct launch *launch)
{
    size_t bytes;
    const struct launch_head *head = read_whole(&bytes);
    launch->head = head;
    launch->area = (const char *)(head + 1);
    launch->area_bytes = bytes - sizeof *head;
    launch->relay_socket = launch->socket_count = launch->socket_list = -1;
    if (head->magic != LAUNCH_MAGIC || head->bytes != bytes || head->life > LAUNCH_UNTIL_STOPPED ||
        head->walls >= 1u << LAUNCH_WALL_COUNT || head->network > LAUNCH_NET_FULL ||
        head->relay_port > 65535)
        launch_refuse("message", "the message's head is wrong");
    const struct launch_part lists[] = {head->argv,   head->environment, head->shown, head->views,
                                        head->hidden, head->records,     head->names};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        check_list(launch, lists[i]);
    if (head->argv.count == 0 || head->names.count != LAUNCH_NAME_COUNT ||
        head->records.count % 2 != 0)
        launch_refuse("message", "the message's parts are wrong");
    check_filter(launch, head->filter);
    check_filter(launch, head->silent_filter);
    check_filter(launch, head->own_filter);
    launch->argv = vector(launch, head->argv);
    launch->environment = vector(launch, head->environment);
    launch->workspace_path = launch_next(launch, head->names, NULL);
    launch->directory = launch_next(launch, head->names, launch->workspace_path);
    launch->relay = launch_next(launch, head->names, launch->directory);
    launch->tmp = launch_next(launch, head->names, launch->relay);
    launch->git_dir = launch_next(launch, head->names, launch->tmp);
    if (launch->workspace_path[0] != '/' || launch->directory[0] != '/' || launch->tmp[0] != '/')
        launch_refuse("message", "the message's directories are not absolute");
}
