/* Whether servers can promise that an answer matches a schema. Their grammars know a part of
 * JSON Schema: OpenAI's guide "Structured outputs" (supported schemas) and Anthropic's of the
 * same name (limitations). Pure; any thread. */
#ifndef CADRE_MODEL_STRICTABLE_H
#define CADRE_MODEL_STRICTABLE_H

#include "base/str.h"

enum schema_fit {
    SCHEMA_UNFIT, /* not a JSON Schema of an object: no API takes it */
    SCHEMA_LOOSE, /* may be sent as a wish */
    /* Every object is closed with all of its properties required, and every keyword is known
     * everywhere. */
    SCHEMA_STRICT,
};

enum schema_fit schema_strictable(struct str schema);

#endif
