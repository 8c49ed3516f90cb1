/* What is killed in `respawn`: says that it runs, as its first act, and stays.
 *
 *     beat FIFO
 */
#include "beat.h"
#include "bench.h"
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct beat beat = { .at = now_seconds(), .pid = getpid() };
    if (argc != 2) {
        fprintf(stderr, "usage: beat FIFO\n");
        return 2;
    }
    int fifo = open(argv[1], O_WRONLY);
    if (fifo < 0 || write(fifo, &beat, sizeof beat) != sizeof beat)
        die(argv[1]);
    close(fifo);
    for (;;)
        pause();
}
