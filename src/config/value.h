/* Values of keys: text to value and back, the same for files, flags and defaults. */
#ifndef CADRE_CONFIG_VALUE_H
#define CADRE_CONFIG_VALUE_H

#include "config/key.h"
#include "config/yaml.h"

struct config_name {
    struct str text;
    struct config_place place;
};

struct config_value {
    int64_t number;  /* numbers, switches, modes, permissions, gates; UNLIMITED (-1) for null */
    struct str text; /* of textual types */
    struct config_name *names; /* of lists, and of TYPE_HEADERS */
    size_t name_count;
};

/* err gets "expected …, found …" without a place and of class CONFIG: the caller knows the place. Text is kept as given. */
int config_value_parse(const struct config_key *key, struct str text, enum yaml_style style,
                       struct config_value *out, struct err *err) NODISCARD;
/* The default of a key that has one. */
struct config_value config_value_default(const struct config_key *key);
void config_value_print(const struct config_key *key, const struct config_value *value,
                        struct buf *out);
/* Does the value allow no more than the limit? For types whose values have an order. */
bool config_value_within(const struct config_key *key, const struct config_value *value,
                         const struct config_value *limit);

/* "90s", "5m", "1500ms"; a number without a unit counts as plain_unit_ms each. Not negative, no fractions. */
bool config_duration_parse(struct str text, int64_t plain_unit_ms, int64_t *ms);
/* Whether a text with $NAME, ${NAME} and $$ can become the value of a header. */
bool config_template_ok(struct str text);

enum { CONFIG_BODY_MAX = 65536, CONFIG_BODY_KEY_MAX = 127 };

bool config_whole_parse(struct str text, int64_t *number);

#endif
