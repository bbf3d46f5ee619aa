// SPDX-License-Identifier: Apache-2.0

package nexthops

import (
	"errors"
	"fmt"
	"sync"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// News reports that the results of [Read] may have changed: a route, a next-hop object, a
// bucket, a link or a neighbor.
type News struct {
	socket  *nl.NetlinkSocket
	changed chan struct{}
	done    sync.WaitGroup
}

// Subscribe opens the news of the network namespace of the calling thread.
func Subscribe() (*News, error) {
	socket, err := nl.Subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV6_ROUTE, unix.RTNLGRP_LINK, unix.RTNLGRP_NEIGH, unix.RTNLGRP_NEXTHOP)
	if err != nil {
		return nil, fmt.Errorf("listen to news of next hops: %w", err)
	}
	n := &News{socket: socket, changed: make(chan struct{}, 1)}
	n.done.Go(n.receive)
	return n, nil
}

// receive reads events until the socket is closed. A full socket counts as an event,
// since events were lost then.
func (n *News) receive() {
	for {
		_, _, err := n.socket.Receive()
		if err != nil && !errors.Is(err, unix.ENOBUFS) && !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return
		}
		select { // also where some were lost: all is read again
		case n.changed <- struct{}{}:
		default: // it is told already
		}
	}
}

// Changed can be read from when there is news.
func (n *News) Changed() <-chan struct{} { return n.changed }

// Close ends the news.
func (n *News) Close() {
	n.socket.Close()
	n.done.Wait()
}
