// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/trace"
	"sluice/yang/text"
)

// follow traces the flow from this switch on. unknown is the reason why its own
// choice is unknown; nil for a known one.
func (q *pathQuery) follow(ctx context.Context, a *pathAnswer, unknown *unknownChoice, flags *databaseFlags, client *gnmiClient) (*trace.Trace, error) {
	near, err := readNeighbors(ctx, flags)
	if err != nil {
		return nil, fmt.Errorf("--trace needs CONFIG_DB, which says who is behind a port: %w", err)
	}
	here := &trace.Switch{Choose: a.choose}
	if unknown != nil {
		here.Unknown = unknown.why
	}
	for _, m := range a.Group {
		here.Members = append(here.Members, near.member(m.Port, m.Via))
	}
	label := q.label
	if a.Now != nil {
		label = a.Now.FlowLabel
	} else if q.written != nil {
		label = *q.written
	}
	t := trace.Follow(near.hostname, here, *q.tuple(label), func(name, address string) (*trace.Switch, error) {
		return client.ask(ctx, name, address, q)
	})
	return &t, nil
}

// nearby is CONFIG_DB's description of this switch and of those at its ports.
type nearby struct {
	hostname string
	members  map[string][]string          // ports of PortChannels
	behind   map[string]map[string]string // DEVICE_NEIGHBOR, by port
	address  map[string]string            // of management, by name
	// edge: ports and PortChannels that face hosts
	edge map[string]bool
}

// readNeighbors reads the switches behind this one's ports from CONFIG_DB:
// DEVICE_NEIGHBOR has their names, DEVICE_NEIGHBOR_METADATA their addresses. Members of a
// PortChannel count as the PortChannel.
func readNeighbors(ctx context.Context, flags *databaseFlags) (n *nearby, err error) {
	dbs, err := flags.open("CONFIG_DB")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dbs.close()) }()
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	all, err := dbs.read(ctx, "CONFIG_DB", "DEVICE_METADATA", "PORTCHANNEL_MEMBER", "DEVICE_NEIGHBOR", "DEVICE_NEIGHBOR_METADATA", "SLUICE_PORT")
	if err != nil {
		return nil, err
	}
	n = &nearby{members: map[string][]string{}, behind: map[string]map[string]string{}, address: map[string]string{}, edge: map[string]bool{}}
	for _, r := range all {
		switch r.Table {
		case "DEVICE_METADATA":
			if r.Key == "localhost" {
				n.hostname = r.Fields["hostname"]
			}
		case "PORTCHANNEL_MEMBER":
			channel, port, _ := strings.Cut(r.Key, "|")
			n.members[channel] = append(n.members[channel], port)
		case "DEVICE_NEIGHBOR":
			n.behind[r.Key] = r.Fields
		case "SLUICE_PORT":
			n.edge[r.Key] = r.Fields["role"] == "edge"
		case "DEVICE_NEIGHBOR_METADATA":
			n.address[r.Key] = r.Fields["mgmt_addr"]
		}
	}
	if n.hostname == "" {
		if n.hostname, err = os.Hostname(); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// member is a next hop by a port, and who is behind it.
func (n *nearby) member(port, via string) trace.Member {
	m := trace.Member{Port: port, Via: via}
	for _, p := range append([]string{port}, n.members[port]...) {
		m.Edge = m.Edge || n.edge[p]
		if row := n.behind[p]; row["name"] != "" {
			m.Neighbor, m.Behind, m.Address = row["name"], row["port"], n.address[row["name"]]
		}
	}
	return m
}

// printTrace prints a hop a line, and at the end the reason where the trace ends early.
func printTrace(cmd *cobra.Command, style output.Style, t *trace.Trace) error {
	rows := output.NewTable(cmd.OutOrStdout(), style, "HOP", "SWITCH", "LABEL", "PORT", "VIA", "NEXT")
	or := func(s, other string) string {
		if s == "" {
			return other
		}
		return s
	}
	for i, h := range t.Hops {
		via := "-"
		if h.Port != "" {
			via = or(h.Via, "on the link")
		}
		port := or(h.Port, or(strings.Join(h.OneOf, "|"), "-"))
		next := or(strings.TrimSpace(h.Neighbor+" "+h.Behind), "-")
		rows.Row(fmt.Sprint(i+1), h.Switch, fmt.Sprintf("%#05x", h.FlowLabel), port, via, next)
	}
	if err := rows.End(); err != nil {
		return err
	}
	if t.Reason != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "the trace ends here:", text.Printable(t.Reason))
	}
	return nil
}
