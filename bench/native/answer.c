/* A healthy server for `probes`: answers every request, and notes when which path was asked.
 *
 *     answer PORT FILE      until TERM; then FILE has one line a request: path, seconds
 */
#include "bench.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST 2000000

static struct { int path; double at; } *asked;
static volatile sig_atomic_t is_over;

static void end(int signal)
{
    (void)signal;
    is_over = 1;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: answer PORT FILE\n");
        return 2;
    }
    static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 20\r\nConnection: close\r\n\r\n{\"status\":\"healthy\"}";
    struct sigaction action = { .sa_handler = end };
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    asked = calloc(MOST, sizeof *asked);
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(number(argv[1])) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (asked == NULL || listener < 0 || bind(listener, (void *)&address, sizeof address) != 0 || listen(listener, 4096) != 0)
        die("listen");
    long count = 0;
    while (!is_over) {
        char request[4096];
        int caller = accept(listener, NULL, NULL);
        if (caller < 0)
            continue;
        double at = now_seconds();
        ssize_t length = read(caller, request, sizeof request - 1);
        if (length > 0 && write(caller, reply, sizeof reply - 1) > 0 && count < MOST) {
            request[length] = 0;
            asked[count].path = atoi(request + sizeof "GET /" - 1);
            asked[count++].at = at;
        }
        close(caller);
    }
    FILE *file = fopen(argv[2], "w");
    if (file == NULL)
        die(argv[2]);
    for (long i = 0; i < count; i++)
        fprintf(file, "%d %.6f\n", asked[i].path, asked[i].at);
    return fclose(file) != 0;
}
