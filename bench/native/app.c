/* An app that registers, says it is ready, and on SIGUSR1 sends heartbeats.
 *
 *     app RATE SECONDS FOLDER     RATE a second, one at a time; 0 is as many as it gets answered
 *
 * Leaves FOLDER/PID: how many were answered, and how long each took (only with a rate), in seconds. Lives on.
 */
#define _GNU_SOURCE
#include "bench.h"
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { WINDOW = 256, LATENCIES = 100000 };

static int kernel;
static char held[1 << 16];
static size_t length;
static char token[256];

static void say(const char *text, size_t size)
{
    while (size > 0) {
        ssize_t sent = write(kernel, text, size);
        if (sent <= 0)
            die("write");
        text += sent;
        size -= (size_t)sent;
    }
}

/* How many whole lines came with one read; the last of them stays in `held`. */
static long hear(void)
{
    ssize_t got = read(kernel, held + length, sizeof held - length - 1);
    if (got <= 0)
        die("read");
    length += (size_t)got;
    held[length] = 0;
    long lines = 0;
    char *rest = held;
    for (char *end; (end = strchr(rest, '\n')) != NULL; rest = end + 1) {
        if (memmem(rest, (size_t)(end - rest), "\"success\":true", 14) == NULL) {
            fprintf(stderr, "refused: %s\n", rest);
            exit(1);
        }
        char *found = memmem(rest, (size_t)(end - rest), "\"token\":\"", 9);
        if (found != NULL)
            sscanf(found + 9, "%255[^\"]", token);
        lines++;
    }
    length -= (size_t)(rest - held);
    memmove(held, rest, length);
    return lines;
}

static void call(const char *text, size_t size)
{
    say(text, size);
    while (hear() == 0)
        ;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: app RATE SECONDS FOLDER\n");
        return 2;
    }
    long rate = number(argv[1]), seconds = number(argv[2]);
    sigset_t go;
    sigemptyset(&go);
    sigaddset(&go, SIGUSR1);
    sigprocmask(SIG_BLOCK, &go, NULL);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *place = getenv("OPENCLAWOS_SOCKET"), *id = getenv("OPENCLAWOS_APP_ID");
    if (place == NULL || id == NULL)
        die("the environment");
    snprintf(address.sun_path, sizeof address.sun_path, "%s", place);
    kernel = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (kernel < 0 || connect(kernel, (struct sockaddr *)&address, sizeof address) != 0)
        die(place);
    static char text[4096], beat[1024], many[WINDOW * 1024];
    int size = snprintf(text, sizeof text,
        "{\"id\":\"1\",\"type\":\"request\",\"timestamp\":1,\"method\":\"app.register\",\"params\":"
        "{\"manifest\":{\"id\":\"%s\",\"type\":\"app\",\"protocol\":{\"version\":\"1.0\"}}}}\n", id);
    call(text, (size_t)size);
    size = snprintf(text, sizeof text,
        "{\"id\":\"2\",\"type\":\"request\",\"timestamp\":1,\"method\":\"app.ready\",\"params\":{},\"token\":\"%s\"}\n", token);
    call(text, (size_t)size);
    size_t one = (size_t)snprintf(beat, sizeof beat,
        "{\"id\":\"3\",\"type\":\"request\",\"timestamp\":1700000000000,\"method\":\"app.heartbeat\",\"params\":"
        "{\"status\":{\"status\":\"healthy\"}},\"token\":\"%s\"}\n", token);
    for (size_t i = 0; i < WINDOW; i++)
        memcpy(many + i * one, beat, one);
    int signal;
    sigwait(&go, &signal);
    static double took[LATENCIES];
    long answered = 0;
    double begin = now_seconds(), end = begin + (double)seconds;
    if (rate == 0) {
        long unanswered = 0;
        while (now_seconds() < end) {
            if (unanswered <= WINDOW / 2) {
                say(many, one * (size_t)(WINDOW - unanswered));
                unanswered = WINDOW;
            }
            long lines = hear();
            unanswered -= lines;
            answered += lines;
        }
    } else {
        /* Not all at once. */
        double next = begin + (double)(getpid() % 1000) / 1000.0 / (double)rate;
        for (; next < end && answered < LATENCIES; next += 1.0 / (double)rate) {
            double wait = next - now_seconds();
            if (wait > 0)
                usleep((useconds_t)(wait * 1e6));
            double sent = now_seconds();
            call(beat, one);
            took[answered++] = now_seconds() - sent;
        }
    }
    /* An app that is ready first does not disturb the others' measurements. */
    double rest = end + 0.5 - now_seconds();
    if (rest > 0)
        usleep((useconds_t)(rest * 1e6));
    snprintf(text, sizeof text, "%s/.%d", argv[3], getpid());
    FILE *out = fopen(text, "w");
    if (out == NULL)
        die(text);
    fprintf(out, "%ld\n", answered);
    for (long i = 0; rate > 0 && i < answered; i++)
        fprintf(out, "%.9f\n", took[i]);
    if (fclose(out) != 0)
        die(text);
    snprintf(beat, sizeof beat, "%s/%d", argv[3], getpid());
    if (rename(text, beat) != 0)
        die(beat);
    for (;;)
        pause();
}
