/* Starts many runs over one connection to a supervisor, and knows when each has ended.
 *
 *     drive SOCKET COUNT IN_FLIGHT each|last|live|fill PROGRAM [ARGUMENT]     prints the seconds it took
 *
 * each  IN_FLIGHT runs at a time; the end of every run is asked for with `wait`, whose answer comes
 *       after the exit record was committed.
 * last  as many spawn requests at a time, but no `wait`: when all are started, `ping` is asked until no
 *       run is live. The caller counts the exit records in the registry.
 * live  only starts them, and leaves them running.
 * fill  the same until one is refused; then prints how many were started, and in the next line what was answered.
 *
 * In C, so that the caller's own work is small beside the supervisor's.
 */
#include "bench.h"
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int control;
static char out[1 << 20], in[1 << 20];
static size_t out_length, in_length;
static const char *program, *argument;

static void flush_out(void)
{
    size_t sent = 0;
    while (sent < out_length) {
        ssize_t length = write(control, out + sent, out_length - sent);
        if (length < 0)
            die("write to the supervisor");
        sent += (size_t)length;
    }
    out_length = 0;
}

static void ask(const char *form, ...)
{
    va_list arguments;
    if (sizeof out - out_length < 4096)
        flush_out();
    va_start(arguments, form);
    out_length += (size_t)vsnprintf(out + out_length, sizeof out - out_length, form, arguments);
    va_end(arguments);
}

static void ask_spawn(long id)
{
    ask("{\"id\":%ld,\"method\":\"runs.spawn\",\"params\":{\"argv\":[\"%s\"%s%s%s],\"cwd\":\"/\","
        "\"env\":[\"PATH=/usr/bin:/bin\"],\"umask\":18,\"backend\":\"pipe\","
        "\"size\":{\"columns\":120,\"rows\":30},\"stdin\":false,\"sessionId\":\"bench\",\"unit\":null,"
        "\"scopeKey\":null,\"limits\":{\"timeoutMs\":null,\"noOutputTimeoutMs\":null,\"graceMs\":3000},"
        "\"detach\":\"forbid\"}}\n",
        id, program, argument ? ",\"" : "", argument ? argument : "", argument ? "\"" : "");
}

/* The next answer, without its line end; waits for it. */
static char *next_line(void)
{
    static size_t taken;
    static char *found_line;
    for (;;) {
        char *end = memchr(in + taken, '\n', in_length - taken);
        if (end) {
            found_line = in + taken;
            *end = 0;
            taken = (size_t)(end - in) + 1;
            return found_line;
        }
        memmove(in, in + taken, in_length - taken);
        in_length -= taken;
        taken = 0;
        /* Only when there is nothing left to answer: one write for all that was asked meanwhile. */
        flush_out();
        ssize_t length = read(control, in + in_length, sizeof in - in_length);
        if (length < 0)
            die("read from the supervisor");
        if (length == 0) {
            fprintf(stderr, "the supervisor hung up\n");
            exit(1);
        }
        in_length += (size_t)length;
    }
}

static void unexpected(const char *line)
{
    fprintf(stderr, "unexpected answer: %.500s\n", line);
    exit(1);
}

int main(int argc, char **argv)
{
    if (argc < 6 || argc > 7) {
        fprintf(stderr, "usage: drive SOCKET COUNT IN_FLIGHT each|last|live|fill PROGRAM [ARGUMENT]\n");
        return 2;
    }
    long count = number(argv[2]), most = number(argv[3]);
    int each = strcmp(argv[4], "each") == 0, fill = strcmp(argv[4], "fill") == 0;
    int live = fill || strcmp(argv[4], "live") == 0;
    long refused = 0;
    char *refusal = NULL;
    program = argv[5];
    argument = argc == 7 ? argv[6] : NULL;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (strlen(argv[1]) >= sizeof address.sun_path) {
        fprintf(stderr, "the socket's path is too long: %s\n", argv[1]);
        return 2;
    }
    strcpy(address.sun_path, argv[1]);
    control = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (control < 0 || connect(control, (struct sockaddr *)&address, sizeof address) != 0)
        die(argv[1]);

    double begin = now_seconds();
    long asked = 0, done = 0;
    while (done < count && !(refused && done == asked)) {
        while (asked < count && asked - done < most && !refused)
            ask_spawn(++asked);
        char *line = next_line();
        if (fill && (!strstr(line, "\"ownerInstanceId\"") || !strstr(line, "\"error\":null"))) {
            if (refused++ == 0)
                refusal = strdup(line);
            done++;
            continue;
        }
        if (strstr(line, "\"ownerInstanceId\"")) {
            if (!strstr(line, "\"error\":null"))
                unexpected(line);
            if (!each) {
                done++;
                continue;
            }
            char *run = strstr(line, "\"runId\":\"");
            if (!run)
                unexpected(line);
            ask("{\"id\":%ld,\"method\":\"runs.wait\",\"params\":{\"run\":\"%.36s\"}}\n", count + 1, run + 9);
        } else if (each && strstr(line, "\"exitCode\"")) {
            if (!strstr(line, "\"exitCode\":0"))
                unexpected(line);
            done++;
        } else {
            unexpected(line);
        }
    }
    while (!each && !live) {
        ask("{\"id\":%ld,\"method\":\"daemon.ping\"}\n", count + 1);
        char *line = next_line();
        if (!strstr(line, "\"startedAtMs\""))
            unexpected(line);
        char *live = strstr(line, "\"live\":");
        if (live && strtol(live + 7, NULL, 10) == 0)
            break;
        usleep(200);
    }
    printf("%.9f", now_seconds() - begin);
    if (fill)
        printf(" %ld\n%s", done - refused, refusal ? refusal : "");
    putchar('\n');
    return 0;
}
