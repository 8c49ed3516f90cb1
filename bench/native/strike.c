/* Kills what beats, and waits until it beats again.
 *
 *     strike FIFO COUNT      prints for each the seconds from the kill to the first act of the replacement
 */
#include "beat.h"
#include "bench.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000, REST_US = 105000 };

static struct beat next(int fifo)
{
    struct beat beat;
    struct pollfd ready = { .fd = fifo, .events = POLLIN };
    int found = poll(&ready, 1, PATIENCE_MS);
    if (found == 0)
        errno = ETIMEDOUT;
    if (found != 1 || read(fifo, &beat, sizeof beat) != sizeof beat)
        die("the next one");
    return beat;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: strike FIFO COUNT\n");
        return 2;
    }
    long count = number(argv[2]);
    /* Both sides, so that it never ends. */
    int fifo = open(argv[1], O_RDWR);
    if (fifo < 0)
        die(argv[1]);
    struct beat beat = next(fifo);
    for (long i = 0; i < count; i++) {
        usleep(REST_US);
        double begin = now_seconds();
        if (kill((pid_t)beat.pid, SIGKILL) != 0)
            die("kill");
        struct beat again = next(fifo);
        if (again.pid == beat.pid)
            return 1;
        printf("%.9f\n", again.at - begin);
        beat = again;
    }
    return 0;
}
