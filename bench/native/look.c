/* The floor of `usage` and `adopt`: reads the kernel's data about processes, and discards it.
 *
 *     look usage|identity < PIDS      prints the seconds it took, and the processor time, for one look at all
 *
 * usage     stat and io of each, and how many descriptors it has (the size of that folder)
 * identity  a handle of each (pidfd), and its stat
 */
#define _GNU_SOURCE
#include "bench.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void read_file(int folder, const char *name)
{
    char text[4096];
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, text, sizeof text) <= 0)
        die(name);
    close(file);
}

static double used_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: look usage|identity < PIDS\n");
        return 2;
    }
    int is_usage = strcmp(argv[1], "usage") == 0;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    static int pids[1 << 16];
    long count = 0;
    while (count < (1 << 16) && scanf("%d", &pids[count]) == 1)
        count++;
    double begin = now_seconds(), used = used_seconds();
    for (long i = 0; i < count; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d", pids[i]);
        int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (folder < 0)
            die(path);
        if (is_usage) {
            struct stat descriptors;
            read_file(folder, "stat");
            read_file(folder, "io");
            if (fstatat(folder, "fd", &descriptors, 0) != 0)
                die("fd");
        } else {
            if (syscall(SYS_pidfd_open, pids[i], 0) < 0)
                die("pidfd_open");
            read_file(folder, "stat");
        }
        close(folder);
    }
    printf("%.9f %.6f\n", now_seconds() - begin, used_seconds() - used);
    return count == 0;
}
