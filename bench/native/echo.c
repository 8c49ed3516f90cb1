/* The floor of `apps`: answers every line with "well", without reading what it says.
 *
 *     echo SOCKET      until TERM; then prints its processor time in seconds
 */
#define _GNU_SOURCE
#include "bench.h"
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;

static void end(int signal)
{
    (void)signal;
    is_over = 1;
}

static int answer(int caller)
{
    static const char well[] = "{\"id\":\"3\",\"type\":\"response\",\"success\":true,\"result\":{\"token\":\"t\"}}\n";
    static char asked[1 << 16], said[sizeof asked * 2];
    ssize_t length = read(caller, asked, sizeof asked);
    if (length <= 0)
        return 0;
    size_t size = 0;
    for (ssize_t i = 0; i < length; i++) {
        if (asked[i] != '\n')
            continue;
        memcpy(said + size, well, sizeof well - 1);
        size += sizeof well - 1;
    }
    for (size_t sent = 0; sent < size;) {
        ssize_t now = write(caller, said + sent, size - sent);
        if (now <= 0)
            return 0;
        sent += (size_t)now;
    }
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: echo SOCKET\n");
        return 2;
    }
    struct sigaction action = { .sa_handler = end };
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s", argv[1]);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), watch = epoll_create1(EPOLL_CLOEXEC);
    if (bind(listener, (void *)&address, sizeof address) != 0 || listen(listener, 1024) != 0)
        die(argv[1]);
    struct epoll_event event = { .events = EPOLLIN, .data.fd = listener };
    if (epoll_ctl(watch, EPOLL_CTL_ADD, listener, &event) != 0)
        die("epoll_ctl");
    while (!is_over) {
        if (epoll_wait(watch, &event, 1, -1) != 1)
            continue;
        if (event.data.fd != listener) {
            if (!answer(event.data.fd))
                close(event.data.fd);
            continue;
        }
        event = (struct epoll_event){ .events = EPOLLIN, .data.fd = accept(listener, NULL, NULL) };
        if (event.data.fd < 0 || epoll_ctl(watch, EPOLL_CTL_ADD, event.data.fd, &event) != 0)
            die("accept");
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%.6f\n", (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    return 0;
}
