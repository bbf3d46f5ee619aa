// SPDX-License-Identifier: Apache-2.0
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>

#include "net.h"
#include "qdisc.h"

#define LONGEST 65521 /* MTU of a TAP at most */
#define SEND_ROOM (16 << 20)

static int open_queue(struct ifreq *request)
{
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	request->ifr_flags = IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE;
	if (ioctl(fd, TUNSETIFF, request)) { /* the first one gives the name its number */
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static int set(int sock, struct ifreq *request, unsigned long what, int value)
{
	request->ifr_ifru.ifru_ivalue = value; /* MTU, length of queues: in the same place */
	return ioctl(sock, what, request) ? -errno : 0;
}

/* Long queues, no addresses, no neighbors; up. */
static int configure(struct tap *t, struct ifreq *request, uint32_t packets)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;
	char name[64];

	if (sock < 0)
		return -errno;
	err = ioctl(sock, SIOCGIFINDEX, request) ? -errno : 0;
	t->ifindex = request->ifr_ifindex;
	if (!err)
		err = set(sock, request, SIOCSIFTXQLEN, packets);
	if (!err)
		err = set(sock, request, SIOCSIFMTU, LONGEST);
	/* Where /proc/sys cannot be written the kernel's own packets come into a hold queue, which drops them. */
	snprintf(name, sizeof(name), "ipv6/conf/%s/disable_ipv6", request->ifr_name);
	net_sysctl_set(name, 1);
	if (!err) {
		request->ifr_flags = IFF_UP | IFF_NOARP;
		err = ioctl(sock, SIOCSIFFLAGS, request) ? -errno : 0;
	}
	if (!err)
		err = qdisc_none(t->ifindex);
	close(sock);
	return err;
}

int tap_up(const struct tap *t)
{
	struct ifreq request = { .ifr_ifindex = t->ifindex };

	if (ioctl(t->sender, SIOCGIFNAME, &request))
		return -errno;
	request.ifr_flags = IFF_UP | IFF_NOARP;
	return ioctl(t->sender, SIOCSIFFLAGS, &request) ? -errno : 0;
}

static int open_sender(struct tap *t)
{
	int room = SEND_ROOM;
	socklen_t size = sizeof(t->cookie);

	t->sender = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (t->sender < 0)
		return -errno;
	setsockopt(t->sender, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	return getsockopt(t->sender, SOL_SOCKET, SO_COOKIE, &t->cookie, &size) ? -errno : 0;
}

#define HIGH 4096 /* descriptors of this process are below */

static int open_guard(struct tap *t)
{
	struct ifreq request = { .ifr_name = TAP_NETDEV "%d" };
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), sock = -1, err = 0;

	if (fd < 0)
		return -errno;
	request.ifr_flags = IFF_TAP | IFF_NO_PI;
	if (!ioctl(fd, TUNSETIFF, &request))
		sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0 || ioctl(sock, SIOCGIFINDEX, &request))
		err = -errno;
	if (sock >= 0)
		close(sock);
	if (err) {
		close(fd);
		return err;
	}
	t->guard_ifindex = request.ifr_ifindex;
	t->guard = fcntl(fd, F_DUPFD_CLOEXEC, HIGH);
	if (t->guard < 0) /* more than the process may have */
		t->guard = fd;
	else
		close(fd);
	return 0;
}

int tap_open(struct tap *t, uint32_t count, uint32_t packets, int program, const char **what)
{
	struct ifreq request = { .ifr_name = TAP_NETDEV "%d" };
	int err = 0;

	*what = "/dev/net/tun";
	*t = (struct tap){ .sender = -1, .guard = -1, .queues = calloc(count, sizeof(*t->queues)) };
	if (!t->queues)
		return -ENOMEM;
	for (; t->count < count; t->count++) {
		int fd = open_queue(&request);

		if (fd < 0) {
			err = fd;
			goto fail;
		}
		t->queues[t->count] = fd;
	}
	err = open_guard(t);
	if (err)
		goto fail;
	*what = "set up the TAP";
	err = configure(t, &request, packets);
	if (!err && ioctl(t->queues[0], TUNSETSTEERINGEBPF, &program))
		err = -errno;
	if (err)
		goto fail;
	*what = "packet socket";
	err = open_sender(t);
	if (!err)
		return 0;
fail:
	tap_close(t);
	return err;
}

void tap_close(struct tap *t)
{
	if (t->guard >= 0)
		close(t->guard);
	for (uint32_t i = 0; i < t->count; i++)
		close(t->queues[i]);
	if (t->sender >= 0)
		close(t->sender);
	free(t->queues);
	*t = (struct tap){ .sender = -1, .guard = -1 };
}

int tap_read(const struct tap *t, uint32_t queue, void *frame, uint32_t room)
{
	ssize_t n = read(t->queues[queue], frame, room);

	return n < 0 ? -errno : (int)n;
}

int tap_send(const struct tap *t, uint32_t ifindex, const void *frame, uint32_t length, uint32_t mark)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = ifindex, .sll_halen = 6 };
	struct iovec data = { .iov_base = (void *)frame, .iov_len = length };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(mark))];
	} control = {};
	struct msghdr msg = { .msg_name = &to,
			      .msg_namelen = sizeof(to),
			      .msg_iov = &data,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };

	control.head =
		(struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(mark)), .cmsg_level = SOL_SOCKET, .cmsg_type = SO_MARK };
	memcpy(CMSG_DATA(&control.head), &mark, sizeof(mark));
	return sendmsg(t->sender, &msg, 0) < 0 ? -errno : 0;
}

/* The flags of a netdev; 0: it is gone. */
static int flags_of(const struct tap *t, uint32_t ifindex)
{
	struct ifreq request = { .ifr_ifindex = ifindex };

	if (ioctl(t->sender, SIOCGIFNAME, &request) || ioctl(t->sender, SIOCGIFFLAGS, &request))
		return 0;
	return request.ifr_flags;
}

bool tap_port_runs(const struct tap *t, uint32_t ifindex)
{
	return flags_of(t, ifindex) & IFF_RUNNING;
}

bool tap_is_up(const struct tap *t)
{
	return flags_of(t, t->ifindex) & IFF_UP;
}
