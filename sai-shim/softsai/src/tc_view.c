// SPDX-License-Identifier: Apache-2.0
#include "tc_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>

#include "bpf/queues.h"
#include "rtnl_request.h"

struct listing {
	void *list;
	size_t room, count;
};

static int by_ifindex(const void *a, const void *b)
{
	const struct tc_qdiscs *x = a, *y = b;

	return (x->ifindex > y->ifindex) - (x->ifindex < y->ifindex);
}

static void read_qdisc(struct nlmsghdr *h, void *arg)
{
	const struct tcmsg *tc = nlmsg_data(h);
	struct nlattr *kind = nlmsg_find_attr(h, sizeof(*tc), TCA_KIND);
	struct tc_qdiscs wanted = { .ifindex = tc->tcm_ifindex }, *q;
	struct listing *l = arg;

	q = bsearch(&wanted, l->list, l->count, sizeof(wanted), by_ifindex);
	if (!q || !kind)
		return;
	if (tc->tcm_parent == TC_H_ROOT) {
		q->root = tc->tcm_handle;
		nla_strlcpy(q->kind, kind, sizeof(q->kind));
	} else if (tc->tcm_parent == TC_H_CLSACT) {
		q->clsact = strcmp(nla_get_string(kind), "clsact") == 0;
	} else if (strcmp(nla_get_string(kind), "bfifo") == 0) {
		for (uint32_t i = 0; i < SOFTSAI_QUEUES; i++)
			if (tc->tcm_parent == SOFTSAI_CLASS(i))
				q->fifos |= 1U << i;
	}
}

static void read_filter(struct nlmsghdr *h, void *arg)
{
	const struct tcmsg *tc = nlmsg_data(h);
	struct nlattr *kind = nlmsg_find_attr(h, sizeof(*tc), TCA_KIND);
	struct nlattr *chain = nlmsg_find_attr(h, sizeof(*tc), TCA_CHAIN);
	struct nlattr *options = nlmsg_find_attr(h, sizeof(*tc), TCA_OPTIONS), *all[TCA_BPF_MAX + 1] = {};
	struct listing *l = arg;
	struct tc_filter *f;

	/* Without a handle it is the head of a list; other chains are met by a jump alone. */
	if (!tc->tcm_handle || !kind || (chain && nla_get_u32(chain)) || l->count++ >= l->room)
		return;
	f = (struct tc_filter *)l->list + l->count - 1;
	*f = (struct tc_filter){ .preference = TC_H_MAJ(tc->tcm_info) >> 16, .handle = tc->tcm_handle };
	nla_strlcpy(f->kind, kind, sizeof(f->kind));
	if (strcmp(f->kind, "bpf") != 0 || !options || nla_parse_nested(all, TCA_BPF_MAX, options, NULL))
		return;
	if (all[TCA_BPF_ID])
		f->program = nla_get_u32(all[TCA_BPF_ID]);
	if (all[TCA_BPF_NAME])
		nla_strlcpy(f->name, all[TCA_BPF_NAME], sizeof(f->name));
}

static int dump(int type, const struct tcmsg *head, void (*read)(struct nlmsghdr *, void *), struct listing *l)
{
	struct nl_msg *msg = nlmsg_alloc_simple(type, NLM_F_REQUEST | NLM_F_DUMP);
	struct rtnl t = { .reply = read, .arg = l };
	int err = rtnl_open(&t);

	if (msg && nlmsg_append(msg, (void *)head, sizeof(*head), NLMSG_ALIGNTO)) {
		nlmsg_free(msg);
		msg = NULL;
	}
	if (err) {
		nlmsg_free(msg);
		return err;
	}
	err = rtnl_request(&t, msg);
	rtnl_close(&t);
	return err;
}

int tc_view_qdiscs(struct tc_qdiscs *netdevs, size_t n)
{
	struct listing l = { .list = netdevs, .count = n };
	struct tcmsg head = {};

	return dump(RTM_GETQDISC, &head, read_qdisc, &l);
}

int tc_view_filters(uint32_t ifindex, enum bpf_tc_attach_point point, struct tc_filter *filters, size_t room, size_t *n)
{
	uint32_t minor = point == BPF_TC_INGRESS ? TC_H_MIN_INGRESS : TC_H_MIN_EGRESS;
	struct tcmsg head = { .tcm_ifindex = ifindex, .tcm_parent = TC_H_MAKE(TC_H_CLSACT, minor) };
	struct listing l = { .list = filters, .room = room };
	int err = dump(RTM_GETTFILTER, &head, read_filter, &l);

	*n = l.count;
	return err;
}
