/* Values: parsing, printing and comparing, by the type of their key. Decimal money is read digit by digit, so that a
 * price or a limit is exact. Knows no files. Pure; any thread. */
#include "config/value.h"

#include <stdio.h>
#include <strings.h>

#include "base/json.h"
#include "base/utf8.h"
#include "core/contract/money.h"
#include "core/contract/settings.h"
#include "net/address.h"

enum { TEXT_MAX = 4096, PROSE_MAX = 65536, SHOWN_MAX = 60, PROSE_SHOWN = 200 };

bool config_whole_parse(struct str text, int64_t *number)
{
    if (text.n == 0 || text.n > 18) /* 18 digits fit into 63 bits */
        return false;
    int64_t sum = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        sum = sum * 10 + (text.p[i] - '0');
    }
    *number = sum;
    return true;
}

bool config_duration_parse(struct str text, int64_t plain_unit_ms, int64_t *ms)
{
    static const struct {
        struct str suffix;
        int64_t unit_ms;
    } units[] = {{STR("ms"), 1}, {STR("s"), 1000}, {STR("m"), 60000}, {STR("h"), 3600000}};
    int64_t unit_ms = plain_unit_ms;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        struct str suffix = units[i].suffix;
        if (text.n <= suffix.n || memcmp(text.p + text.n - suffix.n, suffix.p, suffix.n) != 0)
            continue;
        text.n -= suffix.n;
        unit_ms = units[i].unit_ms;
        break;
    }
    int64_t number;
    return config_whole_parse(text, &number) && !__builtin_mul_overflow(number, unit_ms, ms);
}

/* Digits, and at most `places` (up to nine) behind a point; *out counts units of the last place. */
static bool decimal_parse(struct str text, size_t places, int64_t *out)
{
    const char *point = text.n ? memchr(text.p, '.', text.n) : NULL;
    struct str whole = {text.p, point ? (size_t)(point - text.p) : text.n};
    int64_t number = 0, fraction = 0;
    if (!config_whole_parse(whole, &number) || number > DOLLARS_MAX)
        return false;
    struct str digits = {point ? point + 1 : "0", point ? text.n - whole.n - 1 : 1};
    if (digits.n > places || !config_whole_parse(digits, &fraction))
        return false;
    for (size_t i = 0; i < places; i++) {
        number *= 10;
        fraction *= i >= digits.n ? 10 : 1;
    }
    *out = number + fraction;
    return true;
}

/* Decimal dollars to nano-dollars. */
static bool dollars_parse(struct str text, int64_t *nano)
{
    return decimal_parse(text, 9, nano) && *nano <= DOLLARS_MAX * NANO_PER_DOLLAR;
}

static bool url_ok(struct str url)
{
    struct str rest = {NULL, 0};
    if (str_starts(url, STR("http://")))
        rest = (struct str){url.p + 7, url.n - 7};
    else if (str_starts(url, STR("https://")))
        rest = (struct str){url.p + 8, url.n - 8};
    if (rest.n == 0 || rest.p[0] == '/' || rest.p[0] == ':')
        return false;
    for (size_t i = 0; i < rest.n; i++) {
        unsigned char c = (unsigned char)rest.p[i];
        /* A user or a fragment could carry a secret into logs. */
        if (c <= 0x20 || c >= 0x7F || strchr("@#\\\"<>^`{|}", c))
            return false;
    }
    return true;
}

/* Names of parameters that hold keys: what stands in an address is logged and shown. */
static bool query_ok(struct str url)
{
    static const char *const secrets[] = {"key",    "api_key", "api-key",      "apikey", "token",
                                          "secret", "sig",     "access_token", "code"};
    const char *mark = memchr(url.p, '?', url.n);
    struct str rest = {mark ? mark + 1 : "", mark ? url.n - (size_t)(mark + 1 - url.p) : 0};
    while (rest.n > 0) {
        const char *end = memchr(rest.p, '&', rest.n);
        size_t n = end ? (size_t)(end - rest.p) : rest.n;
        const char *equals = memchr(rest.p, '=', n);
        struct str name = {rest.p, equals ? (size_t)(equals - rest.p) : n};
        for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++)
            if (name.n == strlen(secrets[i]) && strncasecmp(name.p, secrets[i], name.n) == 0)
                return false;
        rest = (struct str){rest.p + n + (end != NULL), rest.n - n - (end != NULL)};
    }
    return true;
}

static bool variable_ok(struct str name)
{
    if (name.n == 0 || name.n > 128 || (name.p[0] >= '0' && name.p[0] <= '9'))
        return false;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (!((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
            return false;
    }
    return true;
}

static bool text_null(struct str text)
{
    return text.n == 0 || str_is(text, "~") || str_is(text, "null");
}

/* Number types: false when the text is no such number at all. The range is checked by the caller. */
static bool number_parse(const struct config_key *key, struct str text, enum yaml_style style,
                         int64_t *number)
{
    struct err unused = ERR_INIT;
    enum mode mode;
    enum permission permission;
    switch (key->type) {
    case TYPE_SWITCH:
        *number = str_is(text, "true");
        return style == YAML_PLAIN && (str_is(text, "true") || str_is(text, "false"));
    case TYPE_COUNT:
    case TYPE_LIMIT:
        return style == YAML_PLAIN && config_whole_parse(text, number);
    case TYPE_MILLISECONDS:
    case TYPE_IDLE:
        return config_duration_parse(text, 1, number);
    case TYPE_MONEY:
        return style == YAML_PLAIN && dollars_parse(text, number);
    case TYPE_DECIMAL:
        return style == YAML_PLAIN && decimal_parse(text, 6, number);
    case TYPE_PRICE:
        if (style != YAML_PLAIN || !dollars_parse(text, number))
            return false;
        *number = (*number + 999999) / 1000000; /* a million tokens to one; never too cheap */
        return true;
    case TYPE_MODE:
        if (mode_parse(text, &mode, &unused) != 0)
            return false;
        *number = mode;
        return true;
    case TYPE_PERMISSION:
        if (permission_parse(text, &permission, &unused) != 0 || permission == PERMIT_HIDDEN ||
            permission == PERMIT_ASK_MODE)
            return false;
        *number = permission;
        return true;
    case TYPE_GATE:
        *number = str_is(text, "run") ? GATE_RUN : GATE_PARENT;
        return str_is(text, "run") || str_is(text, "parent");
    case TYPE_ALLOWANCE:
        *number = str_is(text, "allow") ? PERMIT_ALLOW : PERMIT_DENY;
        return str_is(text, "allow") || str_is(text, "deny");
    case TYPE_VIA:
        *number = str_is(text, "inbox") ? ASKER_INBOX : ASKER_NOBODY;
        return str_is(text, "inbox") || str_is(text, "terminal");
    case TYPE_SPEED:
        *number = str_is(text, "recorded");
        return str_is(text, "recorded") || str_is(text, "instant");
    default:
        return false;
    }
}

static int range_check(const struct config_key *key, int64_t number, struct err *err)
{
    switch (key->type) {
    case TYPE_COUNT:
    case TYPE_LIMIT:
        if (key->id == KEY_CHILD_TOOL_CALLS && number < 1)
            return err_set(err, ERR_CONFIG, "maxToolCalls must be positive");
        return number < key->minimum || number > key->maximum ? -1 : 0;
    case TYPE_MILLISECONDS:
        if (number < key->minimum)
            return err_set(err, ERR_CONFIG, "timeoutMs must be at least %lld",
                           (long long)key->minimum);
        if (number > key->maximum)
            return err_set(err, ERR_CONFIG, "expected at most 31 days");
        return 0;
    case TYPE_DECIMAL:
        return number < key->minimum * 1000000 || number > key->maximum * 1000000 ? -1 : 0;
    case TYPE_IDLE:
        return number == 0 || (number >= key->minimum && number <= key->maximum) ? 0 : -1;
    case TYPE_MONEY:
        return number > 0 ? 0 : err_set(err, ERR_CONFIG, "a limit must be more than 0 dollars");
    default:
        return 0;
    }
}

static bool text_ok(const struct config_key *key, struct str text)
{
    enum network network;
    struct sockaddr_storage address;
    bool lines = key->type == TYPE_PROSE;
    if (text.n > (lines ? PROSE_MAX : TEXT_MAX) || utf8_valid(text) != text.n)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if ((c < 0x20 && !(lines && (c == '\n' || c == '\t'))) || c == 0x7F)
            return false;
    }
    switch (key->type) {
    case TYPE_PROSE:
    case TYPE_FILE: /* whether it stays inside is entry.c's question */
    case TYPE_POOL:
        return true;
    case TYPE_TEXT:
    case TYPE_API:
        return text.n > 0;
    case TYPE_URL:
        return url_ok(text) && query_ok(text) &&
               (key->id == KEY_PROVIDER_URL || !memchr(text.p, '?', text.n));
    case TYPE_VARIABLE:
        return variable_ok(text);
    case TYPE_EFFORT:
        return effort_known(text);
    case TYPE_NETWORK: /* names are a mapping (entry.c) */
        return network_parse(text, &network) && network != NETWORK_NAMES;
    case TYPE_ADDRESS:
        return address_read(text, &address);
    case TYPE_SEARCH:
        return str_is(text, "searxng") || str_is(text, "brave") || str_is(text, "tavily");
    default:
        return false;
    }
}

static int expected(const struct config_key *key, struct str found, struct err *err)
{
    struct buf text;
    buf_init(&text, 1024);
    config_key_expected(key, &text);
    /* What stands where an address or a variable's name should be may be a secret. */
    if (key->id == KEY_PROVIDER_URL)
        buf_text(&text, ", without user, password, fragment and a key in its query; a key that "
                        "must stand elsewhere belongs into headers");
    else if (key->type == TYPE_URL)
        buf_text(&text, ", without user, password, query and fragment");
    else if (key->type == TYPE_VARIABLE)
        buf_text(&text, "; the key itself never stands in a file");
    else
        buf_printf(&text, ", found '%.*s'%s", (int)(found.n < SHOWN_MAX ? found.n : SHOWN_MAX),
                   found.p, found.n > SHOWN_MAX ? "…" : "");
    err_set(err, ERR_CONFIG, "expected %.*s", STR_FMT(buf_view(&text)));
    buf_release(&text);
    return -1;
}

static bool is_textual(enum config_type type)
{
    return type == TYPE_TEXT || type == TYPE_PROSE || type == TYPE_FILE || type == TYPE_POOL ||
           type == TYPE_API || type == TYPE_URL || type == TYPE_VARIABLE || type == TYPE_SEARCH ||
           type == TYPE_EFFORT || type == TYPE_NETWORK || type == TYPE_ADDRESS;
}

int config_value_parse(const struct config_key *key, struct str text, enum yaml_style style,
                       struct config_value *out, struct err *err)
{
    *out = (struct config_value){.number = UNLIMITED, .text = text};
    bool null = style == YAML_PLAIN && text_null(text);
    if (null && (key->type == TYPE_LIMIT || key->type == TYPE_MONEY))
        return 0;
    if (null)
        return expected(key, STR("nothing"), err);
    if (is_textual(key->type))
        return text_ok(key, text) ? 0 : expected(key, text, err);
    if (!number_parse(key, text, style, &out->number)) {
        bool negative_calls = key->id == KEY_CHILD_TOOL_CALLS && text.n > 1 && text.p[0] == '-';
        int64_t unused;
        if (negative_calls && config_whole_parse((struct str){text.p + 1, text.n - 1}, &unused))
            return err_set(err, ERR_CONFIG, "maxToolCalls must be positive");
        return expected(key, text, err);
    }
    struct err range = ERR_INIT;
    if (range_check(key, out->number, &range) == 0)
        return 0;
    if (range.class == ERR_NONE)
        return expected(key, text, err);
    *err = range;
    return -1;
}

struct config_value config_value_default(const struct config_key *key)
{
    struct config_value value;
    struct err unused = ERR_INIT;
    if (key->fallback[0] == '\0' ||
        config_value_parse(key, str_from(key->fallback), YAML_PLAIN, &value, &unused) != 0)
        return (struct config_value){.number = UNLIMITED, .text = STR_NONE};
    return value;
}

/* As it would be written: none, or {allow: [registry.example]}. */
static void network_print(struct str text, struct buf *out)
{
    struct str rule = network_next_rule(text, STR_NONE);
    if (rule.p == NULL) {
        buf_str(out, text);
        return;
    }
    for (const char *before = "{allow: ["; rule.p != NULL; before = ", ") {
        bool star = rule.p[0] == '*';
        buf_printf(out, star ? "%s\"%.*s\"" : "%s%.*s", before, STR_FMT(rule));
        rule = network_next_rule(text, rule);
    }
    buf_text(out, "]}");
}

/* Nano-dollars as dollars with at least two digits behind the point. */
static void dollars_print(int64_t nano, struct buf *out)
{
    char fraction[16];
    snprintf(fraction, sizeof fraction, "%09lld", (long long)(nano % NANO_PER_DOLLAR));
    size_t n = 9;
    while (n > 2 && fraction[n - 1] == '0')
        n--;
    buf_printf(out, "%lld.%.*s", (long long)(nano / NANO_PER_DOLLAR), (int)n, fraction);
}

void config_value_print(const struct config_key *key, const struct config_value *value,
                        struct buf *out)
{
    switch (key->type) {
    case TYPE_SWITCH:
        buf_text(out, value->number ? "true" : "false");
        return;
    case TYPE_MODE:
        buf_text(out, mode_text((enum mode)value->number));
        return;
    case TYPE_PERMISSION:
    case TYPE_ALLOWANCE:
        buf_text(out, permission_text((enum permission)value->number));
        return;
    case TYPE_NETWORK:
        network_print(value->text, out);
        return;
    case TYPE_GATE:
        buf_text(out, value->number == GATE_RUN ? "run" : "parent");
        return;
    case TYPE_VIA:
        buf_text(out, value->number == ASKER_INBOX ? "inbox" : "terminal");
        return;
    case TYPE_SPEED:
        buf_text(out, value->number ? "recorded" : "instant");
        return;
    case TYPE_COUNT:
    case TYPE_LIMIT:
    case TYPE_MILLISECONDS:
    case TYPE_IDLE:
    case TYPE_MONEY:
    case TYPE_PRICE:
        if (value->number == UNLIMITED)
            buf_text(out, "null");
        else if (key->type == TYPE_MONEY)
            dollars_print(value->number, out);
        else if (key->type == TYPE_PRICE)
            dollars_print(value->number * 1000000, out);
        else
            buf_int(out, value->number);
        return;
    case TYPE_DECIMAL: {
        char number[32];
        snprintf(number, sizeof number, "%g", (double)value->number / 1e6);
        buf_text(out, number);
        return;
    }
    case TYPE_STOPS: {
        struct jw w;
        jw_init(&w, out);
        jw_array(&w);
        for (size_t i = 0; i < value->name_count; i++)
            jw_str(&w, value->names[i].text);
        jw_end_array(&w);
        return;
    }
    case TYPE_HEADERS: /* what is written out may be a secret */
        for (size_t i = 0; i < value->name_count; i++) {
            struct str line = value->names[i].text;
            size_t n = (size_t)((const char *)memchr(line.p, ':', line.n) - line.p);
            bool named = memchr(line.p + n, '$', line.n - n) != NULL;
            buf_printf(out, "%s%.*s: %.*s", i ? ", " : "{", (int)n, line.p,
                       named ? (int)(line.n - n - 2) : (int)strlen("…"),
                       named ? line.p + n + 2 : "…");
        }
        buf_text(out, value->name_count ? "}" : "{}");
        return;
    case TYPE_SCHEMA:
    case TYPE_BODY:
    case TYPE_PROSE: {
        struct str shown = utf8_cut_chars(value->text, PROSE_SHOWN);
        buf_printf(out, "\"%.*s%s\"", STR_FMT(shown), shown.n < value->text.n ? "…" : "");
        return;
    }
    case TYPE_FILE:
    case TYPE_POOL:
        buf_str(out, value->text.n > 0 ? value->text : STR("\"\""));
        return;
    case TYPE_NAMES:
    case TYPE_FILES:
    case TYPE_TOOLS:
    case TYPE_HOSTS:
    case TYPE_COMMANDS:
    case TYPE_ARGV:
        for (size_t i = 0; i < value->name_count; i++)
            buf_printf(out, "%s%.*s", i ? ", " : "[", STR_FMT(value->names[i].text));
        buf_text(out, value->name_count ? "]" : "[]");
        return;
    default:
        buf_str(out, value->text);
    }
}

bool config_value_within(const struct config_key *key, const struct config_value *value,
                         const struct config_value *limit)
{
    switch (key->type) {
    case TYPE_MODE:
        return mode_within((enum mode)value->number, (enum mode)limit->number);
    case TYPE_NETWORK:
        return network_within(value->text, limit->text);
    case TYPE_IDLE: /* 0 is any time */
        return limit->number == 0 || (value->number != 0 && value->number <= limit->number);
    case TYPE_GATE: /* a gate that closes more often is the narrower one */
        return value->number >= limit->number;
    case TYPE_LIMIT:
    case TYPE_MONEY:
        if (limit->number == UNLIMITED || value->number == UNLIMITED)
            return limit->number == UNLIMITED;
        return value->number <= limit->number;
    default:
        return value->number <= limit->number;
    }
}
