/* A preview (port/preview.h) as the log has it, so that another process can show what the owner of the run would show:
 *
 *   {"tool":…,"reach":"inside"|"outside","parts":[{"kind":"text"|"diff"|"problem","label":…,"text":…}, …]}
 *
 * A text that is not UTF-8 stands as "hex" instead. Secrets in what a diff only repeats from a file are masked, since the log had not seen
 * them before; what the model wrote is never masked, so that nothing that would happen is hidden. The hash is that of the preview itself. */
#ifndef CADRE_ENGINE_SHOWN_H
#define CADRE_ENGINE_SHOWN_H

#include "base/buf.h"
#include "base/json.h"
#include "port/preview.h"

struct masker;

/* Appends; how many secrets were masked. */
size_t shown_print(const struct preview *preview, const struct masker *masker, struct buf *out);
/* -1: it is not one. Views live in the arena; there are no hashes in it. */
NODISCARD int shown_parse(struct arena *arena, const struct js *value, struct preview *preview);

#endif
