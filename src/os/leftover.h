/* What older versions of cadre left in a workspace when they were killed: `.git`, `.cadre` and `cadre.yaml` as empty directories with
 * the sticky bit, which kept a command from making them. Blocking; any thread. */
#ifndef CADRE_OS_LEFTOVER_H
#define CADRE_OS_LEFTOVER_H

/* Removes them from an opened directory (O_PATH is enough). Nothing that holds anything is removed, and nothing is said where they
 * cannot be. */
void leftover_clean(int workspace);

#endif
