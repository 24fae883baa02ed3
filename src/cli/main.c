/* The program `cadre`. Everything is in the commands; which adapters they meet is in wire.c. */
#include "cli/commands.h"

int main(int argc, char **argv)
{
    return commands_main(argc, argv);
}
