/* The floor of `cancel`: one KILL to the group, then wait for every process of it.
 *
 *     killtree TREE PROCESSES      prints the seconds from the KILL until the last is reaped
 */
#include "bench.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: killtree TREE PROCESSES\n");
        return 2;
    }
    long expected = number(argv[2]), reaped = 0;
    int ready[2];
    char word[6];
    /* The root's children come to us when it is gone. */
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || pipe(ready) != 0)
        die("prepare");
    pid_t root = fork();
    if (root < 0)
        die("fork");
    if (root == 0) {
        setsid();
        dup2(ready[1], 1);
        close(ready[0]);
        close(ready[1]);
        execl(argv[1], "tree", argv[2], (char *)NULL);
        die(argv[1]);
    }
    close(ready[1]);
    if (read(ready[0], word, sizeof word) != sizeof word || memcmp(word, "ready\n", 6) != 0) {
        fprintf(stderr, "the tree did not get ready\n");
        return 1;
    }
    /* As the supervisor's tree: at rest before it is ended. */
    usleep(100000);
    double begin = now_seconds();
    if (kill(-root, SIGKILL) != 0)
        die("kill");
    while (wait(NULL) > 0)
        reaped++;
    double end = now_seconds();
    if (reaped != expected) {
        fprintf(stderr, "%ld processes reaped instead of %ld\n", reaped, expected);
        return 1;
    }
    printf("%.9f\n", end - begin);
    return 0;
}
