// The first process of the emulated machine of scripts/on-aarch64-machine: runs one command after the other, and sends
// the results to the host.
//
// The file /jobs has one job in a line. The fields of a line are separated by tabs: the limit of the
// job in seconds, the directory, variables as NAME=VALUE, "--", the program, and its arguments.
//
// The results go to the first virtio port. For each job:
//   job STATUS NANOSECONDS LEFT   STATUS is that of wait(); LEFT is the number of processes that the job left behind
//   item BYTES NAME               a file of BYTES bytes
//   data OFFSET BYTES             a part of the last item, followed by BYTES bytes without a newline
//   end
// A job has several items, and an item has several parts or none. A hole of the file is in no part, because most of a
// ring is a hole. The items are stdout, stderr, the core file, the rings of the processes that announced a crash at
// /run/attach, and the files of the spool, which are removed. After the last job follows the line "done".
//
// If a job does not end before its limit, STATUS is that of a process that SIGKILL ended, and NANOSECONDS is the limit
// plus 1. The machine kills the processes that a job left behind.
//
// The kernel writes a core file of the job's program only if the job's variable MACHINE_CORE is 1.
#define _GNU_SOURCE // SEEK_DATA

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "keeper.h"

enum { JOB_BYTES = 4 << 20, FIELDS = 64, LEAVING_SECONDS = 10 };

#define JOBS   "/jobs"
#define PORT   "/dev/vport0p1"
#define SPOOL  "/run/spool"
#define OUTPUT "/run/stdout"
#define ERRORS "/run/stderr"
#define CORE   "/run/core"

static FILE *results;

static void stop(const char *what) {
  fprintf(stderr, "init: %s: %s\n", what, strerror(errno));
  sync();
  reboot(RB_POWER_OFF);
  for (;;)
    pause();
}

static void mount_on(const char *type, const char *path, const char *options) {
  mkdir(path, 0755);
  if (mount(type, path, type, 0, options) != 0 && errno != EBUSY) stop(path);
}

static void set_up(void) {
  mount_on("devtmpfs", "/dev", NULL);
  mount_on("proc", "/proc", NULL);
  mount_on("sysfs", "/sys", NULL);
  mount_on("tmpfs", "/run", NULL);
  mount_on("tmpfs", "/tmp", NULL);
  mount_on("tmpfs", "/dev/shm", NULL);
  FILE *pattern = fopen("/proc/sys/kernel/core_pattern", "w");
  if (pattern == NULL || fputs(CORE, pattern) < 0 || fclose(pattern) != 0) stop("core_pattern");
  // A program mounts over these directories in its own mount namespace, so the machine's mounts must not be shared.
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) stop("make / private");
  if (mkdir(SPOOL, 0777) != 0 || chmod(SPOOL, 01777) != 0 || chmod("/tmp", 01777) != 0) stop(SPOOL);
}

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void send_data(int file, off_t begin, off_t end, const char *path) {
  fprintf(results, "data %lld %lld\n", (long long)begin, (long long)(end - begin));
  char bytes[65536];
  while (begin < end) {
    const off_t wanted = end - begin < (off_t)sizeof bytes ? end - begin : (off_t)sizeof bytes;
    const ssize_t count = pread(file, bytes, (size_t)wanted, begin);
    if (count <= 0 || fwrite(bytes, 1, (size_t)count, results) != (size_t)count) stop(path);
    begin += count;
  }
}

// Sends a file as an item, without its holes.
static void send_file(const char *path, const char *name) {
  const int file = open(path, O_RDONLY);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) stop(path);
  fprintf(results, "item %lld %s\n", (long long)status.st_size, name);
  for (off_t end = 0;;) {
    const off_t begin = lseek(file, end, SEEK_DATA);
    if (begin < 0) break;
    end = lseek(file, begin, SEEK_HOLE);
    send_data(file, begin, end, path);
  }
  close(file);
}

static void send_spool(void) {
  DIR *directory = opendir(SPOOL);
  if (directory == NULL) stop(SPOOL);
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    char path[512];
    snprintf(path, sizeof path, SPOOL "/%s", entry->d_name);
    if (entry->d_name[0] == '.') continue;
    send_file(path, entry->d_name);
    unlink(path);
  }
  closedir(directory);
}

static bool has_core(char **variables) {
  for (; *variables != NULL; variables++) {
    if (strcmp(*variables, "MACHINE_CORE=1") == 0) return true;
  }
  return false;
}

static void start(char **fields, const char *directory) {
  char **variables = fields;
  while (*fields != NULL && strcmp(*fields, "--") != 0)
    fields++;
  if (*fields == NULL) _exit(127);
  *fields++ = NULL;
  const rlim_t limit = has_core(variables) ? RLIM_INFINITY : 0;
  setrlimit(RLIMIT_CORE, &(struct rlimit){.rlim_cur = limit, .rlim_max = limit});
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  setsid();
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND;
  const int input = open("/dev/null", O_RDONLY), output = open(OUTPUT, flags, 0600), errors = open(ERRORS, flags, 0600);
  if (input < 0 || output < 0 || errors < 0 || chdir(directory) != 0) _exit(127);
  if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(errors, 2) < 0) _exit(127);
  for (int descriptor = 3; descriptor < 16; descriptor++)
    close(descriptor);
  execve(*fields, fields, variables);
  dprintf(2, "init: %s: %s\n", *fields, strerror(errno));
  _exit(127);
}

// Waits until no child is left, or until `limit_ns`. Orphans become children of the first process. Returns whether the
// job's process ended, with its status and time.
static bool wait_for(pid_t job, int64_t limit_ns, int *ret_status, int64_t *ret_end_ns) {
  sigset_t others;
  sigfillset(&others);
  sigdelset(&others, SIGCHLD);
  bool ended = false;
  for (;;) {
    int status;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid < 0) return ended;
    if (pid == job) {
      ended = true;
      *ret_status = status;
      *ret_end_ns = now_ns();
      limit_ns = *ret_end_ns + LEAVING_SECONDS * 1000000000LL;
    }
    if (pid > 0) continue;
    const int64_t rest = limit_ns - now_ns();
    if (rest <= 0) return ended;
    const struct timespec time = {.tv_sec = rest / 1000000000, .tv_nsec = rest % 1000000000};
    keeper_wait(&time, &others);
  }
}

static void run(char *line) {
  char *fields[FIELDS + 1];
  int count = 0;
  for (char *field; (field = strsep(&line, "\t")) != NULL && count < FIELDS;)
    fields[count++] = field;
  fields[count] = NULL;
  if (count < 4) stop("a job has too few fields");
  const int64_t begin_ns = now_ns(), limit_ns = begin_ns + atoll(fields[0]) * 1000000000LL;
  const pid_t job = fork();
  if (job == 0) start(fields + 2, fields[1]);
  if (job < 0) stop("fork");
  int status = SIGKILL;
  int64_t end_ns = limit_ns;
  if (!wait_for(job, limit_ns, &status, &end_ns)) end_ns = limit_ns + 1;
  int left = 0;
  if (kill(-1, SIGKILL) == 0) {
    while (wait(NULL) > 0)
      left++;
  }
  fprintf(results, "job %d %lld %d\n", status, (long long)(end_ns - begin_ns), left);
  send_file(OUTPUT, "stdout");
  send_file(ERRORS, "stderr");
  if (access(CORE, F_OK) == 0) {
    send_file(CORE, "core");
    unlink(CORE);
  }
  keeper_send(send_file);
  send_spool();
  fprintf(results, "end\n");
  if (fflush(results) != 0) stop(PORT);
}

static void interrupt(int signal) {
  (void)signal;
}

int main(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  // A signal whose default action is to be ignored would not end a wait.
  signal(SIGCHLD, interrupt);
  set_up();
  if (!keeper_start()) stop(ATTACH_SOCKET);
  results = fopen(PORT, "w");
  FILE *disk = fopen(JOBS, "r");
  char *jobs = calloc(1, JOB_BYTES + 1);
  if (results == NULL) stop(PORT);
  if (disk == NULL || jobs == NULL || fread(jobs, 1, JOB_BYTES, disk) == 0) stop(JOBS);
  for (char *line; (line = strsep(&jobs, "\n")) != NULL;) {
    if (*line != 0) run(line);
  }
  fprintf(results, "done\n");
  if (fclose(results) != 0) stop(PORT);
  errno = 0;
  stop("all jobs have run");
}
