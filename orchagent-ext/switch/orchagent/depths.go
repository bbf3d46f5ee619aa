// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/yang/rows"
)

// QueueIDs returns the objects of the egress queues of a port, in the order of their numbers.
func (d *Driver) QueueIDs(port string) ([]sai.ObjectID, error) {
	all, err := d.queueObjects()
	if err != nil {
		return nil, err
	}
	var ids []sai.ObjectID
	for number := 0; ; number++ {
		text, ok := all[fmt.Sprintf("%s:%d", port, number)]
		if !ok {
			break
		}
		id, err := sai.ParseObjectID(text)
		if err != nil {
			return nil, fmt.Errorf("%s of COUNTERS_DB: %w", mapQueues, err)
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%s of COUNTERS_DB has no queue of it: \"counterpoll queue enable\" makes orchagent list queues", mapQueues)
	}
	return ids, nil
}

// Tables of CONFIG_DB with the maps of ports.
const (
	tablePortQoS = "PORT_QOS_MAP"
	tableDSCP    = "DSCP_TO_TC_MAP"
	tableToQueue = "TC_TO_QUEUE_MAP"
	fieldDSCP    = "dscp_to_tc_map"
	fieldToQueue = "tc_to_queue_map"
	everyPort    = "global" // the key of the switch's own map
)

// Classes returns the maps of ports by their names, of CONFIG_DB. A port without a map of DSCP has
// the switch's; without either all packets have class 0.
func (d *Driver) Classes(ports []string) (map[string]*engine.Classes, error) {
	var wanted []rows.Row
	for _, p := range slices.Concat(ports, []string{everyPort}) {
		wanted = append(wanted, rows.Row{Table: tablePortQoS, Key: p})
	}
	found, err := get(d.db.config, wanted...)
	if err != nil {
		return nil, err
	}
	// The rows of both maps of each port; without a name there is none, and Get returns none.
	var named []rows.Row
	for i := range ports {
		dscp := found[i][fieldDSCP]
		if dscp == "" {
			dscp = found[len(ports)][fieldDSCP]
		}
		named = append(named, rows.Row{Table: tableDSCP, Key: mapName(dscp)}, rows.Row{Table: tableToQueue, Key: mapName(found[i][fieldToQueue])})
	}
	maps, err := get(d.db.config, named...)
	if err != nil {
		return nil, err
	}
	classes := make(map[string]*engine.Classes, len(ports))
	for i, p := range ports {
		classes[p] = classesOf(maps[2*i], maps[2*i+1])
	}
	return classes, nil
}

// mapName is the name of a map, which older releases write as [TABLE|NAME].
func mapName(v string) string {
	v = strings.Trim(v, "[]")
	return v[strings.LastIndex(v, separator)+1:]
}

// classesOf reads the maps of a port. Values out of range are left out, as orchagent does.
func classesOf(dscp, queue map[string]string) *engine.Classes {
	c := &engine.Classes{}
	for class := range c.Queue {
		c.Queue[class] = uint8(class)
	}
	fill(c.Class[:], dscp)
	fill(c.Queue[:], queue)
	return c
}

func fill(to []uint8, from map[string]string) {
	for key, value := range from {
		i, err := strconv.ParseUint(key, 10, 8)
		v, wrong := strconv.ParseUint(value, 10, 8)
		if err == nil && wrong == nil && int(i) < len(to) {
			to[i] = uint8(v)
		}
	}
}

// Depth is what COUNTERS_DB has of a queue.
type Depth struct {
	Octets, Packets, Left, Dropped uint64

	Slow  string // why queues are to be read less often; "": they need not
	Doubt string // why the octets cannot be relied on; "": they can
	Err   error  // there are none
}

// Depths reads how full queues are, from COUNTERS_DB or a stream. It is for one goroutine.
type Depths struct {
	config, state, counters *sonicdb.DB

	stream *stream           // or nil
	names  map[string]string // of queues in it, by object

	looked    time.Time     // at SONiC's own polls
	watermark time.Duration // between two of its watermarks; 0: it polls none that could be used
	own       pulse
}

// Depths returns a reader of depths, for a goroutine of its own.
func (d *Driver) Depths() *Depths {
	return &Depths{config: d.db.config, state: d.db.state, counters: d.db.counters, stream: d.stream}
}

// Read reads queues by their objects, in their order; nil once ctx is done.
func (r *Depths) Read(ctx context.Context, queues []sai.ObjectID) []Depth {
	wanted := make([]rows.Row, len(queues))
	for i, id := range queues {
		wanted[i] = rows.Row{Table: tableCounters, Key: id.String()}
	}
	all := make([]Depth, len(queues))
	found, err := get(r.counters, wanted...)
	slow := ""
	if now := time.Now(); err == nil && now.Sub(r.looked) >= lookedAgain {
		r.looked = now
		slow, err = r.look(found, now)
		if err == nil && r.stream != nil {
			r.stream.begin(ctx)
			err = r.follow()
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	for i := range all {
		if all[i].Err = err; err == nil {
			all[i] = r.depth(queues[i], found[i])
			all[i].Slow = slow
		}
	}
	if r.stream != nil {
		r.streamed(queues, all, time.Now())
	}
	return all
}

// depth reads the counters of a queue.
func (r *Depths) depth(id sai.ObjectID, fields map[string]string) (d Depth) {
	d.Packets, d.Left, d.Dropped = sum(fields, statPackets), sum(fields, statOctets), sum(fields, statDropped)
	peak := fields[statDepth] == ""
	switch {
	case fields == nil:
		d.Err = fmt.Errorf("COUNTERS_DB has no counters of queue %s", id)
	case !peak:
		d.Octets = sum(fields, statDepth)
	case fields[statWatermark] != "" && r.watermark > 0:
		d.Octets = sum(fields, statWatermark)
		d.Doubt = fmt.Sprintf("syncd publishes no %s of queue %s: SONiC's watermarks of %v are read, which are the most of that time", statDepth, id, r.watermark)
	default:
		d.Err = fmt.Errorf("syncd publishes no %s of queue %s, and SONiC's watermarks are not polled each second: \"counterpoll watermark interval 100\" would do", statDepth, id)
	}
	return d
}

const (
	tablePolls   = "FLEX_COUNTER_TABLE" // of CONFIG_DB
	lookedAgain  = time.Second
	portPolls    = time.Second // by default
	longestPolls = time.Second // of watermarks that can be used
)

// look reads how often SONiC polls by itself, and returns why its polls are late; "": they are not.
func (r *Depths) look(queues []map[string]string, now time.Time) (late string, err error) {
	polls, err := get(r.config, rows.Row{Table: tablePolls, Key: "QUEUE_WATERMARK"}, rows.Row{Table: tablePolls, Key: "PORT"})
	if err != nil {
		return "", err
	}
	if r.watermark = interval(polls[0], time.Minute); r.watermark > longestPolls {
		r.watermark = 0
	}
	ports, err := getOne(r.counters, rows.Row{Table: mapPorts})
	if err != nil {
		return "", err
	}
	var wanted []rows.Row
	for _, id := range ports {
		wanted = append(wanted, rows.Row{Table: tableCounters, Key: id})
	}
	found, err := get(r.counters, wanted...)
	if err != nil {
		return "", err
	}
	var octets, left uint64
	for _, fields := range found {
		octets += sum(fields, "SAI_PORT_STAT_IF_OUT_OCTETS")
	}
	for _, fields := range queues {
		left += sum(fields, statOctets)
	}
	return r.own.take(octets, left, interval(polls[1], portPolls), now), nil
}

// interval returns the time between two polls of one of SONiC's groups; 0: they are disabled.
func interval(row map[string]string, usual time.Duration) time.Duration {
	ms, err := strconv.ParseUint(row[fieldInterval], 10, 32)
	switch {
	case row["FLEX_COUNTER_STATUS"] == "disable":
		return 0
	case err != nil:
		return usual
	}
	return time.Duration(ms) * time.Millisecond
}

// pulse are SONiC's own counters of ports, by which a switch shows that it still reads them as
// often as before. The zero value has seen none.
type pulse struct {
	octets, left uint64 // that left by all ports, and by the queues that Sluice has polled
	changed      time.Time
}

// lateAfter is how many intervals SONiC's own polls may take.
const lateAfter = 3

// take takes the counters, and returns why they are late; "": they are not. Counters of ports
// that stay the same while octets leave queues were not read.
func (p *pulse) take(octets, left uint64, every time.Duration, now time.Time) string {
	if octets != p.octets || left == p.left || every == 0 || p.changed.IsZero() {
		*p = pulse{octets, left, now}
		return ""
	}
	if gap := now.Sub(p.changed); gap > lateAfter*every {
		return fmt.Sprintf("SONiC polls its counters of ports each %v, and has not for %v", every, gap.Round(time.Millisecond))
	}
	return ""
}
