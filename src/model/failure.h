/* What a model server's error means: the class, the server's own words made safe to
 * show, and what to do. Pure. */
#ifndef CADRE_MODEL_FAILURE_H
#define CADRE_MODEL_FAILURE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"

#define FAILURE_CHARS 300               /* of the server's words */
#define FAILURE_BODY ((size_t)64 << 10) /* bytes of an error's body that are looked at */

/* Who is talked about in messages, and what must not be in them. */
struct model_server {
    struct str url;    /* as it may be shown */
    struct str secret; /* the API key; wherever a server echoes it, *** is shown. Under 4 bytes: not
                          a secret */
    struct str more;   /* other secrets, each followed by a line feed; or STR_NONE */
};

/* RETRY for 408, 409, 429 and 5xx, PROVIDER for everything else. */
enum err_class failure_status_class(int status);
/* Whether a JSON value with HTTP 200 is an error and not (a part of) an answer. */
bool failure_is_error(const struct js *root);
/* The class of such an error: by its numeric code or its type; RETRY where they say nothing. */
enum err_class failure_class(const struct js *root);
/* 429, 503 or 529 where such an error says that the server has too much to do, else 0. */
int failure_load_status(const struct js *root);
/* The object that says what the error is: `error`, or the root where it has none. */
const struct js *failure_object(const struct js *root);
/* Whether the error's type or code has this word in it, in any case. */
bool failure_has_kind(const struct js *error, const char *word);
/* The server's words as they came; empty when there are none. */
struct str failure_raw_words(const struct js *root);
/* The server's words in any of the shapes that servers use (error string, error.message, message,
 * detail, lists of them), else all of `body`: one clean line of at most FAILURE_CHARS
 * characters, without the secret; empty when there are none. root may be NULL. */
struct str failure_words(const struct model_server *server, const struct js *root, struct str body,
                         struct arena *arena);
/* The text without the secret. */
struct str failure_redacted(const struct model_server *server, struct str text,
                            struct arena *arena);
/* Whether the account has no credit left: asking again does not help. root may be NULL. */
bool failure_is_quota(int status, const struct js *root);
/* The message for an answer with an error status. */
struct str failure_status_message(const struct model_server *server, int status, struct str body,
                                  struct arena *arena);

#endif
