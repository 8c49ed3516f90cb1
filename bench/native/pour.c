/* For `logs`: what the fastest reader of a pipe that we wrote can do.
 *
 *     pour EMIT LINES WRITE_SIZE FILE      prints the seconds it took
 *
 * It never polls the pipe (a pipe that was polled once wakes its reader's queue at every write, for
 * ever), lets bytes gather in a large pipe, and moves pages instead of copying them: first into a pipe
 * of its own, so that the writer can go on, then into the file. It can watch nothing else meanwhile,
 * so it is a yardstick and no design.
 */
#define _GNU_SOURCE
#include "bench.h"
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CAPACITY = 1 << 20, NAP_NS = 300000, SLACK_NS = 1000 };

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: pour EMIT LINES WRITE_SIZE FILE\n");
        return 2;
    }
    int theirs[2], own[2], status;
    if (pipe2(theirs, O_CLOEXEC) != 0 || pipe2(own, O_CLOEXEC) != 0)
        die("pipe");
    fcntl(theirs[0], F_SETPIPE_SZ, CAPACITY);
    fcntl(own[0], F_SETPIPE_SZ, CAPACITY);
    prctl(PR_SET_TIMERSLACK, SLACK_NS);
    int file = open(argv[4], O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0)
        die(argv[4]);
    double begin = now_seconds();
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        dup2(theirs[1], 1);
        execl(argv[1], "emit", argv[2], argv[3], (char *)NULL);
        die(argv[1]);
    }
    close(theirs[1]);
    for (;;) {
        ssize_t length = splice(theirs[0], NULL, own[1], NULL, CAPACITY, SPLICE_F_MOVE);
        if (length < 0)
            die("splice");
        if (length == 0)
            break;
        for (ssize_t left = length; left > 0;) {
            ssize_t moved = splice(own[0], NULL, file, NULL, (size_t)left, SPLICE_F_MOVE);
            if (moved <= 0)
                die("splice into the file");
            left -= moved;
        }
        if (length < CAPACITY / 2) {
            struct timespec nap = { 0, NAP_NS };
            nanosleep(&nap, NULL);
        }
    }
    if (waitpid(pid, &status, 0) != pid || status != 0) {
        fprintf(stderr, "the emitter ended with status %d\n", status);
        return 1;
    }
    printf("%.9f\n", now_seconds() - begin);
    return 0;
}
