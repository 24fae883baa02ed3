/* `cadre config check`: every key's value and where it came from, then the models as they resolve. Shows names of
 * variables, never their values. Runs on the main thread. */
#include "base/utf8.h"
#include "config/models.h"

enum { LINE_BYTES = 16384, COMMENT_COLUMN = 56 };

/* "text", then "# origin" in a column of its own. */
static void line_print(struct buf *out, const struct buf *text, const struct buf *origin)
{
    struct buf line;
    buf_init(&line, LINE_BYTES);
    utf8_clean(&line, buf_view(text), UTF8_ONE_LINE);
    int width = utf8_width(buf_view(&line));
    buf_str(out, buf_view(&line));
    buf_printf(out, "%*s# ", width < COMMENT_COLUMN ? COMMENT_COLUMN - width : 1, "");
    buf_clear(&line);
    utf8_clean(&line, buf_view(origin), UTF8_ONE_LINE);
    buf_str(out, buf_view(&line));
    buf_char(out, '\n');
    buf_release(&line);
}

static void value_line(struct buf *out, const struct config_key *key, struct str name, size_t index,
                       const struct config_value *value, const struct config_place *place)
{
    struct buf text, origin;
    buf_init(&text, LINE_BYTES);
    buf_init(&origin, LINE_BYTES);
    config_key_print(key->path, name, index, &text);
    buf_text(&text, ": ");
    config_value_print(key, value, &text);
    config_place_print(place, &origin);
    line_print(out, &text, &origin);
    buf_release(&text);
    buf_release(&origin);
}

static void key_lines(const struct config *config, const struct config_key *key, struct buf *out)
{
    const struct config_entries *entries = config->entries;
    size_t printed = 0;
    for (size_t i = 0; i < entries->n; i++) {
        const struct config_entry *entry = &entries->items[i];
        if (entry->key != key)
            continue;
        value_line(out, key, entry->name, entry->index, &entry->value, &entry->place);
        printed++;
    }
    if (printed > 0 || strchr(key->path, '*') || key->fallback[0] == '\0')
        return;
    struct config_value value = config_value_default(key);
    if (key->id == KEY_COST) /* the default holds only where prices are known */
        value.number = config->settings.root.cost_nano;
    value_line(out, key, STR(""), 0, &value, &(struct config_place){0});
}

static bool has_helper(const struct config *config, const struct model_settings *model)
{
    return config_entries_find(config->entries, KEY_PROVIDER_KEY_CMD, model->provider, 0) != NULL;
}

static void model_lines(const struct config *config, const struct model_settings *model,
                        struct buf *out)
{
    const struct config_key *price = &config_keys[KEY_MODEL_PRICE_IN];
    struct buf text, origin;
    buf_init(&text, LINE_BYTES);
    buf_init(&origin, LINE_BYTES);
    buf_printf(&text, "  %.*s: {model: %.*s, provider: %.*s, api: %.*s, base_url: %.*s, ",
               STR_FMT(model->name), STR_FMT(model->model), STR_FMT(model->provider),
               STR_FMT(model->api), STR_FMT(model->base_url));
    buf_printf(&text, "max_tokens: %lld, max_context_tokens: %lld, price_in: ",
               (long long)model->max_tokens, (long long)model->max_context_tokens);
    config_value_print(price, &(struct config_value){.number = model->price_in_nano}, &text);
    buf_text(&text, ", price_out: ");
    config_value_print(price, &(struct config_value){.number = model->price_out_nano}, &text);
    const struct {
        const char *key;
        int64_t price;
    } optional[] = {{"price_cached", model->price_cached_nano},
                    {"price_cache_write", model->price_cache_write_nano}};
    for (size_t i = 0; i < sizeof optional / sizeof optional[0]; i++) {
        if (optional[i].price == UNLIMITED)
            continue;
        buf_printf(&text, ", %s: ", optional[i].key);
        config_value_print(price, &(struct config_value){.number = optional[i].price}, &text);
    }
    buf_char(&text, '}');
    buf_printf(&origin, "window from %s; prices ", config_window_text(config, model));
    config_price_origin(model, &origin);
    if (model->api_key_env.n > 0)
        buf_printf(&origin, "; key from %.*s", STR_FMT(model->api_key_env));
    else if (has_helper(config, model))
        buf_text(&origin, "; key from a program");
    else
        buf_text(&origin, "; no key");
    line_print(out, &text, &origin);
    buf_release(&text);
    buf_release(&origin);
}

void config_describe(const struct config *config, struct buf *out)
{
    struct buf text, origin;
    buf_init(&text, LINE_BYTES);
    buf_init(&origin, LINE_BYTES);
    for (size_t i = 0; i < config->file_count; i++) {
        buf_text(out, "# read: ");
        utf8_clean(out, config->files[i], UTF8_ONE_LINE);
        buf_char(out, '\n');
    }
    for (size_t i = 0; i < KEY_COUNT_OF_KEYS; i++)
        if (config_keys[i].type != TYPE_OBJECT && config_keys[i].id != KEY_STORE)
            key_lines(config, &config_keys[i], out);

    const struct config_entry *store = config_entries_find(config->entries, KEY_STORE, STR(""), 0);
    buf_printf(&text, "store: %.*s", STR_FMT(config->store_path));
    config_place_print(store ? &store->place : &(struct config_place){0}, &origin);
    line_print(out, &text, &origin);

    buf_text(out, config->settings.model_count ? "models in use:\n" : "models in use: none\n");
    for (size_t i = 0; i < config->settings.model_count; i++)
        if (list_has(&config->settings.allowed_models, config->settings.models[i].name))
            model_lines(config, &config->settings.models[i], out);
    if (config->settings.model_count > 0) {
        buf_clear(&text);
        buf_clear(&origin);
        buf_printf(&text, "default model: %.*s", STR_FMT(config->settings.default_model));
        buf_str(&origin, config->model_source);
        line_print(out, &text, &origin);
    }
    buf_release(&text);
    buf_release(&origin);
}
