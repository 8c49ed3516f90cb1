/* The floor of `spawnrate`: posix_spawn and wait, nothing else.
 *
 *     spawnloop COUNT IN_FLIGHT PROGRAM      prints the seconds it took
 */
#include "bench.h"
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: spawnloop COUNT IN_FLIGHT PROGRAM\n");
        return 2;
    }
    long count = number(argv[1]), most = number(argv[2]);
    char *arguments[] = { argv[3], NULL };
    char *environment[] = { "PATH=/usr/bin:/bin", NULL };
    long started = 0, ended = 0;
    if (chdir("/") != 0)
        die("chdir");
    double begin = now_seconds();
    while (ended < count) {
        while (started < count && started - ended < most) {
            pid_t pid;
            errno = posix_spawn(&pid, argv[3], NULL, NULL, arguments, environment);
            if (errno != 0)
                die("posix_spawn");
            started++;
        }
        int status;
        if (wait(&status) < 0)
            die("wait");
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            fprintf(stderr, "%s ended with status %d\n", argv[3], status);
            return 1;
        }
        ended++;
    }
    printf("%.9f\n", now_seconds() - begin);
    return 0;
}
