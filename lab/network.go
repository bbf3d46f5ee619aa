// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strings"

	"sluice/orchagent-ext/testbed/fabric"
)

// image is the container of Sluice: only its nodes, and those that share their network, are
// in the lab of namespaces.
const image = "docker-sluice"

// forwards is the setting by which a node is a router.
const forwards = "net.ipv6.conf.all.forwarding"

// A network is the topology as namespaces.
type network struct {
	*topology
	fabric     *fabric.Fabric
	nodes      map[string]*fabric.Node
	interfaces map[string]*fabric.Interface // by NODE:INTERFACE
	// management: has a link to each node, in place of containerlab's bridge
	management *fabric.Node
}

// runs reports whether a node is one of the namespaces'.
func (n node) runs() bool { return strings.HasPrefix(n.Image, image+":") && n.NetworkMode == "" }

// build makes the namespaces, the links between them, addresses and routes.
func (t *topology) build(f *fabric.Fabric) (*network, error) {
	w := &network{topology: t, fabric: f, nodes: map[string]*fabric.Node{}, interfaces: map[string]*fabric.Interface{}}
	var err error
	if w.management, err = f.Node("management"); err != nil {
		return nil, err
	}
	for _, name := range t.names() {
		if n := t.Topology.Nodes[name]; n.runs() {
			if err := w.add(name, n); err != nil {
				return nil, err
			}
		}
	}
	for _, l := range t.Topology.Links {
		if err := w.link(l.Endpoints[0], l.Endpoints[1]); err != nil {
			return nil, err
		}
	}
	for _, name := range t.names() {
		if n := t.Topology.Nodes[name]; n.runs() {
			if err := w.commands(w.nodes[name], n.Exec); err != nil {
				return nil, fmt.Errorf("node %s: %w", name, err)
			}
		}
	}
	for _, i := range w.interfaces {
		if err := introduce(i); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// add makes a node, with its link to the management network.
func (w *network) add(name string, n node) (err error) {
	create := w.fabric.Node
	if n.Sysctls[forwards] == "1" {
		create = w.fabric.Router
	}
	if w.nodes[name], err = create(name); err != nil {
		return err
	}
	w.nodes[name].Hostname = name
	for setting, value := range n.Sysctls {
		if err := w.nodes[name].Sysctl(setting, value); err != nil {
			return err
		}
	}
	if n.Management == "" {
		return nil
	}
	// Both were parsed by check.
	at, subnet := netip.MustParseAddr(n.Management), netip.MustParsePrefix(w.Management.Subnet)
	near, far, err := w.fabric.Link(w.management, name, w.nodes[name], "eth0")
	if err != nil {
		return err
	}
	if err := near.Address(netip.PrefixFrom(subnet.Masked().Addr().Next(), 32)); err != nil {
		return err
	}
	if err := far.Address(netip.PrefixFrom(at, subnet.Bits())); err != nil {
		return err
	}
	return w.management.Route(netip.PrefixFrom(at, 32), fabric.Hop{Out: near})
}

// link makes a link between two nodes, where both are there.
func (w *network) link(a, b string) (err error) {
	aNode, aPort, _ := strings.Cut(a, ":")
	bNode, bPort, _ := strings.Cut(b, ":")
	if w.nodes[aNode] == nil || w.nodes[bNode] == nil {
		return nil
	}
	w.interfaces[a], w.interfaces[b], err = w.fabric.Link(w.nodes[aNode], aPort, w.nodes[bNode], bPort)
	return err
}

// commands runs commands in a node, one after the other.
func (w *network) commands(at *fabric.Node, lines []string) error {
	for _, line := range lines {
		var out strings.Builder
		words := strings.Fields(line)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Stdout, cmd.Stderr = &out, &out
		p, err := at.Start(cmd)
		if err == nil {
			err = p.Wait()
		}
		if err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, strings.TrimSpace(out.String()))
		}
	}
	return nil
}

// introduce writes the addresses of this end of a link as permanent neighbor entries at
// the other: links of namespaces run without neighbor discovery.
func introduce(i *fabric.Interface) error {
	var found []net.Addr
	err := i.Node.Do(func() error {
		device, err := net.InterfaceByIndex(i.Index)
		if err == nil {
			found, err = device.Addrs()
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read the addresses of %s of %s: %w", i.Name, i.Node.Name, err)
	}
	for _, a := range found {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil {
			return err
		}
		if err := i.Peer().Neighbor(prefix.Addr(), i.MAC); err != nil {
			return err
		}
	}
	return nil
}
