// SPDX-License-Identifier: Apache-2.0
/* A thread that delivers the contents of BPF programs' ring buffers. */
#ifndef SOFTSAI_READER_H
#define SOFTSAI_READER_H

#include <pthread.h>
#include <stdbool.h>

#include <bpf/libbpf.h>

#include "sai_abi.h"

struct reader {
	const char *what; /* that is read, for the log */
	int realtime;	  /* SCHED_FIFO priority; 0: none */
	/*
	 * Called after each round; returns when it is to be called again at the latest, in ns
	 * from now; -1: at no time. May be NULL.
	 */
	int64_t (*tick)(void);
	int64_t gather; /* ns after a round in which what comes waits for the next one; below a second */
	pthread_t thread;
	struct ring_buffer *ring;
	int wake; /* eventfd that ends the thread */
	bool running;
};

/* Makes the reader of a map, and adds another map. */
sai_status_t reader_open(struct reader *r, int map, ring_buffer_sample_fn deliver);
sai_status_t reader_add(struct reader *r, int map, ring_buffer_sample_fn deliver);

/* Starts the thread, which calls with all locks free, and ends it. */
sai_status_t reader_start(struct reader *r);
void reader_stop(struct reader *r);

/*
 * Starts a thread that gets no signals; with a priority that the process may not have, it
 * runs without, and logs it. Returns 0 or an errno.
 */
int thread_start(pthread_t *thread, void *(*run)(void *), void *arg, int realtime, const char *what);

#endif
