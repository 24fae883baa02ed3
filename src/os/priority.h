/* Who is woken first where the machine is busy: a wish that needs no privilege; a kernel that does not know it goes on as before. */
#ifndef CADRE_OS_PRIORITY_H
#define CADRE_OS_PRIORITY_H

/* The calling thread works for a moment at a time and wants to be woken soon; threads that it starts do not inherit that. */
void priority_prompt(void);

/* A program of an agent's that is about to begin: it computes, and gives way to whoever is woken for a moment, the loop and the
 * person at the keyboard. System calls alone: for a process that shares its parent's memory. */
void priority_program(void);
#endif
