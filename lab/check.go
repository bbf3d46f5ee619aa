// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Patterns of containerlab's schema (clab.schema.json, draft 7) for the fields in use.
var (
	labName     = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9-._]*$`)
	nodeName    = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9-._|]*$`)
	networkMode = regexp.MustCompile(`^((host)|(container:\S+)|(none))$`)
	portMap     = regexp.MustCompile(`^[0-9]{1,5}:[0-9]{1,5}(/(tcp|udp|sctp))?$`)
)

// interfaceLength is IFNAMSIZ of linux/if.h without the closing NUL, octets.
const interfaceLength = 15

// check judges a topology by containerlab's schema and rules, and by the needs of the
// namespaces. The error names every fault.
func (t *topology) check() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !labName.MatchString(t.Name) {
		wrong("name %q: letters, digits, - . _ are allowed", t.Name)
	}
	subnet, err := netip.ParsePrefix(t.Management.Subnet)
	if err != nil {
		wrong("mgmt: ipv4-subnet: %w", err)
	}
	addresses := map[string]string{}
	for _, name := range t.names() {
		n := t.Topology.Nodes[name]
		for _, err := range t.checkNode(name, n) {
			wrong("node %s: %w", name, err)
		}
		if n.Management == "" {
			continue
		}
		if a, err := netip.ParseAddr(n.Management); err != nil || !a.Is4() || !subnet.Contains(a) {
			wrong("node %s: mgmt-ipv4 %q is no address of ipv4-subnet %s", name, n.Management, subnet)
		}
		if other, ok := addresses[n.Management]; ok {
			wrong("nodes %s and %s have the same mgmt-ipv4", other, name)
		}
		addresses[n.Management] = name
	}
	for _, err := range t.checkLinks() {
		wrong("links: %w", err)
	}
	return errors.Join(errs...)
}

// checkNode returns the faults of a node: its kind, and the paths of its binds.
func (t *topology) checkNode(name string, n node) (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !nodeName.MatchString(name) {
		wrong("a name has letters, digits, - . _ |")
	}
	if n.Kind != "linux" {
		wrong("kind %q: the namespaces are of kind linux", n.Kind)
	}
	if n.Image == "" {
		wrong("no image")
	}
	if _, ok := t.Topology.Groups[n.Group]; n.Group != "" && !ok {
		wrong("no group %q", n.Group)
	}
	if n.NetworkMode != "" && !networkMode.MatchString(n.NetworkMode) {
		wrong("network-mode %q: host, container:NODE and none are allowed", n.NetworkMode)
	}
	if other, ok := n.shares(); ok {
		if _, there := t.Topology.Nodes[other]; !there {
			wrong("network-mode: no node %q", other)
		}
	}
	for _, p := range n.Ports {
		if !portMap.MatchString(p) {
			wrong("port %q: HOST:CONTAINER is allowed, or with /tcp, /udp, /sctp behind", p)
		}
	}
	seen := map[string]bool{}
	for _, b := range n.Binds {
		from, to := bound(b)
		if seen[to] {
			wrong("%s is bound twice", to)
		}
		seen[to] = true
		// Files that make writes may still be missing.
		if _, err := os.Stat(filepath.Join(t.folder, from)); err != nil && !strings.HasPrefix(from, "../build/") {
			wrong("bind: %w", err)
		}
	}
	for _, line := range append([]string{n.Cmd}, n.Exec...) {
		if strings.ContainsAny(line, "\"'\\$&;<>*?`") {
			wrong("%q: commands are words without quotes, run without a shell", line)
		}
	}
	return errs
}

// checkLinks returns the faults of links: their ends must be interfaces of two nodes with
// networks of their own, each used once; eth0 is that of management.
func (t *topology) checkLinks() (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	taken := map[string]bool{}
	for i, l := range t.Topology.Links {
		if len(l.Endpoints) != 2 {
			wrong("number %d has %d endpoints, not 2", i+1, len(l.Endpoints))
		}
		for _, e := range l.Endpoints {
			name, port, _ := strings.Cut(e, ":")
			n, ok := t.Topology.Nodes[name]
			_, shares := n.shares()
			switch {
			case !ok:
				wrong("%s: no such node", e)
			case shares:
				wrong("%s: the node has the network of another", e)
			case port == "" || len(port) > interfaceLength || strings.ContainsAny(port, "/: "):
				wrong("%s: an interface has a name of 1 to %d characters, without / and :", e, interfaceLength)
			case port == "eth0":
				wrong("%s: eth0 is the management network's", e)
			case taken[e]:
				wrong("%s is in two links", e)
			}
			taken[e] = true
		}
	}
	return errs
}
