/* Writes lines of 100 bytes to standard output, as fast as they are taken.
 *
 *     emit LINES WRITE_SIZE       64 KiB for bulk, 100 for one write a line
 *
 * Every line has a number (modulo 10,000), so that a lost, torn or swapped line is recognised; making
 * them costs nothing while it runs.
 */
#include "bench.h"
#include "lines.h"
#include <unistd.h>

static char text[2 * PERIOD];

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: emit LINES WRITE_SIZE\n");
        return 2;
    }
    size_t left = (size_t)number(argv[1]) * LINE, size = (size_t)number(argv[2]);
    if (size == 0 || size > PERIOD) {
        fprintf(stderr, "a write has 1 to %d bytes\n", PERIOD);
        return 2;
    }
    make_lines(text);
    memcpy(text + PERIOD, text, PERIOD);
    size_t at = 0;
    while (left > 0) {
        ssize_t length = write(1, text + at, left < size ? left : size);
        if (length < 0)
            die("write");
        at = (at + (size_t)length) % PERIOD;
        left -= (size_t)length;
    }
    return 0;
}
