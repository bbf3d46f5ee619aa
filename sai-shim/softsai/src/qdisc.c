// SPDX-License-Identifier: Apache-2.0
#include "qdisc.h"

#include <errno.h>
#include <string.h>

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>

#include "rtnl_request.h"

#define TICK 64 /* ns; the unit of times in qdiscs */
#define SECOND 1000000000ULL
#define GUARANTEED 125	      /* octets a second that each queue has for its own: HTB takes no 0 */
#define BURST (SECOND / 5000) /* ns that a port may send at once, if it had nothing to send before */

/* A message about a qdisc or class. */
static struct nl_msg *message(int type, int flags, uint32_t ifindex, uint32_t parent, uint32_t handle)
{
	struct tcmsg head = { .tcm_ifindex = ifindex, .tcm_parent = parent, .tcm_handle = handle };
	struct nl_msg *msg = nlmsg_alloc_simple(type, NLM_F_REQUEST | flags);

	if (msg && nlmsg_append(msg, &head, sizeof(head), NLMSG_ALIGNTO)) {
		nlmsg_free(msg);
		msg = NULL;
	}
	return msg;
}

/* The kind, and its data: plain octets, or one attribute nested. */
static struct nl_msg *with(struct nl_msg *msg, const char *kind, int attribute, const void *options, int size)
{
	struct nlattr *nest = NULL;
	bool good = msg && nla_put_string(msg, TCA_KIND, kind) == 0;

	if (good && attribute) {
		nest = nla_nest_start(msg, TCA_OPTIONS);
		good = nest && nla_put(msg, attribute, size, options) == 0;
		if (good)
			nla_nest_end(msg, nest);
	} else if (good) {
		good = nla_put(msg, TCA_OPTIONS, size, options) == 0;
	}
	if (!good && msg) {
		nlmsg_free(msg);
		msg = NULL;
	}
	return msg;
}

struct root {
	uint32_t handle;
	char kind[16];
};

static void read_root(struct nlmsghdr *h, void *arg)
{
	struct root *r = arg;
	struct nlattr *kind = nlmsg_find_attr(h, sizeof(struct tcmsg), TCA_KIND);

	r->handle = ((struct tcmsg *)nlmsg_data(h))->tcm_handle;
	if (kind)
		nla_strlcpy(r->kind, kind, sizeof(r->kind));
}

/* Finds the root qdisc: softsai's, the kernel's default (it has no handle), or another owner's: -EEXIST. */
static int find_root(struct rtnl *t, uint32_t ifindex, bool *ours)
{
	struct root r = {};
	int err;

	t->reply = read_root;
	t->arg = &r;
	err = rtnl_request(t, message(RTM_GETQDISC, RTNL_GET, ifindex, TC_H_ROOT, 0));
	t->reply = NULL;
	*ours = r.handle == SOFTSAI_HTB && strcmp(r.kind, "htb") == 0;
	/* The kernel does not show the default qdisc of a netdev that is down. */
	if (err == -EINVAL || err == -ENOENT)
		err = 0;
	if (!err && r.handle && !*ours)
		err = -EEXIST;
	return err;
}

static int make_root(struct rtnl *t, uint32_t ifindex, int flags)
{
	struct tc_htb_glob glob = { .version = 3, .rate2quantum = 10, .defcls = SOFTSAI_HTB_QUEUE };

	return rtnl_request(t, with(message(RTM_NEWQDISC, NLM_F_CREATE | flags, ifindex, TC_H_ROOT, SOFTSAI_HTB), "htb",
				    TCA_HTB_INIT, &glob, sizeof(glob)));
}

static uint32_t ticks(uint64_t octets, uint64_t rate)
{
	uint64_t t = octets * SECOND / rate / TICK;

	return t < UINT32_MAX ? t : UINT32_MAX;
}

static void set_rate(struct tc_ratespec *spec, uint64_t rate)
{
	spec->rate = rate < UINT32_MAX ? rate : UINT32_MAX;
	spec->linklayer = TC_LINKLAYER_ETHERNET;
}

/* Burst of a class: a moment's worth, and two frames. */
static uint64_t burst(uint64_t rate, uint32_t frame)
{
	return rate / (SECOND / BURST) + 2 * frame;
}

static int make_class(struct rtnl *t, uint32_t ifindex, uint32_t parent, uint32_t handle, struct tc_htb_opt *opt,
		      uint64_t rate, uint64_t ceil, uint32_t frame)
{
	struct nl_msg *msg = message(RTM_NEWTCLASS, NLM_F_CREATE, ifindex, parent, handle);
	struct nlattr *nest;

	set_rate(&opt->rate, rate);
	set_rate(&opt->ceil, ceil);
	opt->buffer = ticks(rate == ceil ? burst(rate, frame) : 1, rate);
	opt->cbuffer = ticks(burst(ceil, frame), ceil);
	if (!msg || nla_put_string(msg, TCA_KIND, "htb"))
		goto out;
	nest = nla_nest_start(msg, TCA_OPTIONS);
	if (!nest || nla_put(msg, TCA_HTB_PARMS, sizeof(*opt), opt))
		goto out;
	if (rate > UINT32_MAX && nla_put_u64(msg, TCA_HTB_RATE64, rate))
		goto out;
	if (ceil > UINT32_MAX && nla_put_u64(msg, TCA_HTB_CEIL64, ceil))
		goto out;
	nla_nest_end(msg, nest);
	return rtnl_request(t, msg);
out:
	nlmsg_free(msg);
	return -ENOMEM;
}

static int make_queue(struct rtnl *t, uint32_t ifindex, uint32_t queue, const struct qdisc_port *port)
{
	const struct qdisc_queue *q = &port->queue[queue];
	struct tc_htb_opt opt = { .prio = q->priority, .quantum = q->quantum };
	struct tc_fifo_qopt fifo = { .limit = port->limit };
	uint64_t ceil = q->max_rate && q->max_rate < port->rate ? q->max_rate : port->rate;
	int err;

	err = make_class(t, ifindex, SOFTSAI_HTB | SOFTSAI_HTB_PORT, SOFTSAI_CLASS(queue), &opt, GUARANTEED, ceil,
			 port->frame);
	if (err)
		return err;
	return rtnl_request(t, with(message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, ifindex, SOFTSAI_CLASS(queue),
					    SOFTSAI_FIFO + (queue << 16)),
				    "bfifo", 0, &fifo, sizeof(fifo)));
}

/* replace: another root qdisc goes. */
static int ensure(uint32_t ifindex, const struct qdisc_port *port, bool replace)
{
	struct tc_htb_opt opt = { .quantum = port->frame };
	struct rtnl t = {};
	bool ours;
	int err;

	err = rtnl_open(&t);
	if (err)
		return err;
	err = find_root(&t, ifindex, &ours);
	if ((!err && !ours) || (err == -EEXIST && replace))
		err = make_root(&t, ifindex, replace ? NLM_F_REPLACE : NLM_F_EXCL);
	if (err)
		goto out;
	err = make_class(&t, ifindex, SOFTSAI_HTB, SOFTSAI_HTB | SOFTSAI_HTB_PORT, &opt, port->rate, port->rate,
			 port->frame);
	for (uint32_t queue = 0; queue < SOFTSAI_QUEUES && !err; queue++)
		err = make_queue(&t, ifindex, queue, port);
	if (err && !ours)
		rtnl_request(&t, message(RTM_DELQDISC, 0, ifindex, TC_H_ROOT, SOFTSAI_HTB));
out:
	rtnl_close(&t);
	return err;
}

int qdisc_ensure(uint32_t ifindex, const struct qdisc_port *port)
{
	return ensure(ifindex, port, false);
}

int qdisc_restore(uint32_t ifindex, const struct qdisc_port *port)
{
	return ensure(ifindex, port, true);
}

int qdisc_find(uint32_t ifindex, bool *ours)
{
	struct rtnl t = {};
	int err;

	err = rtnl_open(&t);
	if (err)
		return err;
	err = find_root(&t, ifindex, ours);
	rtnl_close(&t);
	return err;
}

int qdisc_remove(uint32_t ifindex)
{
	struct rtnl t = {};
	bool ours;
	int err;

	err = rtnl_open(&t);
	if (err)
		return err;
	err = find_root(&t, ifindex, &ours);
	if (!err && ours)
		err = rtnl_request(&t, message(RTM_DELQDISC, 0, ifindex, TC_H_ROOT, SOFTSAI_HTB));
	rtnl_close(&t);
	return err == -EEXIST || err == -ENODEV ? 0 : err;
}

int qdisc_none(uint32_t ifindex)
{
	struct nl_msg *msg = message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, ifindex, TC_H_ROOT, 0);
	struct rtnl t = {};
	int err;

	if (msg && nla_put_string(msg, TCA_KIND, "noqueue")) {
		nlmsg_free(msg);
		msg = NULL;
	}
	err = rtnl_open(&t);
	if (err) {
		nlmsg_free(msg);
		return err;
	}
	err = rtnl_request(&t, msg);
	rtnl_close(&t);
	return err;
}

static void read_stats(struct nlmsghdr *h, void *arg)
{
	struct nlattr *nest = nlmsg_find_attr(h, sizeof(struct tcmsg), TCA_STATS2), *all[TCA_STATS_MAX + 1];
	struct gnet_stats_basic basic = {};
	struct gnet_stats_queue queue = {};
	struct qdisc_stats *s = arg;

	if (!nest || nla_parse_nested(all, TCA_STATS_MAX, nest, NULL))
		return;
	if (all[TCA_STATS_BASIC])
		nla_memcpy(&basic, all[TCA_STATS_BASIC], sizeof(basic));
	if (all[TCA_STATS_QUEUE])
		nla_memcpy(&queue, all[TCA_STATS_QUEUE], sizeof(queue));
	*s = (struct qdisc_stats){
		.packets = basic.packets,
		.bytes = basic.bytes,
		.dropped = queue.drops,
		.backlog = queue.backlog,
	};
	if (all[TCA_STATS_PKT64]) /* beyond 32 bits */
		s->packets = nla_get_u64(all[TCA_STATS_PKT64]);
}

int qdisc_stats(uint32_t ifindex, uint32_t queue, struct qdisc_stats *stats)
{
	struct rtnl t = { .reply = read_stats, .arg = stats };
	int err;

	memset(stats, 0, sizeof(*stats));
	err = rtnl_open(&t);
	if (err)
		return err;
	err = rtnl_request(&t, message(RTM_GETTCLASS, RTNL_GET, ifindex, 0, SOFTSAI_CLASS(queue)));
	rtnl_close(&t);
	return err == -EINVAL ? -ENOENT : err; /* EINVAL: unknown qdisc */
}
