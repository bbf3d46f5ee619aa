// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/site"
)

// uplinks between leaf and spine.
const uplinks = 4

// A lab is two guests at the ends of leaf == uplinks == spine.
type lab struct {
	*fabric.LeafSpine
	a, b    *end
	leaf    *site.Site // while a scenario has one
	spine   *site.Site
	report  report
	fabric  *fabric.Fabric
	bin     string
	folder  string // for databases; it is removed
	out     string
	started int                 // sites
	bare    []*fabric.Interface // ports that have the queues of a switch
}

// newLab boots the guests. Close it in the end, after an error, too.
func newLab(ctx context.Context, bin, out string, timeout time.Duration) (l *lab, err error) {
	l = &lab{bin: bin, out: out}
	began := time.Now()
	i, err := makeImage(ctx, out)
	if err != nil {
		return l, err
	}
	fmt.Printf("kernel %s: image made in %.0f s\n", i.Release, time.Since(began).Seconds())
	if l.folder, err = os.MkdirTemp("", "sluice-rdma-"); err != nil {
		return l, err
	}
	if l.fabric, err = fabric.New(); err != nil {
		return l, err
	}
	if l.LeafSpine, err = l.fabric.LeafSpine(uplinks); err != nil {
		return l, err
	}
	for _, n := range []*fabric.Node{l.A.Node, l.Leaf, l.Spine, l.B.Node} {
		if err := n.ReceiveInOrder(); err != nil {
			return l, err
		}
	}
	if err := buffer(true, append(l.ports(), l.A, l.B)...); err != nil {
		return l, err
	}
	began = time.Now()
	if l.a, err = attachGuest(l.A, fabric.HostA, fabric.HostA4, i, out); err != nil {
		return l, err
	}
	if l.b, err = attachGuest(l.B, fabric.HostB, fabric.HostB4, i, out); err != nil {
		return l, err
	}
	for _, e := range []*end{l.a, l.b} {
		if err := e.Await(timeout); err != nil {
			return l, err
		}
		if err := e.configure(ctx); err != nil {
			return l, err
		}
	}
	fmt.Printf("2 guests booted in %.0f s\n", time.Since(began).Seconds())
	return l, nil
}

// ports are those of leaf and spine.
func (l *lab) ports() []*fabric.Interface {
	all := []*fabric.Interface{l.LeafA, l.SpineB}
	for _, u := range l.Uplinks {
		all = append(all, u, u.Peer())
	}
	return all
}

// startLeaf starts sluiced at the leaf: port 0 is to a host, the others are of the fabric.
func (l *lab) startLeaf(ctx context.Context, profile ...string) (err error) {
	roles := map[*fabric.Interface]string{l.LeafA: "edge"}
	for _, u := range l.Uplinks {
		roles[u] = "fabric"
	}
	l.leaf, err = l.start(ctx, l.Leaf, "leaf", roles, profile)
	return err
}

// startSpine is the same of the spine.
func (l *lab) startSpine(ctx context.Context, profile ...string) (err error) {
	roles := map[*fabric.Interface]string{l.SpineB: "edge"}
	for _, u := range l.Uplinks {
		roles[u.Peer()] = "fabric"
	}
	l.spine, err = l.start(ctx, l.Spine, "spine", roles, profile)
	return err
}

// start starts sluiced at a switch. Its ports keep the queues of the lab, unless the profile has some.
func (l *lab) start(ctx context.Context, n *fabric.Node, name string, roles map[*fabric.Interface]string, profile []string) (*site.Site, error) {
	if slices.ContainsFunc(profile, func(pair string) bool { return strings.HasPrefix(pair, "SLUICE_QUEUES=") }) {
		ports := slices.Collect(maps.Keys(roles))
		l.bare = append(l.bare, ports...)
		if err := buffer(false, ports...); err != nil {
			return nil, err
		}
	}
	return site.Start(ctx, n, l.files(name), roles, profile...)
}

func (l *lab) files(name string) site.Files {
	l.started++
	return site.Files{Programs: l.bin, Folder: filepath.Join(l.folder, fmt.Sprint(name, l.started)), Log: filepath.Join(l.out, name+".log")}
}

// stop ends the switches of a scenario.
func (l *lab) stop() (err error) {
	for _, s := range []**site.Site{&l.leaf, &l.spine} {
		if *s != nil {
			err = errors.Join(err, (*s).Close())
			*s = nil
		}
	}
	err = errors.Join(err, buffer(true, l.bare...))
	l.bare = nil
	return err
}

func (l *lab) close() error {
	err := l.stop()
	for _, e := range []*end{l.a, l.b} {
		if e != nil && e.Guest != nil {
			e.Close()
		}
	}
	if l.fabric != nil {
		err = errors.Join(err, l.fabric.Close())
	}
	if l.folder != "" {
		err = errors.Join(err, os.RemoveAll(l.folder))
	}
	return err
}

// labels switches flow labels on at the leaf, and waits until they are written.
func (l *lab) labels(ctx context.Context) error {
	err := l.leaf.Set(ctx, "SLUICE_FLOW_LABEL", "global", "admin_state", "enabled", "manage_switch_hash", "true")
	if err == nil {
		err = l.leaf.Await(ctx, "SLUICE_STATE", "global", "flow_label", "active")
	}
	return err
}

// observe has every RoCEv2 packet copied to the CPU of a switch, so that its rows of flows
// follow each. The collector of its records is absent.
func observe(ctx context.Context, s *site.Site) error {
	return errors.Join(
		s.Set(ctx, "SLUICE", "global", "cpu_rate", "1000000", "cpu_burst", "1000000"),
		s.Set(ctx, "SLUICE_IPFIX", "global", "admin_state", "enabled", "sampling_rate", "1"),
		s.Set(ctx, "SLUICE_IPFIX_COLLECTOR", "none", "address", "127.0.0.1", "port", "9"))
}

// counters are the adapter's: those of hw_counters, by name.
func (e *end) counters(ctx context.Context) (map[string]int, error) {
	out, err := e.Run(ctx, "cd /sys/class/infiniband/rxe0/ports/1/hw_counters && grep . *")
	if err != nil {
		return nil, err
	}
	all := map[string]int{}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if all[name], err = strconv.Atoi(value); err != nil {
			return nil, fmt.Errorf("hw_counters of %s: %w", e.Name, err)
		}
	}
	return all, nil
}

// watched switches labels on, and has every packet of the leaf followed.
func (l *lab) watched(ctx context.Context) error {
	return errors.Join(l.labels(ctx), observe(ctx, l.leaf), l.leaf.Await(ctx, "SLUICE_CAPABILITY", "switch", "export_state", "active"))
}

// since returns the adapter's counters, less those of before.
func (e *end) since(ctx context.Context, before map[string]int) (map[string]int, error) {
	now, err := e.counters(ctx)
	for name := range now {
		now[name] -= before[name]
	}
	return now, err
}
