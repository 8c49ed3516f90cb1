/* The floor of `probes`: asks a server over http so often, at even distances.
 *
 *     ask PORT RATE SECONDS      prints its processor time in seconds
 */
#define _GNU_SOURCE
#include "bench.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static void ask(const struct sockaddr_in *address, long path)
{
    char text[4096];
    int size = snprintf(text, sizeof text, "GET /%ld HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", path);
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server < 0 || connect(server, (const void *)address, sizeof *address) != 0 || write(server, text, (size_t)size) != size)
        die("connect");
    size_t length = 0;
    for (ssize_t got; (got = read(server, text + length, sizeof text - 1 - length)) > 0;)
        length += (size_t)got;
    text[length] = 0;
    if (strstr(text, "healthy") == NULL)
        die("the answer");
    close(server);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: ask PORT RATE SECONDS\n");
        return 2;
    }
    long rate = number(argv[2]), count = rate * number(argv[3]);
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((unsigned short)number(argv[1])) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    double begin = now_seconds();
    for (long i = 0; i < count; i++) {
        double wait = begin + (double)i / (double)rate - now_seconds();
        if (wait > 0)
            usleep((useconds_t)(wait * 1e6));
        ask(&address, i % rate);
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%.6f\n", (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    return 0;
}
