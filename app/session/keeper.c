#include "app/session/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mem.h"

static const int passed_on[] = { SIGTERM, SIGINT, SIGQUIT, SIGHUP };
static int keeper_pipe = -1; /* the end of the pipe that asks the keeper to exit */

/* Ends in the same way as the other process. */
static void end_as(int status) {
    const struct rlimit none = { 0, 0 };
    sigset_t all;
    if (!WIFSIGNALED(status)) _exit(WEXITSTATUS(status));
    setrlimit(RLIMIT_CORE, &none); /* the other process has written one */
    signal(WTERMSIG(status), SIG_DFL);
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    raise(WTERMSIG(status));
    _exit(128 + WTERMSIG(status));
}

/* Handles that the other process has stopped, ended, or continued. */
static void follow_child(pid_t pid) {
    int status;
    while (waitpid(pid, &status, WNOHANG | WUNTRACED) == pid) {
        if (!WIFSTOPPED(status)) end_as(status);
        raise(WSTOPSIG(status)); /* the shell owns the terminal until it continues both */
        kill(pid, SIGCONT);
    }
}

static void keep(pid_t pid, int told, const sigset_t *signals) {
    signal(SIGCHLD, SIG_DFL); /* it may have been ignored */
    struct pollfd fd[] = { { .fd = signalfd(-1, signals, SFD_CLOEXEC), .events = POLLIN },
                           { .fd = told, .events = POLLIN } };
    for (;;) {
        struct signalfd_siginfo one;
        char byte;
        follow_child(pid);
        if (poll(fd, 2, -1) < 0 && errno != EINTR) break;
        if (fd[1].revents & POLLIN && read(told, &byte, 1) == 1) _exit(0);
        if (fd[1].revents & POLLHUP) fd[1].fd = -1; /* it is about to end */
        if (!(fd[0].revents & POLLIN) || read(fd[0].fd, &one, sizeof one) != sizeof one) continue;
        if (one.ssi_signo != SIGCHLD) kill(pid, (int)one.ssi_signo);
    }
    _exit(1);
}

void keeper_begin(void) {
    int ends[2];
    sigset_t signals, before;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || pipe2(ends, O_CLOEXEC)) return;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    for (size_t i = 0; i < COUNT_OF(passed_on); i++) sigaddset(&signals, passed_on[i]);
    sigprocmask(SIG_BLOCK, &signals, &before);
    fflush(NULL);
    pid_t keeper = getpid(), pid = fork();
    if (pid > 0) {
        close(ends[1]);
        keep(pid, ends[0], &signals);
    }
    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
    } else {
        keeper_pipe = ends[1];
        prctl(PR_SET_PDEATHSIG, SIGHUP); /* as when the terminal is lost */
        if (getppid() != keeper) raise(SIGHUP);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
}

bool keeper_let_go(void) {
    if (keeper_pipe < 0) return false;
    prctl(PR_SET_PDEATHSIG, 0);
    setsid();
    fflush(NULL);
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; nowhere >= 0 && fd <= STDERR_FILENO; fd++) dup2(nowhere, fd);
    if (nowhere >= 0) close(nowhere);
    bool gone = write(keeper_pipe, "", 1) == 1;
    close(keeper_pipe);
    keeper_pipe = -1;
    return gone;
}
