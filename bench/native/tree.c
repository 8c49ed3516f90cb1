/* A tree to be ended: a root with children that sleep. Says "ready" when all are there.
 *
 *     tree PROCESSES        the root counts as one
 */
#include "bench.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: tree PROCESSES\n");
        return 2;
    }
    long count = number(argv[1]);
    for (long i = 1; i < count; i++) {
        pid_t pid = fork();
        if (pid < 0)
            die("fork");
        if (pid == 0) {
            for (;;)
                pause();
        }
    }
    if (write(1, "ready\n", 6) != 6)
        die("write");
    for (;;)
        pause();
}
