/* Windows of models that neither config nor the table of known models describes: their servers are asked before a run
 * starts. Blocking, bounded. */
#ifndef CADRE_CLI_WINDOWS_H
#define CADRE_CLI_WINDOWS_H

#include "cli/wire.h"

/* All servers together have WINDOWS_MS; a model whose server does not tell, or lies, keeps the default. */
enum { WINDOWS_MS = 2000 };
void windows_ask(struct wire *wire);

#endif
