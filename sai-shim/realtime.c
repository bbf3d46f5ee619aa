/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "realtime.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile pid_t bounded;	   /* the thread; 0: there is none */
static volatile sig_atomic_t lost; /* it lost its priority */
static struct rlimit limit;

/*
 * The kernel sends this to a real-time thread that has run for RLIMIT_RTTIME, and has raised that
 * by a second (setrlimit(2)). A thread of a library may run as long as it likes: with the limit off
 * it has no more of these.
 */
static void overrun(int signal)
{
	const struct sched_param ordinary = { 0 };
	struct rlimit next = limit;
	int error = errno;

	(void)signal;
	if (gettid() == bounded) {
		sched_setscheduler(0, SCHED_OTHER, &ordinary);
		lost = 1;
	} else {
		next.rlim_cur = limit.rlim_max;
	}
	setrlimit(RLIMIT_RTTIME, &next);
	errno = error;
}

int realtime_bound(uint64_t us)
{
	struct sigaction action = { .sa_handler = overrun, .sa_flags = SA_ONSTACK | SA_RESTART };
	struct rlimit next;

	if (getrlimit(RLIMIT_RTTIME, &next))
		return -1;
	next.rlim_cur = us && us < next.rlim_max ? us : next.rlim_max;
	limit = next;
	bounded = us ? gettid() : 0;
	if (us && sigaction(SIGXCPU, &action, NULL))
		return -1;
	return setrlimit(RLIMIT_RTTIME, &next);
}

bool realtime_lost(void)
{
	bool was = lost;

	if (was)
		lost = 0;
	return was;
}
