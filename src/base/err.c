/* Errors as values: class names and messages. A message may quote itself (`err_set(err, …, err->message)`),
 * so it is formatted aside and then copied. Pure; any thread. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

static const char *const class_texts[ERR_CLASS_COUNT] = {
#define X(name, text) [ERR_##name] = text,
    ERR_CLASSES(X)
#undef X
};

/* Room to format in: longer than a message, so that the cut sees a character that crosses the end. */
enum { TEXT_BYTES = 2 * sizeof(((struct err *)0)->message) + 8 };

static void message_store(struct err *err, const char *text)
{
    struct str kept = utf8_cut(str_from(text), sizeof err->message - 1);
    memcpy(err->message, kept.p, kept.n);
    err->message[kept.n] = '\0';
}

int err_set(struct err *err, enum err_class class, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, format);
    if (vsnprintf(text, sizeof text, format, args) < 0)
        text[0] = '\0';
    va_end(args);
    err->class = class;
    message_store(err, text);
    return -1;
}

int err_prefix(struct err *err, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, format);
    if (vsnprintf(text, sizeof text, format, args) < 0)
        text[0] = '\0';
    va_end(args);
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, ": %s", err->message);
    message_store(err, text);
    return -1;
}

const char *err_class_text(enum err_class class)
{
    if ((unsigned)class >= ERR_CLASS_COUNT)
        return class_texts[ERR_BUG];
    return class_texts[class];
}

enum err_class err_class_parse(struct str text)
{
    for (int i = 0; i < ERR_CLASS_COUNT; i++)
        if (str_is(text, class_texts[i]))
            return (enum err_class)i;
    return ERR_BUG;
}
