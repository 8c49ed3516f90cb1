/* The floor of `respawn` and `units`: posix_spawn, a pidfd for each, one epoll loop that starts again what ended.
 *
 *     respawn COUNT PROGRAM ARGUMENTS…
 *
 * Keeps COUNT copies of the program. Prints the seconds until all were started; then starts again whichever ends.
 * Ends when its standard input does, and its copies with it.
 */
#define _GNU_SOURCE
#include "bench.h"
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *environment[] = { "PATH=/usr/bin:/bin", NULL };

struct copy {
    pid_t pid;
    int handle;
};

static void start(int watch, struct copy *copy, char **arguments)
{
    errno = posix_spawn(&copy->pid, arguments[0], NULL, NULL, arguments, environment);
    if (errno != 0)
        die("posix_spawn");
    copy->handle = (int)syscall(SYS_pidfd_open, copy->pid, 0);
    if (copy->handle < 0)
        die("pidfd_open");
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = copy };
    if (epoll_ctl(watch, EPOLL_CTL_ADD, copy->handle, &event) != 0)
        die("epoll_ctl");
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: respawn COUNT PROGRAM ARGUMENTS...\n");
        return 2;
    }
    long count = number(argv[1]);
    struct copy *copies = calloc((size_t)count, sizeof *copies);
    int watch = epoll_create1(EPOLL_CLOEXEC);
    if (copies == NULL || watch < 0 || fcntl(0, F_SETFD, FD_CLOEXEC) != 0)
        die("respawn");
    struct epoll_event input = { .events = EPOLLIN, .data.ptr = NULL };
    if (epoll_ctl(watch, EPOLL_CTL_ADD, 0, &input) != 0)
        die("epoll_ctl");
    double begin = now_seconds();
    for (long i = 0; i < count; i++)
        start(watch, &copies[i], argv + 2);
    printf("%.9f\n", now_seconds() - begin);
    fflush(stdout);
    for (;;) {
        struct epoll_event happened;
        if (epoll_wait(watch, &happened, 1, -1) != 1) {
            if (errno == EINTR)
                continue;
            die("epoll_wait");
        }
        struct copy *copy = happened.data.ptr;
        if (copy == NULL)
            break;
        if (waitpid(copy->pid, NULL, 0) != copy->pid)
            die("waitpid");
        close(copy->handle);
        start(watch, copy, argv + 2);
    }
    for (long i = 0; i < count; i++) {
        kill(copies[i].pid, SIGKILL);
        waitpid(copies[i].pid, NULL, 0);
    }
    return 0;
}
