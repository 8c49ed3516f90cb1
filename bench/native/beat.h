/* What `beat` writes and `strike` reads: who began, and when. */
#ifndef BEAT_H
#define BEAT_H

#include <stdint.h>
#include <sys/types.h>

struct beat {
    double at;
    int64_t pid;
};

#endif
