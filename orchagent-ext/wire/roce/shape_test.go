// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"fmt"
	"strings"
)

// Protocol numbers of IPv4 and next headers of IPv6.
const (
	hopByHop    = 0
	ipInIP      = 4
	udp         = 17
	ipv6InIP    = 41
	routing     = 43
	fragment    = 44
	destOptions = 60

	authentication = 51
)

// shape says which headers precede the UDP header.
type shape struct {
	tags   int    // VLAN tags
	tunnel []hull // the IP headers around the one that carries UDP
	hull
}

// hull is an IP header with what belongs to it.
type hull struct {
	name       string
	v4         bool
	options    bool    // IPv4
	ah         bool    // IPv4: an authentication header follows
	extensions []uint8 // IPv6
	first      bool    // first fragment of several
}

var (
	plain4 = hull{name: "ipv4", v4: true}
	plain6 = hull{name: "ipv6"}
	srv6   = hull{name: "srv6", extensions: []uint8{routing}}

	carriers = []hull{
		plain4,
		{name: "ipv4-options", v4: true, options: true},
		{name: "ipv4-fragment", v4: true, first: true},
		{name: "ipv4-ah", v4: true, options: true, ah: true},
		plain6,
		{name: "ah", extensions: []uint8{authentication}},
		{name: "hop-by-hop", extensions: []uint8{hopByHop}},
		{name: "destination-options", extensions: []uint8{destOptions}},
		srv6,
		{name: "every-option", extensions: []uint8{hopByHop, destOptions, routing, authentication, destOptions}},
		{name: "atomic-fragment", extensions: []uint8{fragment, destOptions}},
		{name: "ipv6-fragment", extensions: []uint8{fragment}, first: true},
		{name: "srv6-fragment", extensions: []uint8{routing, fragment, destOptions}, first: true},
	}
	tunnels = [][]hull{nil, {plain6}, {srv6}, {plain6, srv6}}
)

func (s shape) String() string {
	parts := []string{fmt.Sprintf("tags-%d", s.tags)}
	for _, h := range s.tunnel {
		parts = append(parts, h.name)
	}
	return strings.Join(append(parts, s.name), "/")
}

// shapes are all of them.
var shapes = func() (all []shape) {
	for tags := range 3 {
		for _, tunnel := range tunnels {
			for _, h := range carriers {
				all = append(all, shape{tags, tunnel, h})
			}
		}
	}
	return all
}()
