/* Checks that standard input is exactly what `emit LINES` wrote, and prints the lines it found.
 *
 *     cat LOG... | verify LINES
 */
#include "bench.h"
#include "lines.h"
#include <unistd.h>

static char text[PERIOD], got[1 << 20];

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: verify LINES\n");
        return 2;
    }
    size_t expected = (size_t)number(argv[1]) * LINE, total = 0;
    make_lines(text);
    for (;;) {
        ssize_t length = read(0, got, sizeof got);
        if (length < 0)
            die("read");
        if (length == 0)
            break;
        for (ssize_t at = 0; at < length;) {
            size_t place = (total + (size_t)at) % PERIOD;
            size_t part = PERIOD - place;
            if (part > (size_t)(length - at))
                part = (size_t)(length - at);
            if (memcmp(got + at, text + place, part) != 0) {
                fprintf(stderr, "other bytes than were written, after byte %zu\n", total + (size_t)at);
                return 1;
            }
            at += (ssize_t)part;
        }
        total += (size_t)length;
    }
    if (total != expected) {
        fprintf(stderr, "%zu bytes instead of %zu\n", total, expected);
        return 1;
    }
    printf("%zu\n", total / LINE);
    return 0;
}
