/* YAML as config needs it: mappings, lists and scalars with their places. Anchors, aliases, tags, duplicate keys, a
 * second document and deep nesting are refused, so a file can mean only what it shows. Nodes belong to the arena. */
#ifndef CADRE_CONFIG_YAML_H
#define CADRE_CONFIG_YAML_H

#include "base/buf.h"
#include "config/source.h"

enum yaml_kind { YAML_SCALAR, YAML_MAPPING, YAML_LIST };
enum yaml_style { YAML_PLAIN, YAML_QUOTED };

struct yaml_node {
    enum yaml_kind kind;
    enum yaml_style style; /* of a scalar; block scalars count as quoted */
    struct str text;       /* of a scalar */
    struct config_place place;
    struct yaml_node *key;          /* of a mapping's member */
    struct yaml_node *first, *last; /* members of a mapping, items of a list */
    struct yaml_node *next;
    size_t count;
};

/* *root is NULL for a file without content. */
int yaml_parse(struct arena *arena, const struct config_source *source, struct yaml_node **root,
               struct err *err) NODISCARD;
/* A plain scalar that YAML reads as null: nothing, ~ or null. */
bool yaml_is_null(const struct yaml_node *node);
/* Whether a plain scalar may be a number or a switch here. */
typedef bool yaml_typed_fn(const struct yaml_node *node);
/* Appends the node as JSON. A plain scalar that JSON knows as a number, true or false is that wherever `typed` says so (NULL:
 * everywhere); what yaml_is_null calls nothing is null; every other scalar is a text, and so is a mapping's key. */
void yaml_print_json(const struct yaml_node *node, yaml_typed_fn *typed, struct buf *out);
/* "a mapping", "a list", "nothing", for messages; NULL for any other scalar. */
const char *yaml_found(const struct yaml_node *node);

#endif
