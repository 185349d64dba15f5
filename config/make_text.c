/* Build tool: writes what is generated from the option table, "sample" or "man", to stdout. */
#include <stdio.h>
#include <string.h>

#include "config/config.h"

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "sample") == 0)
        config_print_sample(stdout);
    else if (argc == 2 && strcmp(argv[1], "man") == 0)
        config_print_man(stdout);
    else
        return 2;
    return fflush(stdout) != 0 || ferror(stdout);
}
