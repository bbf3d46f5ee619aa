// SPDX-License-Identifier: Apache-2.0

package picture

import "time"

// A Picture is the state of a fabric at one time. Lists are sorted, the worst first.
type Picture struct {
	At       time.Time `json:"at"`
	Switches []Switch  `json:"switches"`
	Uplinks  []Uplink  `json:"uplinks"`
	Groups   []Group   `json:"groups"`
	Links    []Link    `json:"links"`
	Queues   []Queue   `json:"queues"`
	Flows    []Flow    `json:"flows"`
	Holds    []*Hold   `json:"holds"`
	Advice   []Advice  `json:"advice"`
	Moves    []Move    `json:"moves"`
	Health   []Health  `json:"health"`
	// Of has the lengths of lists before [Picture.Shown] cut them.
	Of Lengths `json:"of"`
}

// Lengths are lengths of lists.
type Lengths struct {
	Queues int `json:"queues"`
	Flows  int `json:"flows"`
	Holds  int `json:"holds"` // holds in all trees
	Trees  int `json:"trees"` // of holds, and of flows that a neighbor was asked to hold
	Advice int `json:"advice"`
	Moves  int `json:"moves"`
	Health int `json:"health"`
}

// A Switch is one switch: its sluiced, or why it did not answer.
type Switch struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"`
	// Missing is why it did not answer; "": it did.
	Missing  string   `json:"missing,omitempty"`
	State    string   `json:"state"` // of sluiced: not-running without a row
	Warnings []string `json:"warnings,omitempty"`
	Error    string   `json:"last_error,omitempty"`
	// Age is the time since the last sign of life of sluiced, seconds.
	Age       *float64 `json:"age_s,omitempty"`
	Stale     bool     `json:"stale"`
	Leaf      bool     `json:"leaf"` // it has ports to hosts
	Uplinks   int      `json:"uplinks"`
	WorstOver *float64 `json:"worst_over_mean,omitempty"` // of its uplinks, by rate
	Holds     *uint64  `json:"holds,omitempty"`           // flows held there
	Flows     *uint64  `json:"flows,omitempty"`           // flows tracked there
	Methods   []Method `json:"methods,omitempty"`
}

// A Method is the method of a switch for a need.
type Method struct {
	Need   string `json:"need"`
	Method string `json:"method"`
	State  string `json:"state,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// An Uplink is a port of role fabric.
type Uplink struct {
	Switch       string `json:"switch"`
	Port         string `json:"port"`
	Neighbor     string `json:"neighbor,omitempty"`
	NeighborPort string `json:"neighbor_port,omitempty"`
	Group        string `json:"group,omitempty"` // the first that it is a member of
	Up           *bool  `json:"up,omitempty"`
	// Mbps is the rate that it sends, BackMbps the one that it receives.
	Mbps     *float64 `json:"mbps,omitempty"`
	BackMbps *float64 `json:"back_mbps,omitempty"`
	// OverMean is Mbps over the mean of the switch's uplinks that are up.
	OverMean *float64 `json:"over_mean,omitempty"`
	// CE is the rate of packets with CE of the flows that leave by it, as the CPU sees them.
	CE    *float64 `json:"ce_per_s,omitempty"`
	Drops *float64 `json:"drops_per_s,omitempty"`
	// Queued and Watermark are octets of its fullest queue.
	Queued    *uint64 `json:"queued_bytes,omitempty"`
	Watermark *uint64 `json:"watermark_bytes,omitempty"`
	Flows     int     `json:"flows"` // flows known to leave by it
	Held      int     `json:"held"`  // holds at it
}

// A Group is one of next hops over which flows are placed.
type Group struct {
	Switch string   `json:"switch"`
	Name   string   `json:"name"`
	State  string   `json:"state,omitempty"`
	Reason string   `json:"reason,omitempty"`
	Worst  *float64 `json:"worst_over_mean,omitempty"`
	ByHash *float64 `json:"hash_worst_over_mean,omitempty"` // if no flow were placed
	Floor  *float64 `json:"floor,omitempty"`
	Flows  *uint64  `json:"flows,omitempty"`
	Moves  *uint64  `json:"moves,omitempty"`
	// Moved is Moves since the frame before.
	Moved   *uint64  `json:"moved,omitempty"`
	Members []string `json:"members,omitempty"`
}

// An End is a port of a switch. Port is "" where it is not known.
type End struct {
	Switch string `json:"switch"`
	Port   string `json:"port"`
}

// A Link is a link between two switches. To may be a switch that was not asked.
type Link struct {
	From     End      `json:"from"`
	To       End      `json:"to"`
	Up       *bool    `json:"up,omitempty"`
	Mbps     *float64 `json:"mbps,omitempty"`
	BackMbps *float64 `json:"back_mbps,omitempty"`
	OverMean *float64 `json:"over_mean,omitempty"` // the worse of its ends
	Held     int      `json:"held"`
}

// A Queue is an egress queue that has had packets.
type Queue struct {
	Switch    string     `json:"switch"`
	Port      string     `json:"port"`
	Queue     string     `json:"queue"`
	Role      string     `json:"role,omitempty"`
	Neighbor  string     `json:"neighbor,omitempty"`
	Queued    *uint64    `json:"queued_bytes,omitempty"`
	Watermark *uint64    `json:"watermark_bytes,omitempty"`
	Packets   *uint64    `json:"packets,omitempty"`
	Dropped   *uint64    `json:"dropped,omitempty"`
	Drops     *float64   `json:"drops_per_s,omitempty"`
	Mbps      *float64   `json:"mbps,omitempty"`
	Elephants []Elephant `json:"elephants,omitempty"` // the fullest first
}

// An Elephant is a flow in a queue.
type Elephant struct {
	Pair
	Queued *uint64 `json:"queue_bytes,omitempty"`
	State  string  `json:"state,omitempty"`
}

// A Pair names the two ends of a flow.
type Pair struct {
	Flow   string  `json:"flow"` // ID of its rows
	Src    string  `json:"src,omitempty"`
	Dst    string  `json:"dst,omitempty"`
	DestQP *uint64 `json:"dest_qp,omitempty"`
}

// A Flow is a flow with the switches that know it, in the order of its path.
type Flow struct {
	Pair
	SrcQP *uint64  `json:"src_qp,omitempty"`
	Label *uint64  `json:"flow_label,omitempty"` // at its first switch
	Mbps  *float64 `json:"rate_mbps,omitempty"`  // the highest of its switches
	State string   `json:"state,omitempty"`      // the worst of its switches
	// Queued is the sum of the octets in queues.
	Queued *uint64 `json:"queue_bytes,omitempty"`
	// Advised is the rate that its sender was advised.
	Advised      *uint64 `json:"advised_mbps,omitempty"`
	NotFollowing bool    `json:"not_following,omitempty"`
	Hops         []Hop   `json:"hops"`
}

// A Hop is a flow at one switch.
type Hop struct {
	Switch   string   `json:"switch"`
	In       string   `json:"in,omitempty"`
	Out      string   `json:"out,omitempty"`
	Path     string   `json:"path,omitempty"` // as placement predicts it
	Queue    string   `json:"queue,omitempty"`
	Queued   *uint64  `json:"queue_bytes,omitempty"`
	Label    *uint64  `json:"flow_label,omitempty"`
	State    string   `json:"state,omitempty"`
	Mbps     *float64 `json:"rate_mbps,omitempty"`
	Notified string   `json:"notified_neighbor,omitempty"`
}

// A Hold is a flow that waits at a switch, and below it the holds that this switch asked for. A
// root without a Message is a congested flow, whose switch asked first.
type Hold struct {
	Switch string `json:"switch"`
	Pair
	Port   string `json:"port,omitempty"`
	Queue  string `json:"queue,omitempty"`
	Stream string `json:"stream_id,omitempty"`
	State  string `json:"state,omitempty"`
	// Message is the kind of message that asked for the hold; "": no hold.
	Message string `json:"message,omitempty"`
	// From is the address of who asked, and FromSwitch the name of the switch that has it.
	From       string `json:"from,omitempty"`
	FromSwitch string `json:"from_switch,omitempty"`
	// Notified is the address of the neighbor that was asked in turn.
	Notified string `json:"notified_neighbor,omitempty"`
	// Joined is how the hold was joined to that above it: by its neighbor, or by the flow alone.
	Joined    string   `json:"joined,omitempty"`
	Action    string   `json:"action,omitempty"`
	Reduction *uint64  `json:"reduction,omitempty"` // percent
	Since     string   `json:"since,omitempty"`
	Seconds   *float64 `json:"seconds,omitempty"` // since then
	Until     string   `json:"until,omitempty"`
	Waiting   *uint64  `json:"waiting_bytes,omitempty"`
	Dropped   *uint64  `json:"dropped,omitempty"`
	Method    string   `json:"method,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	Below     []*Hold  `json:"below,omitempty"`
}

// Advice is a sender that was advised a rate.
type Advice struct {
	Switch string `json:"switch"`
	Pair
	Advised      *uint64  `json:"advised_mbps,omitempty"`
	Mbps         *float64 `json:"rate_mbps,omitempty"`
	NotFollowing bool     `json:"not_following"`
}

// A Move is that a flow got another label.
type Move struct {
	Switch string `json:"switch"`
	Pair
	At    string  `json:"at"`
	Label *uint64 `json:"flow_label,omitempty"`
	Path  string  `json:"path,omitempty"`
	// LabelBefore and PathBefore are those of the frame before, where they are others.
	LabelBefore *uint64 `json:"flow_label_before,omitempty"`
	PathBefore  string  `json:"path_before,omitempty"`
}

// Health is how a flow fares, by the switch that saw most of it.
type Health struct {
	Switch string `json:"switch"`
	Pair
	Seen          *uint64  `json:"seen_packets,omitempty"`
	SamplingRate  *uint64  `json:"sampling_rate,omitempty"`
	Marked        *float64 `json:"ce_percent,omitempty"`
	CNPs          *uint64  `json:"cnps,omitempty"`
	NAKs          *uint64  `json:"naks,omitempty"`
	Lost          *uint64  `json:"psn_lost,omitempty"`
	Reordered     *uint64  `json:"psn_reordered,omitempty"`
	Duplicates    *uint64  `json:"psn_duplicates,omitempty"`
	Retransmitted *uint64  `json:"retransmitted_bytes,omitempty"`
	Goodput       *float64 `json:"goodput_mbps,omitempty"`
}
