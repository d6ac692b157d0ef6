// A program that blocks a signal in all threads, while one thread waits for this signal. It exits with 0 when that
// thread receives the signal.
//   waits sigwait|sigwaitinfo|signalfd SIGNAL
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const char *way;
static sigset_t wanted;

static void *wait_for_signal(void *unused) {
  int received = 0;
  (void)unused;
  if (strcmp(way, "sigwait") == 0) sigwait(&wanted, &received);
  if (strcmp(way, "sigwaitinfo") == 0) received = sigwaitinfo(&wanted, NULL);
  if (strcmp(way, "signalfd") == 0) {
    struct signalfd_siginfo information = {0};
    const int descriptor = signalfd(-1, &wanted, SFD_CLOEXEC);
    if (read(descriptor, &information, sizeof information) == sizeof information) received = (int)information.ssi_signo;
  }
  _exit(sigismember(&wanted, received) == 1 ? 0 : 1);
}

int main(int count, char **arguments) {
  pthread_t thread;
  if (count != 3) return 2;
  way = arguments[1];
  sigemptyset(&wanted);
  sigaddset(&wanted, atoi(arguments[2]));
  pthread_sigmask(SIG_BLOCK, &wanted, NULL);
  if (pthread_create(&thread, NULL, wait_for_signal, NULL) != 0) return 3;
  kill(getpid(), atoi(arguments[2]));
  pthread_join(thread, NULL);
  return 4;
}
