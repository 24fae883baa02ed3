/* See request_copy.h. */
#include "net/request_copy.h"

#include <math.h>

void request_copy_release(struct request_copy *copy)
{
    if (copy->text.p != NULL)
        explicit_bzero(copy->text.p, copy->text.capacity);
    buf_release(&copy->text);
    copy->request = (struct model_request){0};
}

static struct str keep(struct buf *text, struct str part)
{
    struct str copy = {text->p + text->n, part.n};
    buf_str(text, part);
    return copy;
}

static size_t bytes_of(const struct str *texts, size_t count)
{
    size_t total = count * sizeof *texts;
    for (size_t i = 0; i < count; i++)
        total += texts[i].n;
    return total;
}

/* Copies the texts; the array that names them lies at *place, which moves behind it. */
static struct str *keep_all(struct buf *text, char **place, const struct str *texts, size_t count)
{
    struct str *copies = (struct str *)(void *)*place;
    *place += count * sizeof *copies;
    for (size_t i = 0; i < count; i++)
        copies[i] = keep(text, texts[i]);
    return copies;
}

static const struct model_params no_params = {
    {NULL, 0}, NAN, NAN, PARAM_SEED_UNSET, {LIST_ABSENT, NULL, 0}, 0};

/* Everything goes into one piece of memory, arrays first, because they want to be aligned. */
int request_copy_make(struct request_copy *copy, const struct model_request *request,
                      struct err *err)
{
    struct buf *text = &copy->text;
    struct model_request *out = &copy->request;
    const struct model_params *params = request->params != NULL ? request->params : &no_params;
    size_t tool_bytes = request->tool_count * sizeof *request->tools;
    const struct {
        struct str from, *to;
    } texts[] = {
        {request->base_url, &out->base_url},    {request->api_key, &out->api_key},
        {request->model, &out->model},          {request->fragments, &out->fragments},
        {request->owner, &out->owner},          {request->schema, &out->schema},
        {request->provider, &out->provider},    {request->cache_key, &out->cache_key},
        {request->client_id, &out->client_id},  {request->extra_body, &out->extra_body},
        {params->effort, &copy->params.effort},
    };
    size_t total = tool_bytes + bytes_of(params->stop.items, params->stop.n) +
                   bytes_of(request->headers, request->header_count);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        total += texts[i].from.n;
    for (size_t i = 0; i < request->tool_count; i++)
        total +=
            request->tools[i].name.n + request->tools[i].description.n + request->tools[i].schema.n;
    /* Room for all at once: nothing moves after this. */
    buf_init(text, REQUEST_COPY_MAX);
    if (buf_reserve(text, total + 1) == NULL)
        return err_set(err, ERR_USAGE, "the request is larger than 72 MB");
    struct model_tool *tools = (struct model_tool *)(void *)text->p;
    char *arrays = text->p + tool_bytes;
    text->n = tool_bytes + (params->stop.n + request->header_count) * sizeof(struct str);
    *out = *request;
    out->conversation = NULL; /* it lives no longer than start */
    out->tools_memo = NULL;   /* nor does the offer whose text it is */
    copy->params = *params;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        *texts[i].to = texts[i].from.p != NULL ? keep(text, texts[i].from) : STR_NONE;
    copy->params.stop.items = keep_all(text, &arrays, params->stop.items, params->stop.n);
    out->headers = keep_all(text, &arrays, request->headers, request->header_count);
    out->params = request->params != NULL ? &copy->params : NULL;
    out->tools = request->tool_count > 0 ? tools : NULL;
    for (size_t i = 0; i < request->tool_count; i++)
        tools[i] = (struct model_tool){keep(text, request->tools[i].name),
                                       keep(text, request->tools[i].description),
                                       keep(text, request->tools[i].schema)};
    return 0;
}
