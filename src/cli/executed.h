/* Files of a change that other programs will run, or take commands from: whoever takes the change over should look at them first. */
#ifndef CADRE_CLI_EXECUTED_H
#define CADRE_CLI_EXECUTED_H

#include "port/vcs.h"

/* Which program runs it ("make", "CI"); NULL: none that is known. Deleted files are not run. Pure. */
const char *executed_by(const struct vcs_outlook_file *file);

#endif
