// SPDX-License-Identifier: Apache-2.0
/* A conversation with the kernel by rtnetlink, and with it alone: one request, its answers. */
#ifndef SOFTSAI_RTNL_REQUEST_H
#define SOFTSAI_RTNL_REQUEST_H

#include <stdbool.h>

#include <netlink/msg.h>
#include <netlink/netlink.h>

struct rtnl {
	struct nl_sock *sock;
	bool done;
	int error;				      /* of the kernel's last answer */
	void (*reply)(struct nlmsghdr *h, void *arg); /* is called with each answer; may be NULL */
	void *arg;
};

/* Newer kernels answer a question about a single object only with this flag in it. */
#define RTNL_GET NLM_F_ECHO

/* Opens the socket, in the calling thread's network namespace; 0 or -errno. */
int rtnl_open(struct rtnl *t);
void rtnl_close(struct rtnl *t);

/*
 * Sends a request, which it frees, and reads answers up to the acknowledgement. 0, or
 * the kernel's -errno; -ENOMEM where msg is NULL.
 */
int rtnl_request(struct rtnl *t, struct nl_msg *msg);

#endif
