// copy FOLDER NAME [word...]: what the campaign's units and runs execute. It tells of its own life, so that the oracle
// needs no report from Ostler.
//
// FOLDER/lives       a line for each copy: NAME PID STARTTIME RUN MONOTONIC_NS
// FOLDER/overlaps    the same, by a copy that found another of its name alive
// FOLDER/locks/NAME  held by a copy and all its descendants, because they inherit it
// FOLDER/written/RUN how many lines were written, counted after each write; a killed copy has lost no more than the next
//
// words: numbers MS BATCH | tree | port N | life MS CODE | storm N | eat MIB | ignore-term
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FORGED "01900000-0000-7000-8000-000000000000"

static const char *folder;

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int open_in(const char *place, const char *name, int flags) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s%s", folder, place, name);
    return open(path, flags, 0600);
}

static void tell(const char *file, const char *name) {
    char text[1024], stat[2048];
    int in = open("/proc/self/stat", O_RDONLY);
    ssize_t n = read(in, stat, sizeof stat - 1);
    close(in);
    stat[n > 0 ? n : 0] = 0;
    char *field = strrchr(stat, ')');
    for (int i = 0; field && i < 20; i++) field = strchr(field + 1, ' ');
    const char *run = getenv("OSTLER_RUN_ID");
    int length = snprintf(text, sizeof text, "%s %d %lld %s %lld\n", name, getpid(), field ? atoll(field + 1) : 0,
                          run ? run : "-", (long long)now_ns());
    int out = open_in(file, "", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC);
    if (out < 0 || write(out, text, length) != length) _exit(99);
    close(out);
}

static void stay(void) {
    for (;;) pause();
}

static void elsewhere(char *self, char **environment) {
    char *words[] = {self, "stay", NULL};
    setsid();
    execve("/proc/self/exe", words, environment);
    _exit(98);
}

// A child in the group, one in a session of its own, a daemon, one without any environment, one with the id of a run that
// never was, one that is stopped, and as root one of another user. An ordinary user can change its user only in a namespace
// of its own: there, one that did that.
static void tree(char *self) {
    char *none[] = {NULL}, *forged[] = {"OSTLER_RUN_ID=" FORGED, NULL};
    if (fork() == 0) stay();
    if (fork() == 0) { setsid(); stay(); }
    pid_t middle = fork();
    if (middle == 0) {
        setsid();
        if (fork() == 0) { signal(SIGTERM, SIG_IGN); stay(); }
        _exit(0);
    }
    waitpid(middle, NULL, 0);
    if (fork() == 0) elsewhere(self, none);
    if (fork() == 0) elsewhere(self, forged);
    if (fork() == 0) { raise(SIGSTOP); stay(); }
    if (geteuid() == 0 && fork() == 0) {
        if (setgid(65534) || setuid(65534)) _exit(91);
        stay();
    }
    if (geteuid() != 0 && fork() == 0) {
        // Where that is forbidden it is one more child.
        (void)!unshare(CLONE_NEWUSER);
        stay();
    }
}

static void storm(int count) {
    for (int i = 0; i < count; i++) {
        pid_t child = fork();
        if (child == 0) {
            setsid();
            pid_t daemon = fork();
            if (daemon == 0) stay();
            _exit(0);
        }
        if (child > 0) waitpid(child, NULL, 0);
    }
}

static void eat(long mib) {
    for (long i = 0; i < mib; i++) {
        char *part = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (part == MAP_FAILED) _exit(97);
        memset(part, 1, 1 << 20);
    }
}

static int listener(int port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(fd, (void *)&address, sizeof address) || listen(fd, 64)) _exit(96);
    return fd;
}

static void answer(int listening) {
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 20\r\nConnection: close\r\n\r\n{\"status\":\"healthy\"}";
    char asked[4096];
    int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) return;
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    if (poll(&wait, 1, 200) > 0 && read(fd, asked, sizeof asked) > 0) (void)!send(fd, text, sizeof text - 1, MSG_NOSIGNAL);
    close(fd);
}

static void put(const char *text, size_t length) {
    while (length) {
        ssize_t n = write(1, text, length);
        if (n < 0) _exit(95);
        text += n;
        length -= n;
    }
}

int main(int count, char **words) {
    if (count == 2 && !strcmp(words[1], "stay")) stay();
    if (count < 3) return 2;
    folder = words[1];
    const char *name = words[2], *run = getenv("OSTLER_RUN_ID");
    if (strcmp(name, "-")) {
        int lock = open_in("locks/", name, O_RDWR | O_CREAT);
        if (lock < 0) return 94;
        if (flock(lock, LOCK_EX | LOCK_NB)) tell("overlaps", name);
    }
    int64_t end = 0;
    int code = 0, pause_ms = -1, batch = 1, listening = -1;
    for (int i = 3; i < count; i++) {
        if (!strcmp(words[i], "ignore-term")) signal(SIGTERM, SIG_IGN);
        else if (!strcmp(words[i], "numbers")) { pause_ms = atoi(words[++i]); batch = atoi(words[++i]); }
        else if (!strcmp(words[i], "life")) { end = now_ns() + atoll(words[++i]) * 1000000; code = atoi(words[++i]); }
        else if (!strcmp(words[i], "tree")) tree(words[0]);
        else if (!strcmp(words[i], "storm")) storm(atoi(words[++i]));
        else if (!strcmp(words[i], "eat")) eat(atol(words[++i]));
        else if (!strcmp(words[i], "port")) listening = listener(atoi(words[++i]));
        else return 2;
    }
    tell("lives", name);
    volatile uint64_t *written = NULL;
    if (pause_ms >= 0 && run) {
        int fd = open_in("written/", run, O_RDWR | O_CREAT | O_CLOEXEC);
        if (fd < 0 || ftruncate(fd, 8)) return 93;
        written = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (written == MAP_FAILED) return 92;
    }
    int64_t next = now_ns();
    for (uint64_t number = 0;;) {
        int64_t now = now_ns();
        if (end && now >= end) return code;
        if (written && now >= next) {
            for (int i = 0; i < batch; i++) {
                char line[32];
                put(line, snprintf(line, sizeof line, "%010llu\n", (unsigned long long)number++));
                *written = number;
            }
            next = now_ns() + pause_ms * 1000000LL;
        }
        int64_t until = written ? next : end;
        if (written && end && end < until) until = end;
        int ms = until ? (int)((until - now_ns()) / 1000000 + 1) : -1;
        struct pollfd wait = {.fd = listening, .events = POLLIN};
        if (poll(&wait, 1, until && ms < 0 ? 0 : ms) > 0) answer(listening);
    }
}
