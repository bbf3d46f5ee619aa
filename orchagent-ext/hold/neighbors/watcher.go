// SPDX-License-Identifier: Apache-2.0

package neighbors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/wire/roce"
)

// Times of the watcher.
const (
	// the kernel reports each step of a resolution, and of a link that comes up
	settleLeast = 2 * time.Millisecond
	settleMost  = 64 * time.Millisecond
	look        = 30 * time.Second // in case that the kernel's news were lost
	solicitGap  = time.Second      // between two questions on a link
)

// Watcher follows the neighbors of ports. Its methods may be called from any goroutine; they wait
// for nothing.
type Watcher struct {
	log     *slog.Logger
	changed chan struct{}
	wanted  chan struct{}

	configured atomic.Pointer[map[string]netip.Addr] // of SetPorts; an immutable map
	known      atomic.Pointer[known]                 // published by Run; nil before the first

	solicited atomic.Uint64
}

// known are ports as they were read. It is immutable.
type known struct {
	configured map[string]netip.Addr // for which
	ports      map[string]Port
}

// New returns a watcher without ports.
func New(log *slog.Logger) *Watcher {
	w := &Watcher{log: log, changed: make(chan struct{}, 1), wanted: make(chan struct{}, 1)}
	w.configured.Store(&map[string]netip.Addr{})
	return w
}

// SetPorts replaces the netdevs to follow, each with the link-local address of its
// configured neighbor or the zero value. Run reads them within milliseconds.
func (w *Watcher) SetPorts(configured map[string]netip.Addr) {
	if maps.Equal(*w.configured.Load(), configured) {
		return
	}
	configured = maps.Clone(configured)
	w.configured.Store(&configured)
	notify(w.wanted)
}

// Changed returns a channel that receives after a change of the results of Ports.
func (w *Watcher) Changed() <-chan struct{} { return w.changed }

// Ports returns the state of each port, as an immutable map. It is current once Run has read the
// ports of the last SetPorts; until then those of before are in it.
func (w *Watcher) Ports() (ports map[string]Port, current bool) {
	is := w.known.Load()
	if is == nil {
		return nil, false
	}
	return is.ports, maps.Equal(is.configured, *w.configured.Load())
}

// Solicited counts the questions for a router that were sent.
func (w *Watcher) Solicited() uint64 { return w.solicited.Load() }

// notify makes a channel of one element readable.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is notified already
	}
}

// Run follows the ports, in the network namespace of the calling thread, until the
// context ends. Requests that the kernel refuses are logged and tried again.
func (w *Watcher) Run(ctx context.Context) error {
	news, err := nl.Subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_NEIGH, unix.RTNLGRP_LINK, unix.RTNLGRP_IPV6_IFADDR)
	if err != nil {
		return fmt.Errorf("listen to news of neighbors: %w", err)
	}
	heard := make(chan struct{}, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			_, _, err := news.Receive()
			if errors.Is(err, unix.EBADF) || ctx.Err() != nil {
				return
			}
			notify(heard) // also where some were lost: all is read again
			if err != nil && !errors.Is(err, unix.ENOBUFS) && !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	defer func() { <-done }()
	defer news.Close()
	handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("open netlink: %w", err)
	}
	defer handle.Close()
	w.follow(ctx, handle, heard)
	return nil
}

// settle returns how long to wait for further reports of the kernel before all is read, from how
// long that was before and the time since: a link that comes up is known at once, and in a storm
// of reports all is read a few times a second.
func settle(before, since time.Duration) time.Duration {
	if since > 4*before {
		return settleLeast
	}
	return min(2*before, settleMost)
}

// follow reads the kernel's state at each event, in intervals that grow while events are
// many, and asks for routers where they are unknown.
func (w *Watcher) follow(ctx context.Context, handle *netlink.Handle, heard <-chan struct{}) {
	asked := map[string]time.Time{}
	failed := ""
	settling, last := settleLeast, time.Time{}
	for {
		missing, err := w.read(handle)
		if err == nil {
			failed = ""
		} else if failed != err.Error() {
			failed = err.Error()
			w.log.Warn("neighbors cannot be read; trying again", "error", err)
		}
		wait := look
		for name, p := range missing {
			if time.Since(asked[name]) >= solicitGap {
				asked[name] = time.Now()
				if err := w.solicit(handle, p); err != nil {
					w.log.Debug("a router cannot be asked for", "port", name, "error", err)
				} else {
					w.solicited.Add(1)
				}
			}
			wait = solicitGap
		}
		if err != nil {
			wait = solicitGap
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-w.wanted:
		case <-heard:
			settling = settle(settling, time.Since(last))
			clock.Sleep(ctx, settling)
			last = time.Now()
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// read reads the kernel's links and neighbors, and returns the ports that could have a
// router whose address is unknown.
func (w *Watcher) read(handle *netlink.Handle) (missing map[string]Port, err error) {
	configured := *w.configured.Load()
	ports, missing := make(map[string]Port, len(configured)), map[string]Port{}
	var errs []error
	for name, neighbor := range configured {
		p, entries, err := readPort(handle, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("port %s: %w", name, err))
			continue
		}
		p = p.choose(entries, neighbor)
		ports[name] = p
		if p.Why == noRouter {
			missing[name] = p
		}
	}
	before := w.known.Swap(&known{configured, ports})
	if before == nil || !maps.Equal(before.configured, configured) || !maps.Equal(before.ports, ports) {
		notify(w.changed)
	}
	return missing, errors.Join(errs...)
}

// readPort reads a port's link, addresses and neighbors. A missing link is a port without
// an index rather than an error.
func readPort(handle *netlink.Handle, name string) (p Port, entries []entry, err error) {
	link, err := handle.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return p, nil, nil
	}
	if err != nil {
		return p, nil, err
	}
	p.Index = uint32(link.Attrs().Index)
	copy(p.MAC[:], link.Attrs().HardwareAddr)
	addrs, err := handle.AddrList(link, unix.AF_INET6)
	if err != nil {
		return p, nil, fmt.Errorf("list addresses: %w", err)
	}
	for _, a := range addrs {
		addr, _ := netip.AddrFromSlice(a.IP)
		if addr.IsLinkLocalUnicast() && a.Flags&(unix.IFA_F_TENTATIVE|unix.IFA_F_DADFAILED) == 0 && !p.Self.IsValid() {
			p.Self = addr
		}
	}
	known, err := handle.NeighList(link.Attrs().Index, unix.AF_INET6)
	if err != nil {
		return p, nil, fmt.Errorf("list neighbors: %w", err)
	}
	for _, n := range known {
		e := entry{router: n.Flags&netlink.NTF_ROUTER != 0}
		e.addr, _ = netip.AddrFromSlice(n.IP)
		e.usable = n.State&(netlink.NUD_REACHABLE|netlink.NUD_STALE|netlink.NUD_DELAY|netlink.NUD_PROBE|netlink.NUD_PERMANENT) != 0
		if len(n.HardwareAddr) == len(roce.MAC{}) {
			e.mac = roce.MAC(n.HardwareAddr)
		}
		entries = append(entries, e)
	}
	return p, entries, nil
}
