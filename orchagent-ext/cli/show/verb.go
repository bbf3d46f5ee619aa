// SPDX-License-Identifier: Apache-2.0

package show

import "time"

// Verb is one command of show.
type Verb struct {
	Name   string
	Short  string
	Tables []string // that it reads; one that ends in * is all that begin so
	// Flags: those of [Options] that it takes: top, port, qp, congested, all
	Flags  []string
	text   bool // in JSON all values are texts, as CONFIG_DB and config_db.json have them
	daemon bool // it needs a daemon
	show   func(*Data, Options) (*Answer, error)
}

// Options are the flags of the commands.
type Options struct {
	Top  int    // at most so many; 0: all
	Port string // a port or PortChannel; empty: all
	// QP selects flows by their destination queue pair; nil selects all.
	QP *uint32
	// Congested selects flows that are congested or held.
	Congested bool
	// All includes queues without packets.
	All      bool
	Baseline Baseline
	// Now is the time, by which stale rows are found.
	Now time.Time
}

// Answer is the output of a command: JSON for programs, blocks for people.
type Answer struct {
	// JSON is the answer for programs.
	JSON any
	// Blocks are the answer for people.
	Blocks []Block
	Stale  *StaleError // nil: sluiced is alive; its text is that of the first block
}

// Show answers. Where sluiced does not run people get an error if there is nothing else to
// show; where it is silent, too, a line for people comes first.
func (v *Verb) Show(d *Data, o Options, people bool) (*Answer, error) {
	runs := v.text || len(d.state()) > 0
	if !runs && v.daemon && people {
		return nil, &StaleError{}
	}
	a, err := v.show(d, o)
	if err != nil {
		return nil, err
	}
	if !v.text {
		a.JSON = withNumbers(a.JSON, v.numbers())
	}
	if a.Stale = Stale(d.state(), o.Now); !runs {
		a.Stale = &StaleError{}
	}
	if a.Stale != nil {
		a.Blocks = append([]Block{{Text: a.Stale.Error()}}, a.Blocks...)
	}
	return a, nil
}

// Verbs are all commands, in the order in which help lists them.
var Verbs = []Verb{
	{
		Name: "status", Short: "What sluiced is doing, and which rows are not in force",
		Tables: []string{"SLUICE_CONFIG_ERROR", "SLUICE_STATS"}, daemon: true, show: status,
	},
	{
		Name: "capability", Short: "The method that the switch uses for each need, and why no preferred one",
		daemon: true, show: capability,
	},
	{
		Name: "config", Short: "The rows of CONFIG_DB, and whether they are in force",
		Tables: []string{"SLUICE*", "SLUICE_CONFIG_ERROR", "SLUICE_STATS"}, text: true, show: configuration,
	},
	{
		Name: "ports", Short: "Ports: link, role, and what came in and left",
		Tables: []string{"PORT", "SLUICE_PORT", "SLUICE_PORT_STATS", "PORTCHANNEL", "PORTCHANNEL_MEMBER"}, Flags: []string{"port"}, show: ports,
	},
	{
		Name: "queues", Short: "Egress queues: how full they are and were, and what they dropped",
		Tables: []string{"PORT", "SLUICE_QUEUE_STATS", "PORTCHANNEL", "PORTCHANNEL_MEMBER"}, Flags: []string{"port", "all"}, show: queues,
	},
	{
		Name: "flow-label", Short: "Flow labels: what is configured, and what became of packets",
		Tables: []string{"SLUICE_FLOW_LABEL", "SLUICE_PORT", "SLUICE_STATS"}, daemon: true, show: flowLabel,
	},
	{
		Name: "placement", Short: "Labels that are chosen: groups of next hops, and how even they are",
		Tables: []string{"SLUICE_PLACEMENT", "SLUICE_PLACEMENT_FABRIC", "SLUICE_PLACEMENT_GROUP", "SLUICE_PLACEMENT_MEMBER"}, daemon: true, show: placement,
	},
	{
		Name: "flows", Short: "Flows that have an entry on the switch, the heaviest first",
		Tables: []string{"SLUICE_FLOW", "PORT", "PORTCHANNEL", "PORTCHANNEL_MEMBER"}, Flags: []string{"top", "port", "qp", "congested"}, show: flows,
	},
	{
		Name: "holds", Short: "Flows that are held here: by whom, why, until when",
		Tables: []string{"SLUICE_HOLD"}, daemon: true, show: holds,
	},
	{
		Name: "advice", Short: "Rate Advice: what is configured, who may get it, and what was sent",
		Tables: []string{"SLUICE_RATE_ADVICE", "SLUICE_RATE_ADVICE_HOST", "SLUICE_RATE_POLICY", "SLUICE_NOTIFY_STATS"}, daemon: true, show: advice,
	},
	{
		Name: "hosts", Short: "Round-trip times to hosts, as packets show them, the farthest first",
		Tables: []string{"SLUICE_HOST"}, Flags: []string{"top"}, daemon: true, show: hosts,
	},
	{
		Name: "notifications", Short: "Notifications that were sent, obeyed and dropped, and how fast",
		Tables: []string{"SLUICE_NOTIFY_STATS"}, Flags: []string{"all"}, daemon: true, show: notifications,
	},
	{
		Name: "stream-ids", Short: "Where the Stream IDs of flows come from, and how many have one",
		Tables: []string{"SLUICE", "SLUICE_STATS"}, daemon: true, show: streamIDs,
	},
	{
		Name: "ipfix", Short: "The collectors, and what was sent to each",
		Tables: []string{"SLUICE_IPFIX_STATS"}, daemon: true, show: collectors,
	},
	{
		Name: "counters", Short: "All counters of the whole switch",
		Tables: []string{"SLUICE_STATS"}, Flags: []string{"all"}, daemon: true, show: allCounters,
	},
}
