/* Fuzz target: one file's bytes as a user's and as a project's config. Nothing may crash, leak or hang, and a message
 * must be valid UTF-8 without control characters but its line breaks. */
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "config/entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7.12 loses 4 KB when a quoted text has no end; a start that fails there ends the process anyway. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml.so";
}

static void check_message(const struct err *err)
{
    struct str message = str_from(err->message);
    if (message.n == 0 || utf8_valid(message) != message.n)
        abort();
    for (size_t i = 0; i < message.n; i++)
        if ((unsigned char)message.p[i] < 0x20 && message.p[i] != '\n' && message.p[i] != '\t')
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n > CONFIG_FILE_MAX)
        return 0;
    for (enum config_level level = LEVEL_USER; level <= LEVEL_PROJECT; level++) {
        struct arena arena;
        arena_init(&arena);
        struct err err = ERR_INIT;
        struct config_entries entries = {.arena = &arena};
        struct config_source source = {.name = STR("/cadre.yaml"), .class = ERR_CONFIG};
        source.text = arena_copy(&arena, (struct str){n ? (const char *)bytes : "", n});
        struct yaml_node *root;
        if (yaml_parse(&arena, &source, &root, &err) != 0 ||
            config_entries_read(&entries, root, level, &err) != 0)
            check_message(&err);
        arena_release(&arena);
    }
    return 0;
}
