// SPDX-License-Identifier: Apache-2.0
#include "reader.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "log.h"

static void *run(void *arg)
{
	struct reader *r = arg;
	struct pollfd fds[2] = {
		{ .fd = ring_buffer__epoll_fd(r->ring), .events = POLLIN },
		{ .fd = r->wake, .events = POLLIN },
	};

	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR) {
			fail("%s end: poll: %s", r->what, strerror(errno));
			return NULL;
		}
		if (fds[1].revents)
			return NULL;
		ring_buffer__consume(r->ring);
	}
}

sai_status_t reader_start(struct reader *r, int map, ring_buffer_sample_fn deliver)
{
	sigset_t all, before;
	int err;

	r->ring = ring_buffer__new(map, deliver, NULL, NULL);
	r->wake = eventfd(0, EFD_CLOEXEC);
	if (!r->ring || r->wake < 0) {
		fail("cannot read %s: %s", r->what, strerror(errno));
		return SAI_STATUS_FAILURE;
	}
	/* Signals are the caller's: none goes to this thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&r->thread, NULL, run, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		fail("cannot start a thread: %s", strerror(err));
		close(r->wake);
		r->wake = -1;
		return SAI_STATUS_FAILURE;
	}
	return SAI_STATUS_SUCCESS;
}

void reader_stop(struct reader *r)
{
	uint64_t one = 1;

	if (r->wake >= 0) {
		if (write(r->wake, &one, sizeof(one)) != sizeof(one))
			fail("cannot wake the thread of %s: %s", r->what, strerror(errno));
		pthread_join(r->thread, NULL);
		close(r->wake);
		r->wake = -1;
	}
	ring_buffer__free(r->ring);
	r->ring = NULL;
}
