// SPDX-License-Identifier: Apache-2.0
/* A conversation with the kernel by rtnetlink, and with it alone: one request, its answers. */
#ifndef SOFTSAI_TALK_H
#define SOFTSAI_TALK_H

#include <stdbool.h>

#include <netlink/msg.h>
#include <netlink/netlink.h>

struct talk {
	struct nl_sock *sock;
	bool done;
	int error;				      /* of the kernel's last answer */
	void (*reply)(struct nlmsghdr *h, void *arg); /* is called with each answer; may be NULL */
	void *arg;
};

/* Newer kernels answer a question about a single object only with this flag in it. */
#define TALK_GET NLM_F_ECHO

/* Opens the socket, in the calling thread's network namespace; 0 or -errno. */
int talk_open(struct talk *t);
void talk_close(struct talk *t);

/*
 * Sends a request, which it frees, and reads answers up to the acknowledgement. 0, or
 * the kernel's -errno; -ENOMEM where msg is NULL.
 */
int talk_ask(struct talk *t, struct nl_msg *msg);

#endif
