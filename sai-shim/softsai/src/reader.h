// SPDX-License-Identifier: Apache-2.0
/* A thread that hands on what BPF programs put into a ring buffer. */
#ifndef SOFTSAI_READER_H
#define SOFTSAI_READER_H

#include <pthread.h>

#include <bpf/libbpf.h>

#include "object.h"

struct reader {
	const char *what; /* that is read, for the log */
	pthread_t thread;
	struct ring_buffer *ring;
	int wake; /* eventfd that ends the thread; -1: there is none */
};

/* Starts the thread, which calls deliver without any lock held, and ends it. */
sai_status_t reader_start(struct reader *r, int map, ring_buffer_sample_fn deliver);
void reader_stop(struct reader *r);

#endif
