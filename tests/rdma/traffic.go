// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A transfer is a program of which a server runs in guest B and a client in guest A.
type transfer struct {
	name    string
	program string
	args    string // of both
	pairs   int    // queue pairs; 0: one
	cm      bool   // set up by RDMA-CM, else by TCP
	four    bool   // over IPv4, else IPv6
	silent  bool   // the receiver is silent: source queue pairs stay unknown
}

// options are those of every perftest. 4.096 µs << 21 is 9 seconds, the timeout of queue pairs: the
// timers of soft-RoCE go off early on a busy machine, and each would send packets again. Without -F
// a clock that it finds uneven is an error.
const options = "-u 21 -F"

// rejected is what a client says whose server does not listen yet for the second connection of
// RDMA-CM: perftest does not wait. Such a transfer is begun again.
const rejected, attempts = "RDMA_CM_EVENT_REJECTED", 5

// gidIndex finds the guest's GID of an address family, as the index that programs take.
func (e *end) gidIndex(ctx context.Context, four bool) (int, error) {
	want := e.addr.Addr()
	if four {
		want = e.addr4.Addr()
	}
	a := want.As16()
	var groups []string
	for i := 0; i < len(a); i += 2 {
		groups = append(groups, fmt.Sprintf("%02x%02x", a[i], a[i+1]))
	}
	out, err := e.Run(ctx, "cd /sys/class/infiniband/rxe0/ports/1/gids && for i in 0 1 2 3 4 5 6 7; do echo $(cat $i) $i; done | grep ^%s", strings.Join(groups, ":"))
	if err != nil {
		return 0, err
	}
	_, index, _ := strings.Cut(strings.TrimSpace(out), " ")
	return strconv.Atoi(index)
}

// A queuePair is the two numbers of a connection.
type queuePair struct{ a, b uint32 }

// queuePairLine is the line of perftest about each end of a connection.
var queuePairLine = regexp.MustCompile(`(local|remote) address:.*QPN 0x([0-9a-f]+)`)

// play runs a transfer and returns its queue pairs; that of rping is empty.
func (l *lab) play(ctx context.Context, t transfer) (pairs []queuePair, err error) {
	var out string
	for range attempts {
		var client string
		if client, err = l.serve(ctx, t); err != nil {
			return nil, err
		}
		if out, err = l.a.Run(ctx, "%s", client); !strings.Contains(out, rejected) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	if _, err := l.b.Run(ctx, "while pidof %s >/dev/null; do sleep 0.1; done", t.program); err != nil {
		return nil, err
	}
	var local, remote []uint32
	for _, m := range queuePairLine.FindAllStringSubmatch(out, -1) {
		qp, err := strconv.ParseUint(m[2], 16, 24)
		if err != nil {
			return nil, err
		}
		if m[1] == "local" {
			local = append(local, uint32(qp))
		} else {
			remote = append(remote, uint32(qp))
		}
	}
	if len(local) != len(remote) || len(local) == 0 && t.program != "rping" {
		return nil, fmt.Errorf("%s printed %d local queue pairs and %d remote ones: %s", t.program, len(local), len(remote), out)
	}
	for i := range local {
		pairs = append(pairs, queuePair{local[i], remote[i]})
	}
	return pairs, nil
}

// serve starts the server of a transfer, waits until it listens, and returns the client's command.
func (l *lab) serve(ctx context.Context, t transfer) (client string, err error) {
	server, client := t.commands(l)
	if t.program != "rping" {
		for side, e := range map[*string]*end{&server: l.b, &client: l.a} {
			gid, err := e.gidIndex(ctx, t.four)
			if err != nil {
				return "", err
			}
			*side = fmt.Sprintf("%s -d rxe0 -x %d %s", t.program, gid, *side)
		}
	}
	listens := "grep -q ':4853 .* 0A ' /proc/net/tcp /proc/net/tcp6" // 18515, perftest's, LISTEN
	if t.cm {
		listens = "/usr/bin/rdma res show cm_id | grep -q LISTEN"
	}
	_, err = l.b.Run(ctx, "killall -9 %s 2>/dev/null; while pidof %s >/dev/null; do sleep 0.1; done; %s >/tmp/server 2>&1 & until %s; do sleep 0.1; done", t.program, t.program, server, listens)
	return client, err
}

// commands are those of the server and the client, without the device of perftest.
func (t *transfer) commands(l *lab) (server, client string) {
	to, to4 := l.b.addr.Addr(), l.b.addr4.Addr()
	switch {
	case t.program == "rping" && t.four:
		return fmt.Sprintf("rping -s -a %s %s", to4, t.args), fmt.Sprintf("rping -c -a %s %s", to4, t.args)
	case t.program == "rping":
		return fmt.Sprintf("rping -s -a %s %s", to, t.args), fmt.Sprintf("rping -c -a %s %s", to, t.args)
	}
	server = options + " " + t.args
	if t.pairs != 0 {
		server += fmt.Sprint(" -q ", t.pairs)
	}
	if t.cm {
		server += " -R"
	}
	// All that the ends exchange to set up queue pairs goes over IPv4 in any case.
	return server, fmt.Sprint(server, " ", to4)
}
