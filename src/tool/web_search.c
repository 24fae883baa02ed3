/* The tool `web_search`: asks the search service of the user's config. What each kind of service is asked and how it answers is one
 * row of a table. The key comes from the environment, through config, and goes to that service only: redirects are not followed.
 * Runs on a thread of its own. */
#include "net/web.h"
#include "tool/arguments.h"
#include "tool/html.h"
#include "tool/result.h"
#include "tool/table.h"

#define ANSWER_MAX ((size_t)2 << 20)
#define TOTAL_MS 20000
#define QUERY_MAX 1000
#define RESULTS_DEFAULT 8
#define RESULTS_MAX 20
#define TITLE_CHARACTERS 200
#define URL_BYTES 1000
#define SNIPPET_CHARACTERS 600
#define WORDS_MAX 16384

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\"},"
    "\"count\":{\"type\":\"integer\",\"description\":\"Default 8, at most 20\"}},"
    "\"required\":[\"query\"]}";

static const struct argument arguments_known[] = {
    {"query", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 1, QUERY_MAX},
    {"count", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 1, RESULTS_MAX},
};

/* How a kind of service is spoken to. */
static const struct search_kind {
    const char *name;
    const char *url; /* where config names none; NULL: it must */
    const char *key; /* the header that carries the key, up to the key itself; NULL: none is sent */
    enum { ASKS_IN_QUERY, ASKS_IN_BODY } asks;
    const char *count;  /* the parameter or member that bounds the results; NULL: there is none */
    const char *more;   /* what else stands in the query */
    const char *within; /* the member that holds `results`; NULL: the answer itself */
    const char *snippet;
    enum { TEXTS_PLAIN, TEXTS_HTML } texts; /* of titles and snippets */
} kinds[] = {
    {.name = "searxng",
     .key = "Authorization: Bearer ",
     .asks = ASKS_IN_QUERY,
     .more = "&format=json",
     .snippet = "content"},
    {.name = "brave",
     .url = "https://api.search.brave.com/res/v1/web/search",
     .key = "X-Subscription-Token: ",
     .asks = ASKS_IN_QUERY,
     .count = "count",
     .more = "",
     .within = "web",
     .snippet = "description",
     .texts = TEXTS_HTML},
    {.name = "tavily",
     .url = "https://api.tavily.com/search",
     .key = "Authorization: Bearer ",
     .asks = ASKS_IN_BODY,
     .count = "max_results",
     .snippet = "content"},
};

static const struct search_kind *kind_find(struct str name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (str_is(name, kinds[i].name))
            return &kinds[i];
    return NULL;
}

struct asking {
    const struct search_kind *kind;
    struct buf url, key, body;
};

static void asking_release(struct asking *asking)
{
    if (asking->key.p)
        explicit_bzero(asking->key.p, asking->key.capacity);
    buf_release(&asking->url);
    buf_release(&asking->key);
    buf_release(&asking->body);
}

static void ask(struct asking *asking, struct str endpoint, struct str key, struct str query,
                int64_t count)
{
    const struct search_kind *kind = asking->kind;
    struct jw w;
    buf_init(&asking->url, WEB_URL_MAX + 1);
    buf_init(&asking->key, 4096);
    buf_init(&asking->body, 16 * QUERY_MAX);
    if (endpoint.n > 0)
        buf_str(&asking->url, endpoint);
    else
        buf_text(&asking->url, kind->url);
    if (key.n > 0) {
        buf_text(&asking->key, kind->key);
        buf_str(&asking->key, key);
    }
    if (kind->asks == ASKS_IN_BODY) {
        jw_init(&w, &asking->body);
        jw_object(&w);
        jw_kstr(&w, "query", query);
        jw_kint(&w, kind->count, count);
        jw_end_object(&w);
        return;
    }
    buf_text(&asking->url, "?q=");
    web_escape(query, &asking->url);
    buf_text(&asking->url, kind->more);
    if (kind->count)
        buf_printf(&asking->url, "&%s=%lld", kind->count, (long long)count);
}

/* A line of a result: clean and cut. */
static void add_line(struct tool_result *result, const char *before, struct str text,
                     size_t characters)
{
    struct str shown = utf8_cut_chars(text, characters);
    if (3 * shown.n + 16 > tool_room(result))
        return;
    buf_text(&result->text, before);
    tool_add_clean(result, shown);
    buf_text(&result->text, shown.n < text.n ? "…\n" : "\n");
}

/* A title or a snippet as its service writes them. */
static void add_words(struct tool_result *result, const struct search_kind *kind,
                      const char *before, struct str words, size_t characters)
{
    struct buf text, title;
    buf_init(&text, WORDS_MAX);
    buf_init(&title, WORDS_MAX);
    if (kind->texts == TEXTS_HTML) {
        html_to_markdown(utf8_cut(words, WORDS_MAX / 2), "", &text, &title);
        words = buf_view(&text);
        words.n -= words.n > 0 && words.p[words.n - 1] == '\n';
    }
    add_line(result, before, words, characters);
    buf_release(&text);
    buf_release(&title);
}

static void show(const struct js *answer, const struct search_kind *kind, int64_t count,
                 struct tool_result *result)
{
    const struct js *results =
        js_get(kind->within ? js_get(answer, kind->within) : answer, "results");
    int64_t shown = 0;
    if (js_kind(results) != JS_ARRAY && js_kind(js_get(answer, "error")) != JS_ABSENT) {
        tool_fail(result, "the search service reports an error: %.*s",
                  STR_FMT(utf8_cut(js_get_str(answer, "error"), 500)));
        return;
    }
    for (size_t i = 0; i < js_count(results) && shown < count; i++) {
        const struct js *item = js_at(results, i);
        struct str url = js_get_str(item, "url");
        if (url.n == 0 || url.n > URL_BYTES)
            continue;
        shown++;
        buf_printf(&result->text, "%lld. ", (long long)shown);
        add_words(result, kind, "", js_get_str(item, "title"), TITLE_CHARACTERS);
        add_line(result, "   ", url, URL_BYTES);
        if (js_get_str(item, kind->snippet).n > 0)
            add_words(result, kind, "   ", js_get_str(item, kind->snippet), SNIPPET_CHARACTERS);
    }
    if (shown == 0)
        buf_text(&result->text, "No results.\n");
}

/* How to speak to the configured service; NULL: none is configured, or its address is missing. */
static const struct search_kind *service_kind(const struct tool_services *services)
{
    const struct search_kind *kind = services ? kind_find(services->web.search_kind) : NULL;
    return kind != NULL && (kind->url != NULL || services->web.search_url.n > 0) ? kind : NULL;
}

static bool has_service(const struct tool_services *services)
{
    return service_kind(services) != NULL;
}

static void web_search_run(const struct tool_context *context, const struct js *arguments,
                           const struct tool_prepared *prepared, struct tool_result *result)
{
    (void)prepared;
    struct err err = ERR_INIT;
    const struct tool_services *services = context->services;
    struct web_answer answer = {0};
    struct asking asking = {0};
    struct js *parsed = NULL;
    tool_result_start(context, result);
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0)
        return;
    asking.kind = service_kind(services);
    if (asking.kind == NULL) {
        tool_fail(result, "no search service is configured: the user's config has to set "
                          "tools.web_search.kind (searxng, brave "
                          "or tavily) and, for searxng, tools.web_search.url");
        return;
    }
    int64_t count = arguments_whole(arguments, "count", RESULTS_DEFAULT);
    ask(&asking, services->web.search_url, services->web.search_key, js_get_str(arguments, "query"),
        count);
    struct web_request request = {
        .url = buf_view(&asking.url),
        .headers = {STR("Accept: application/json")},
        .header_count = 1,
        .refuses = NULL, /* the service is the user's own choice, and often runs beside cadre */
        .total_ms = TOTAL_MS,
        .max_bytes = ANSWER_MAX,
        .cancelled = context->cancelled,
    };
    if (asking.key.n > 0)
        request.headers[request.header_count++] = buf_view(&asking.key);
    if (asking.kind->asks == ASKS_IN_BODY) {
        request.headers[request.header_count++] = STR("Content-Type: application/json");
        request.body = buf_view(&asking.body);
    }
    if (web_get(&request, &answer, &err) != 0)
        tool_fail_err(result, &err);
    else if (answer.status < 200 || answer.status >= 300)
        tool_fail(result, "the search service answered with HTTP %d%s", answer.status,
                  answer.status == 401 || answer.status == 403
                      ? ": check tools.web_search.api_key_env"
                      : "");
    else if ((parsed = js_parse(buf_view(&answer.body), &err)) == NULL)
        tool_fail(result, "the search service did not answer with JSON (%s)%s", err.message,
                  str_is(services->web.search_kind, "searxng")
                      ? "; SearXNG must have json among its search.formats"
                      : "");
    else
        show(parsed, asking.kind, count, result);
    js_free(parsed);
    asking_release(&asking);
    buf_release(&answer.body);
}

const struct tool tool_web_search = {
    .name = "web_search",
    .description = "Search the web: titles, URLs, snippets.",
    .schema = schema,
    .pace = TOOL_LONG,
    .is_ready = has_service,
    .prepare = NULL,
    .run = web_search_run,
};
