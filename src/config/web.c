/* What the web tools may use: the search service and the reach of web_fetch. For the shell only: it is not part of a run's settings,
 * so that a resumed run uses what holds now. The key itself stays in the environment. Runs on the main thread before the loop
 * starts. */
#include "config/models.h"

static struct str text_of(const struct config *config, enum config_key_id key)
{
    const struct config_entry *entry = config_entries_find(config->entries, key, STR(""), 0);
    return entry ? entry->value.text : STR("");
}

int config_web(struct config *config, struct err *err)
{
    const struct config_entry *kind =
        config_entries_find(config->entries, KEY_SEARCH_KIND, STR(""), 0);
    const struct config_entry *url =
        config_entries_find(config->entries, KEY_SEARCH_URL, STR(""), 0);
    config->web.kind = text_of(config, KEY_SEARCH_KIND);
    config->web.url = text_of(config, KEY_SEARCH_URL);
    config->web.api_key_env = arena_copy(&config->arena, text_of(config, KEY_SEARCH_KEY));
    config->web.fetch = config_entries_value(config->entries, KEY_FETCH_PRIVATE).number
                            ? PRIVATE_ALLOWED
                            : PRIVATE_REFUSED;
    if (kind == NULL && url != NULL)
        return config_error(&url->place, EXCERPT_LINE, err,
                            "tools.web_search.kind must say what answers there: searxng, brave or "
                            "tavily");
    if (kind != NULL && url == NULL && str_is(kind->value.text, "searxng"))
        return config_error(&kind->place, EXCERPT_LINE, err,
                            "searxng needs its address: tools.web_search.url");
    return 0;
}
