// SPDX-License-Identifier: Apache-2.0
#include "net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>

static int errno_of(int nl)
{
	switch (-nl) {
	case 0:
		return 0;
	case NLE_NODEV:
	case NLE_OBJ_NOTFOUND:
		return -ENODEV;
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_PERM:
		return -EPERM;
	default:
		return -EIO;
	}
}

/* A socket of its own for each call: the caller may change its network namespace. */
static int with_socket(struct nl_sock **sock)
{
	int err;

	*sock = nl_socket_alloc();
	if (!*sock)
		return -ENOMEM;
	err = nl_connect(*sock, NETLINK_ROUTE);
	if (err) {
		nl_socket_free(*sock);
		return errno_of(err);
	}
	return 0;
}

static void read_link(struct rtnl_link *from, struct net_link *to)
{
	unsigned int flags = rtnl_link_get_flags(from);
	uint8_t state = rtnl_link_get_operstate(from);

	memset(to, 0, sizeof(*to));
	to->ifindex = rtnl_link_get_ifindex(from);
	snprintf(to->name, sizeof(to->name), "%s", rtnl_link_get_name(from));
	to->admin_up = flags & IFF_UP;
	to->up = (flags & IFF_UP) && (state == IF_OPER_UP || (state == IF_OPER_UNKNOWN && flags & IFF_RUNNING));
	to->mtu = rtnl_link_get_mtu(from);
	to->rx_packets = rtnl_link_get_stat(from, RTNL_LINK_RX_PACKETS);
	to->rx_bytes = rtnl_link_get_stat(from, RTNL_LINK_RX_BYTES);
	to->rx_errors = rtnl_link_get_stat(from, RTNL_LINK_RX_ERRORS);
	to->rx_dropped = rtnl_link_get_stat(from, RTNL_LINK_RX_DROPPED);
	to->rx_multicast = rtnl_link_get_stat(from, RTNL_LINK_MULTICAST);
	to->tx_packets = rtnl_link_get_stat(from, RTNL_LINK_TX_PACKETS);
	to->tx_bytes = rtnl_link_get_stat(from, RTNL_LINK_TX_BYTES);
	to->tx_errors = rtnl_link_get_stat(from, RTNL_LINK_TX_ERRORS);
	to->tx_dropped = rtnl_link_get_stat(from, RTNL_LINK_TX_DROPPED);
}

int net_link(const char *name, uint32_t ifindex, struct net_link *link)
{
	struct rtnl_link *found = NULL;
	struct nl_sock *sock;
	int err;

	err = with_socket(&sock);
	if (err)
		return err;
	err = rtnl_link_get_kernel(sock, ifindex, name, &found);
	if (err) {
		err = errno_of(err);
	} else {
		read_link(found, link);
		rtnl_link_put(found);
	}
	nl_socket_free(sock);
	return err;
}

static int by_ifindex(const void *a, const void *b)
{
	const struct net_link *x = a, *y = b;

	return (x->ifindex > y->ifindex) - (x->ifindex < y->ifindex);
}

int net_links(struct net_link **links, int *n)
{
	struct nl_cache *cache;
	struct nl_object *o;
	struct nl_sock *sock;
	int err;

	*n = 0;
	err = with_socket(&sock);
	if (err)
		return err;
	err = rtnl_link_alloc_cache(sock, AF_UNSPEC, &cache);
	if (err) {
		err = errno_of(err);
		goto out;
	}
	*links = calloc(nl_cache_nitems(cache) + 1, sizeof(**links));
	if (!*links)
		err = -ENOMEM;
	for (o = nl_cache_get_first(cache); o && !err; o = nl_cache_get_next(o))
		if (!(rtnl_link_get_flags((struct rtnl_link *)o) & IFF_LOOPBACK))
			read_link((struct rtnl_link *)o, &(*links)[(*n)++]);
	if (!err)
		qsort(*links, *n, sizeof(**links), by_ifindex);
	nl_cache_free(cache);
out:
	nl_socket_free(sock);
	return err;
}

uint32_t net_speed(const char *name)
{
	struct ethtool_cmd cmd = { .cmd = ETHTOOL_GSET };
	struct ifreq request = { .ifr_data = (void *)&cmd };
	uint32_t speed = 0;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return 0;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (ioctl(fd, SIOCETHTOOL, &request) == 0)
		speed = ethtool_cmd_speed(&cmd);
	close(fd);
	return speed == (uint32_t)SPEED_UNKNOWN ? 0 : speed;
}

static FILE *open_sysctl(const char *name, const char *mode)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/net/%s", name);
	return fopen(path, mode);
}

int net_sysctl_get(const char *name, long *value)
{
	FILE *f = open_sysctl(name, "re");
	int err = 0;

	if (!f)
		return -errno;
	if (fscanf(f, "%li", value) != 1)
		err = -EBADMSG;
	fclose(f);
	return err;
}

int net_sysctl_set(const char *name, long value)
{
	FILE *f = open_sysctl(name, "we");
	int err = 0;

	if (!f)
		return -errno;
	if (fprintf(f, "%ld\n", value) < 0)
		err = -errno;
	if (fclose(f) && !err)
		err = -errno;
	return err;
}
