// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "reader.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

static void *run(void *arg)
{
	struct reader *r = arg;
	struct pollfd fds[2] = {
		{ .fd = ring_buffer__epoll_fd(r->ring), .events = POLLIN },
		{ .fd = r->wake, .events = POLLIN },
	};
	int64_t ns = -1;

	for (;;) {
		struct timespec until = { ns / 1000000000, ns % 1000000000 };

		if (ppoll(fds, 2, ns < 0 ? NULL : &until, NULL) < 0 && errno != EINTR) {
			fail("%s end: poll: %s", r->what, strerror(errno));
			return NULL;
		}
		if (fds[1].revents)
			return NULL;
		ring_buffer__consume(r->ring);
		if (r->gather)
			nanosleep(&(struct timespec){ .tv_nsec = r->gather }, NULL);
		ns = r->tick ? r->tick() : -1;
	}
}

sai_status_t reader_open(struct reader *r, int map, ring_buffer_sample_fn deliver)
{
	r->ring = ring_buffer__new(map, deliver, NULL, NULL);
	r->wake = eventfd(0, EFD_CLOEXEC);
	if (r->ring && r->wake >= 0)
		return SAI_STATUS_SUCCESS;
	fail("cannot read %s: %s", r->what, strerror(errno));
	ring_buffer__free(r->ring);
	r->ring = NULL;
	if (r->wake >= 0)
		close(r->wake);
	return SAI_STATUS_FAILURE;
}

sai_status_t reader_add(struct reader *r, int map, ring_buffer_sample_fn deliver)
{
	if (!ring_buffer__add(r->ring, map, deliver, NULL))
		return SAI_STATUS_SUCCESS;
	fail("cannot read %s: %s", r->what, strerror(errno));
	return SAI_STATUS_FAILURE;
}

int thread_start(pthread_t *thread, void *(*start)(void *), void *arg, int realtime, const char *what)
{
	struct sched_param param = { .sched_priority = realtime };
	char name[16]; /* part of it that the kernel keeps */
	sigset_t all, signals;
	int err;

	/* Signals are the caller's: none goes to this thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &signals);
	err = pthread_create(thread, NULL, start, arg);
	pthread_sigmask(SIG_SETMASK, &signals, NULL);
	if (err) {
		fail("cannot start the thread of %s: %s", what, strerror(err));
		return err;
	}
	snprintf(name, sizeof(name), "%s", what);
	pthread_setname_np(*thread, name);
	if (realtime && pthread_setschedparam(*thread, SCHED_FIFO, &param))
		warn("the thread of %s has no real-time priority: CAP_SYS_NICE is missing, or its control group has no time for it (cpu.rt_runtime_us); it reacts late on a busy machine",
		     what);
	return 0;
}

sai_status_t reader_start(struct reader *r)
{
	r->running = !thread_start(&r->thread, run, r, r->realtime, r->what);
	return r->running ? SAI_STATUS_SUCCESS : SAI_STATUS_FAILURE;
}

void reader_stop(struct reader *r)
{
	uint64_t one = 1;

	if (r->running) {
		if (write(r->wake, &one, sizeof(one)) != sizeof(one))
			fail("cannot wake the thread of %s: %s", r->what, strerror(errno));
		pthread_join(r->thread, NULL);
	}
	if (r->ring)
		close(r->wake);
	r->running = false;
	ring_buffer__free(r->ring);
	r->ring = NULL;
}
