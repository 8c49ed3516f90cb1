/* The floor of `guardian`: a process that holds descriptors and does nothing else.
 *
 *     hold COUNT      says "ready" when it has them; ends when its standard input does
 */
#include "bench.h"
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: hold COUNT\n");
        return 2;
    }
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (long held = number(argv[1]); held > 0; held--)
        if (dup(0) < 0)
            die("dup");
    puts("ready");
    fflush(stdout);
    char end;
    return read(0, &end, 1) != 0;
}
