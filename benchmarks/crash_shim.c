/* A process under test writes down, and can be killed at, every call that changes a folder: see crash.py.
 *
 * Preloaded (LD_PRELOAD), it does nothing before crash_arm(). From then on each call that writes, creates, renames,
 * removes, cuts or syncs something below the folder is an event with a number from 1 on: a line in the log. At the
 * event `kill_at` the process dies by SIGKILL before the call; a write of several bytes is done to its half first.
 * The content that a file has when it is synced is copied to the folder of snapshots, under the event's number. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static char root[PATH_MAX], snapshots[PATH_MAX];
static size_t root_length;
static int log_fd = -1;
static long events, kill_at;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int crash_arm(const char *folder, const char *log, const char *snaps, long at) {
    snprintf(root, sizeof root, "%s/", folder);
    snprintf(snapshots, sizeof snapshots, "%s", snaps);
    root_length = strlen(root);
    kill_at = at;
    events = 0;
    int fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    log_fd = fcntl(fd, F_DUPFD_CLOEXEC, 900); /* out of the way of what the process opens */
    syscall(SYS_close, fd);
    return log_fd < 0;
}

static int below(const char *path) {
    size_t n = strlen(path) == root_length - 1 ? root_length - 1 : root_length; /* the folder itself, too */
    return strncmp(path, root, n) == 0;
}

static int of_fd(int fd, char *out) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, out, PATH_MAX - 1);
    if (n < 0) return 0;
    out[n] = 0;
    return 1;
}

/* The absolute path, with "." and ".." taken out; 1 where it lies below the folder. */
static int of_path(int dir, const char *path, char *out) {
    char whole[2 * PATH_MAX];
    if (log_fd < 0 || path == NULL) return 0;
    if (path[0] == '/') {
        snprintf(whole, sizeof whole, "%s", path);
    } else {
        char base[PATH_MAX];
        if (dir == AT_FDCWD ? getcwd(base, sizeof base) == NULL : !of_fd(dir, base)) return 0;
        snprintf(whole, sizeof whole, "%s/%s", base, path);
    }
    size_t n = 0;
    for (char *rest = whole, *part; (part = strtok_r(rest, "/", &rest));) {
        if (strcmp(part, ".") == 0) continue;
        if (strcmp(part, "..") == 0) {
            while (n > 0 && out[--n] != '/') {}
            continue;
        }
        size_t length = strlen(part);
        if (n + length + 2 > PATH_MAX) return 0;
        out[n++] = '/';
        memcpy(out + n, part, length);
        n += length;
    }
    out[n] = 0;
    return below(out);
}

static void put(const char *text, size_t n) { syscall(SYS_write, log_fd, text, n); }

/* Write the event down; the process ends here if it is the one. */
static long event(const char *call, const char *path, const char *other, int fd, const void *data, size_t n) {
    char line[2 * PATH_MAX + 100];
    pthread_mutex_lock(&lock);
    long number = ++events;
    int length = snprintf(line, sizeof line, "%ld\t%s\t%s\t%s\t%zu\n", number, call, path, other, n);
    put(line, length);
    if (number == kill_at) {
        if (data != NULL && n > 1) syscall(SYS_write, fd, data, n / 2);
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    pthread_mutex_unlock(&lock);
    return number;
}

static long event_fd(const char *call, int fd, const void *data, size_t n) {
    char path[PATH_MAX];
    if (log_fd < 0 || fd == log_fd || !of_fd(fd, path) || !below(path)) return 0;
    return event(call, path, "", fd, data, n);
}

static void snapshot(long number, int fd) {
    char name[PATH_MAX + 32], source[64], block[65536];
    ssize_t n;
    snprintf(name, sizeof name, "%s/%ld", snapshots, number);
    snprintf(source, sizeof source, "/proc/self/fd/%d", fd);
    int in = syscall(SYS_openat, AT_FDCWD, source, O_RDONLY | O_CLOEXEC, 0);
    int out = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    while ((n = syscall(SYS_read, in, block, sizeof block)) > 0) syscall(SYS_write, out, block, n);
    syscall(SYS_close, in);
    syscall(SYS_close, out);
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define OPENS(flags) ((flags) & (O_CREAT | O_TRUNC))
static void opening(int dir, const char *path, int flags) {
    char whole[PATH_MAX];
    if ((flags & O_TMPFILE) == O_TMPFILE || !OPENS(flags) || !of_path(dir, path, whole)) return;
    event((flags & O_TRUNC) ? "truncate" : "create", whole, "", -1, NULL, 0);
}
#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, int); va_end(more); }

int open(const char *path, int flags, ...) { MODE(flags) REAL(open); opening(AT_FDCWD, path, flags); return real(path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) REAL(open64); opening(AT_FDCWD, path, flags); return real(path, flags, mode); }
int openat(int dir, const char *path, int flags, ...) { MODE(flags) REAL(openat); opening(dir, path, flags); return real(dir, path, flags, mode); }
int openat64(int dir, const char *path, int flags, ...) { MODE(flags) REAL(openat64); opening(dir, path, flags); return real(dir, path, flags, mode); }
int creat(const char *path, mode_t mode) { REAL(creat); opening(AT_FDCWD, path, O_CREAT | O_TRUNC); return real(path, mode); }
static void fopening(const char *path, const char *how) {
    if (how[0] != 'r') opening(AT_FDCWD, path, how[0] == 'w' ? O_CREAT | O_TRUNC : O_CREAT);
}
FILE *fopen(const char *path, const char *how) { REAL(fopen); fopening(path, how); return real(path, how); }
FILE *fopen64(const char *path, const char *how) { REAL(fopen64); fopening(path, how); return real(path, how); }

ssize_t write(int fd, const void *data, size_t n) { REAL(write); event_fd("write", fd, data, n); return real(fd, data, n); }
ssize_t pwrite(int fd, const void *data, size_t n, off_t at) { REAL(pwrite); event_fd("write", fd, NULL, n); return real(fd, data, n, at); }
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) { REAL(pwrite64); event_fd("write", fd, NULL, n); return real(fd, data, n, at); }
ssize_t writev(int fd, const struct iovec *parts, int n) { REAL(writev); event_fd("write", fd, n ? parts[0].iov_base : NULL, n ? parts[0].iov_len : 0); return real(fd, parts, n); }
size_t fwrite(const void *data, size_t size, size_t n, FILE *stream) { REAL(fwrite); event_fd("write", fileno(stream), NULL, size * n); return real(data, size, n, stream); }
ssize_t sendfile(int out, int in, off_t *at, size_t n) { REAL(sendfile); event_fd("write", out, NULL, n); return real(out, in, at, n); }
ssize_t sendfile64(int out, int in, off64_t *at, size_t n) { REAL(sendfile64); event_fd("write", out, NULL, n); return real(out, in, at, n); }
ssize_t copy_file_range(int in, off64_t *a, int out, off64_t *b, size_t n, unsigned flags) { REAL(copy_file_range); event_fd("write", out, NULL, n); return real(in, a, out, b, n, flags); }

int ftruncate(int fd, off_t n) { REAL(ftruncate); event_fd("cut", fd, NULL, n); return real(fd, n); }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64); event_fd("cut", fd, NULL, n); return real(fd, n); }
int fsync(int fd) { REAL(fsync); long number = event_fd("sync", fd, NULL, 0); if (number) snapshot(number, fd); return real(fd); }
int fdatasync(int fd) { REAL(fdatasync); long number = event_fd("sync", fd, NULL, 0); if (number) snapshot(number, fd); return real(fd); }

static void moving(const char *call, int a, const char *from, int b, const char *to) {
    char source[PATH_MAX] = "", target[PATH_MAX] = "";
    int inside = of_path(a, from, source);
    if (of_path(b, to, target) || inside) event(call, source, target, -1, NULL, 0);
}
int rename(const char *from, const char *to) { REAL(rename); moving("rename", AT_FDCWD, from, AT_FDCWD, to); return real(from, to); }
int renameat(int a, const char *from, int b, const char *to) { REAL(renameat); moving("rename", a, from, b, to); return real(a, from, b, to); }
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) { REAL(renameat2); moving("rename", a, from, b, to); return real(a, from, b, to, flags); }
int link(const char *from, const char *to) { REAL(link); moving("link", AT_FDCWD, from, AT_FDCWD, to); return real(from, to); }
int linkat(int a, const char *from, int b, const char *to, int flags) { REAL(linkat); moving("link", a, from, b, to); return real(a, from, b, to, flags); }

static void changing(const char *call, int dir, const char *path) {
    char whole[PATH_MAX];
    if (of_path(dir, path, whole)) event(call, whole, "", -1, NULL, 0);
}
int unlink(const char *path) { REAL(unlink); changing("remove", AT_FDCWD, path); return real(path); }
int unlinkat(int dir, const char *path, int flags) { REAL(unlinkat); changing("remove", dir, path); return real(dir, path, flags); }
int rmdir(const char *path) { REAL(rmdir); changing("remove", AT_FDCWD, path); return real(path); }
int mkdir(const char *path, mode_t mode) { REAL(mkdir); changing("folder", AT_FDCWD, path); return real(path, mode); }
int mkdirat(int dir, const char *path, mode_t mode) { REAL(mkdirat); changing("folder", dir, path); return real(dir, path, mode); }
