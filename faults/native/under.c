// Laid under Ostler by LD_PRELOAD: writes to files that are slow, and a wall clock that is off, as a shared page says.
//
// FAULTS_CONTROL names the page: two 64-bit numbers, how many nanoseconds the wall clock is ahead, and how many
// microseconds each write to a file and each sync takes longer. The monotonic clock is left alone, as in a real jump.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *control;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAULTS_CONTROL");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *page = mmap(NULL, 16, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (page != MAP_FAILED) control = page;
}

static void linger(int fd) {
    struct stat about;
    int64_t us = control ? control[1] : 0;
    if (us <= 0 || fstat(fd, &about) || !S_ISREG(about.st_mode)) return;
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

int clock_gettime(clockid_t clock, struct timespec *t) {
    int result = syscall(SYS_clock_gettime, clock, t);
    if (result == 0 && control && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t ns = t->tv_sec * 1000000000LL + t->tv_nsec + control[0];
        t->tv_sec = ns / 1000000000;
        t->tv_nsec = ns % 1000000000;
    }
    return result;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (t) *t = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *t) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (t) *t = now.tv_sec;
    return now.tv_sec;
}

int fsync(int fd) { linger(fd); return syscall(SYS_fsync, fd); }
int fdatasync(int fd) { linger(fd); return syscall(SYS_fdatasync, fd); }
ssize_t write(int fd, const void *bytes, size_t count) { linger(fd); return syscall(SYS_write, fd, bytes, count); }
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { linger(fd); return syscall(SYS_pwrite64, fd, bytes, count, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) { linger(fd); return syscall(SYS_pwrite64, fd, bytes, count, at); }
ssize_t splice(int in, off64_t *from, int out, off64_t *to, size_t count, unsigned flags) {
    linger(out);
    return syscall(SYS_splice, in, from, out, to, count, flags);
}
