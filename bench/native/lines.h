/* The text that `emit` writes and `verify` expects. */
#ifndef LINES_H
#define LINES_H

#include <stdio.h>
#include <string.h>

enum { LINE = 100, NUMBERS = 10000, PERIOD = LINE * NUMBERS };

static inline void make_lines(char *text)
{
    for (int i = 0; i < NUMBERS; i++) {
        char head[16];
        memset(text + i * LINE, 'a' + i % 26, LINE - 1);
        snprintf(head, sizeof head, "line %04d ", i);
        memcpy(text + i * LINE, head, strlen(head));
        text[i * LINE + LINE - 1] = '\n';
    }
}

#endif
