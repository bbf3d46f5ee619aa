// SPDX-License-Identifier: Apache-2.0
#include "rtnl_request.h"

#include <errno.h>

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	(void)from;
	((struct rtnl *)arg)->error = e->error;
	((struct rtnl *)arg)->done = true;
	return NL_STOP;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	(void)msg;
	((struct rtnl *)arg)->done = true;
	return NL_STOP;
}

static int on_reply(struct nl_msg *msg, void *arg)
{
	struct rtnl *t = arg;

	if (t->reply)
		t->reply(nlmsg_hdr(msg), t->arg);
	return NL_OK;
}

int rtnl_open(struct rtnl *t)
{
	t->sock = nl_socket_alloc();
	if (!t->sock)
		return -ENOMEM;
	nl_socket_modify_err_cb(t->sock, NL_CB_CUSTOM, on_error, t);
	nl_socket_modify_cb(t->sock, NL_CB_VALID, NL_CB_CUSTOM, on_reply, t);
	nl_socket_modify_cb(t->sock, NL_CB_ACK, NL_CB_CUSTOM, on_ack, t);
	nl_socket_modify_cb(t->sock, NL_CB_FINISH, NL_CB_CUSTOM, on_ack, t); /* of a dump */
	if (nl_connect(t->sock, NETLINK_ROUTE)) {
		nl_socket_free(t->sock);
		return -EIO;
	}
	return 0;
}

int rtnl_request(struct rtnl *t, struct nl_msg *msg)
{
	int err;

	if (!msg)
		return -ENOMEM;
	t->done = false;
	t->error = 0;
	err = nl_send_auto(t->sock, msg);
	nlmsg_free(msg);
	while (err >= 0 && !t->done)
		err = nl_recvmsgs_default(t->sock);
	if (t->error)
		return t->error;
	return err < 0 ? -EIO : 0;
}

void rtnl_close(struct rtnl *t)
{
	nl_socket_free(t->sock);
}
