/* Any bytes as a contract: refused with a message and nothing permitted, or read; what was read
 * prints to a text that reads back and prints the same. */
#include <stdlib.h>

#include "core/contract/contract.h"

enum { TEXT_MAX = 16 * 1024 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct err err = ERR_INIT;
    struct contract first, second;
    struct buf once, twice;
    arena_init(&arena);
    buf_init(&once, TEXT_MAX);
    buf_init(&twice, TEXT_MAX);
    if (contract_parse(&arena, (struct str){(const char *)data, size}, &first, &err) != 0) {
        require(err.class == ERR_CORRUPT && err.message[0] != '\0');
        require(first.permissions.can_spawn_children == SPAWN_NEVER);
        for (size_t i = 0; i < tool_info_count; i++)
            require(contract_permits(&first, str_from(tool_infos[i].name), &err) == PERMIT_DENY);
        goto out;
    }
    contract_print(&first, &once);
    require(!once.failed);
    require(contract_parse(&arena, buf_view(&once), &second, &err) == 0);
    contract_print(&second, &twice);
    require(str_eq(buf_view(&once), buf_view(&twice)));
    struct str dimension;
    contract_within(&first, &second, &dimension);
    for (size_t i = 0; i < tool_info_count; i++) {
        struct str tool = str_from(tool_infos[i].name);
        require(contract_permits(&first, tool, &err) == contract_permits(&second, tool, &err));
    }
out:
    buf_release(&once);
    buf_release(&twice);
    arena_release(&arena);
    return 0;
}
