// SPDX-License-Identifier: Apache-2.0

package top

import (
	"strconv"
	"strings"
	"time"

	"sluice/yang/rows"
)

// Names of the tables that a Snapshot is made of.
const (
	tablePort       = "SLUICE_PORT"
	tableState      = "SLUICE_STATE"
	tableCapability = "SLUICE_CAPABILITY"
	tableFlow       = "SLUICE_FLOW"
	tableHold       = "SLUICE_HOLD"
	tableMember     = "SLUICE_PLACEMENT_MEMBER" // where labels are chosen
	tableFabric     = "SLUICE_PLACEMENT_FABRIC" // with scope fabric
	tableStats      = "SLUICE_STATS"
	tablePortStats  = "SLUICE_PORT_STATS"
	// tableQueueStats: on switches that report their queues
	tableQueueStats = "SLUICE_QUEUE_STATS"
)

// The same by database.
var (
	ConfigTables   = []string{tablePort}
	StateTables    = []string{tableState, tableCapability, tableFlow, tableHold, tableMember, tableFabric}
	CountersTables = []string{tableStats, tablePortStats, tableQueueStats}
)

// Snapshot has the rows of the tables at one moment.
type Snapshot struct {
	// At: when sluiced read the counters; without that time, when the rows were read
	At    time.Time
	timed bool // it shows it

	read       time.Time // when the rows were read
	state      map[string]string
	capability map[string]string
	stats      counters
	roles      map[string]string   // of ports, by name
	ports      map[string]counters // by name
	links      map[string]string   // whether they are up, by name
	deepest    map[string]Queue    // of the queues of a port, by its name
	drops      counters            // of packets that egress queues dropped, by port and queue
	flows      map[string]flowRow  // by the row's key
	holds      []Hold
	fabric     map[string]string // nil: the scope is local
	// byHash: the rate of ports with labels of the hash, in octets/s
	byHash map[string]uint64
}

// counters are the fields of a row that are numbers.
type counters map[string]uint64

// flowRow is a row of SLUICE_FLOW, with its numbers parsed.
type flowRow struct {
	fields map[string]string
	counters
}

// Parse sorts rows into a Snapshot; rows of other tables are ignored. Read is
// when they were read.
func Parse(all []rows.Row, read time.Time) *Snapshot {
	s := &Snapshot{At: read, read: read, roles: map[string]string{}, ports: map[string]counters{}, links: map[string]string{}, deepest: map[string]Queue{}, drops: counters{}, flows: map[string]flowRow{}, byHash: map[string]uint64{}}
	for _, r := range all {
		switch r.Table {
		case tableState:
			s.state = r.Fields
		case tableCapability:
			s.capability = r.Fields
		case tableStats:
			s.stats = numbers(r.Fields)
			if at, err := time.Parse(time.RFC3339Nano, r.Fields["read_time"]); err == nil {
				s.At, s.timed = at, true
			}
		case tablePort:
			s.roles[r.Key] = r.Fields["role"]
		case tablePortStats:
			s.ports[r.Key] = numbers(r.Fields)
			s.links[r.Key] = r.Fields["oper_status"]
		case tableQueueStats:
			port, queue, _ := strings.Cut(r.Key, "|")
			n := numbers(r.Fields)
			if dropped, counted := n["dropped"]; counted {
				s.drops[r.Key] = dropped
			}
			q := Queue{queue, total(n, "watermark_bytes"), total(n, "queued_bytes")}
			if d, ok := s.deepest[port]; q.depth().known && (!ok || q.depth().value > d.depth().value) {
				s.deepest[port] = q
			}
		case tableMember:
			if n, known := numbers(r.Fields)["hash_rate"]; known {
				s.byHash[r.Fields["name"]] += n
			}
		case tableFabric:
			s.fabric = r.Fields
		case tableHold:
			s.holds = append(s.holds, newHold(r.Fields))
		case tableFlow:
			s.flows[r.Key] = flowRow{r.Fields, numbers(r.Fields)}
		}
	}
	return s
}

// depth returns the peak depth of a queue in octets, or its present depth where the peak
// is unknown.
func (q Queue) depth() Number {
	if q.Watermark.known {
		return q.Watermark
	}
	return q.Queued
}

// numbers returns the fields that are numbers; others are left out.
func numbers(fields map[string]string) counters {
	c := make(counters, len(fields))
	for name, text := range fields {
		if v, err := strconv.ParseUint(text, 10, 64); err == nil {
			c[name] = v
		}
	}
	return c
}

// warnings are the sentences of SLUICE_STATE, apart.
func (s *Snapshot) warnings() []string {
	if s.state["warnings"] == "" {
		return nil
	}
	return strings.Split(s.state["warnings"], "; ")
}
