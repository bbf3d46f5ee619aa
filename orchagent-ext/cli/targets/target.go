// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"net"
	"strconv"
	"strings"
)

// Port is the TCP port of sluice-gnmi.
const Port = 50070

// Target is a switch, as a command line or an inventory names it.
type Target struct {
	// Name is that of the switch in answers; it is the address where the switch has no name.
	Name string
	// Address is HOST, HOST:PORT, or unix:PATH. A host is a name or an IP address.
	Address string
	// ServerName is the name that the certificate must have; "": Name or the host will do.
	ServerName string
	// Login has the target's own settings; empty fields are those of the fleet.
	Login Login
	// Plain asks for plain text, which loopback alone may have.
	Plain bool
	// Groups are those of the inventory that have the target.
	Groups []string
	// file is the inventory that has the target; "": the command line names it.
	file string
}

// unixPrefix begins the address of a unix socket.
const unixPrefix = "unix:"

// network returns the network and the address to connect to, with the port that targets
// have by default.
func (t *Target) network(port uint16) (network, address string) {
	if path, is := strings.CutPrefix(t.Address, unixPrefix); is {
		return "unix", path
	}
	if host, own, err := net.SplitHostPort(t.Address); err == nil {
		return "tcp", net.JoinHostPort(host, own)
	}
	return "tcp", net.JoinHostPort(strings.Trim(t.Address, "[]"), strconv.Itoa(int(port)))
}

// hosts returns the names of which the certificate must have one.
func (t *Target) hosts() []string {
	if t.ServerName != "" {
		return []string{t.ServerName}
	}
	var all []string
	for _, name := range []string{t.Name, t.Address} {
		host, _, err := net.SplitHostPort(name)
		if err != nil {
			host = strings.Trim(name, "[]")
		}
		host, _, _ = strings.Cut(host, "%") // the zone of an IPv6 address
		if host != "" && (len(all) == 0 || all[0] != host) {
			all = append(all, host)
		}
	}
	return all
}
