/* Private to the JSON files of base: a parsed value, and what reading and writing share. */
#ifndef CADRE_BASE_JSON_NODE_H
#define CADRE_BASE_JSON_NODE_H

#include "base/json.h"

struct js {
    enum js_kind kind;
    uint32_t begin, end; /* where it stands in the text */
    size_t n;            /* bytes of a string, items of an array, members of an object */
    union {
        const char *text;
        const struct js *items; /* of an object: key, value, key, value … */
        int64_t integer;
        double real;
        bool truth;
    };
};

/* How many bytes at the beginning stand in a JSON string as they are: no quote, backslash or control character. */
size_t json_plain_run(struct str text);

#endif
