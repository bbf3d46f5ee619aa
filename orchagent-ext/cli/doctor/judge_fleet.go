// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/orchagent-ext/cli/evenness"
	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/show"
	"sluice/orchagent-ext/cli/targets"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// Fault is one fault of a switch of a fabric.
type Fault struct {
	Switch string `json:"switch"`
	Verdict
	weight float64 // orders faults of one check, the greatest first
}

// FabricTables are the tables that [JudgeFabric] reads, by database.
var FabricTables = map[string][]string{
	"CONFIG_DB":   {"SLUICE_PORT"},
	"STATE_DB":    {"SLUICE_STATE", "SLUICE_CAPABILITY", "SLUICE_CONFIG_ERROR", "SLUICE_HOLD"},
	"COUNTERS_DB": {"SLUICE_PORT_STATS", "SLUICE_QUEUE_STATS"},
}

// checks are those of a switch, the worst first; faults of a level are in this order.
var checks = []string{"answer", "sluiced", "holds", "methods", "config", "drops", "uplinks", "drift", "clock"}

// badness orders levels, the worst first: a switch that cannot be judged is worse than a limit.
var badness = []Level{Act, Unknown, Note}

// JudgeFabric returns the faults of switches, the worst first; none where all is well. before
// are readings of the same switches an interval earlier, for what passed in it; nil: counters
// are judged since they began.
func JudgeFabric(all, before []targets.Reading) []Fault {
	var faults []Fault
	off := skews(all)
	for i := range all {
		s := &judged{Reading: &all[i]}
		if before != nil && before[i].Err == nil {
			s.before = numbersOf(before[i].Rows)
		}
		if all[i].Err != nil {
			s.add("answer", Unknown, "did not answer: "+all[i].Err.Error(), "")
		} else {
			s.judge()
			s.clock(off[i], all[i].Uncertain)
		}
		faults = append(faults, s.faults...)
	}
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(
			cmp.Compare(slices.Index(badness, a.Level), slices.Index(badness, b.Level)),
			cmp.Compare(slices.Index(checks, a.Check), slices.Index(checks, b.Check)),
			cmp.Compare(b.weight, a.weight), rows.Natural(a.Switch, b.Switch),
		)
	})
	return faults
}

// judged is a switch while it is judged.
type judged struct {
	*targets.Reading
	before map[string]map[string]uint64 // counters an interval earlier, by row; nil: there is no interval
	faults []Fault
}

// longestFound is how much a fault says, octets: a switch may send long texts.
const longestFound = 1024

// add adds a fault.
func (s *judged) add(check string, level Level, found, do string) *Fault {
	s.faults = append(s.faults, Fault{Switch: s.Target.Name, Verdict: say(check, level, text.Cut(found, longestFound), do)})
	return &s.faults[len(s.faults)-1]
}

// of returns the rows of a table.
func (s *judged) of(table string) (all []rows.Row) {
	for _, r := range s.Rows {
		if r.Table == table {
			all = append(all, r)
		}
	}
	return all
}

// judge adds the faults that the rows show.
func (s *judged) judge() {
	state, capability := map[string]string{}, map[string]string{}
	for _, r := range s.of("SLUICE_STATE") {
		state = r.Fields
	}
	for _, r := range s.of("SLUICE_CAPABILITY") {
		capability = r.Fields
	}
	if !s.sluiced(state) {
		return // all else is as of then
	}
	s.holds()
	s.methods(state, capability)
	s.config()
	s.drops()
	s.uplinks()
	for what := range strings.SplitSeq(state["drift"], "; ") {
		if what != "" {
			s.add("drift", Note, what, "another program changes what Sluice made: find it, or let it leave these parts alone")
		}
	}
}

// sluiced judges the daemon, and reports whether it is alive.
func (s *judged) sluiced(state map[string]string) bool {
	const look = "sluice show status has the reason"
	if len(state) == 0 {
		s.add("sluiced", Act, "sluiced is not running", "start it, or take Sluice off this switch")
		return false
	}
	if stale := show.Stale(state, s.now()); stale != nil {
		s.add("sluiced", Act, fmt.Sprintf("sluiced gave its last sign of life %v ago, at %s", stale.Age.Round(time.Second), stale.Since), "start it again; its log has the reason")
		return false
	}
	switch is := state["state"]; {
	case is == "disabled":
		s.add("sluiced", Note, "sluiced is disabled: the kill switch is on", "SLUICE|global admin_state=enabled ends that")
	case is != "running":
		found := "sluiced is " + is
		if why := cmp.Or(state["warnings"], state["last_error"]); why != "" {
			found += ": " + why
		}
		s.add("sluiced", Act, found, look)
	case state["warnings"] != "":
		s.add("sluiced", Note, "sluiced runs, with warnings: "+state["warnings"], "")
	}
	return true
}

// now is the time by the clock of the switch.
func (s *judged) now() time.Time {
	if s.At.IsZero() {
		return time.Now()
	}
	return s.At
}

// longHold is the age of a hold that does not end by itself as holds do, within milliseconds.
const longHold = 10 * time.Second

// holds finds holds that never end, and senders that are ignored for that.
func (s *judged) holds() {
	var long, ignored []string
	oldest := time.Duration(0)
	for _, r := range s.of("SLUICE_HOLD") {
		who := fmt.Sprintf("%s queue %s by %s", r.Fields["port"], r.Fields["queue"], r.Fields["from"])
		since, err := time.Parse(time.RFC3339Nano, r.Fields["since"])
		switch age := s.now().Sub(since); {
		case r.Fields["state"] == "ignored":
			ignored = append(ignored, who)
		case err == nil && age > longHold:
			if age > oldest {
				oldest = age
				long = slices.Insert(long, 0, who)
			} else {
				long = append(long, who)
			}
		}
	}
	if long != nil {
		f := s.add("holds", Act, fmt.Sprintf("%s for more than %v, the longest for %v: %s", kit.Plural(len(long), "hold"), longHold, oldest.Round(time.Second), some(long)), "the queue that asks for it never empties: sluice show flows --congested at the neighbor")
		f.Numbers = map[string]float64{"holds": float64(len(long)), "longest_s": oldest.Seconds()}
		f.weight = oldest.Seconds()
	}
	if ignored != nil {
		s.add("holds", Note, fmt.Sprintf("%s held for too long, and is ignored: %s", kit.Plural(len(ignored), "flow"), some(ignored)), "")
	}
}

// features are the fields of features' states, and of their reasons.
var features = []struct{ field, reason string }{
	{"flow_label", "flow_label_reason"}, {"placement", "placement_reason"}, {"pfcm", "pfcm_reason"}, {"ppfc", "ppfc_reason"}, {"rate_advice", "rate_advice_reason"},
}

// methods finds features that are configured, and are not in force, or not proven.
func (s *judged) methods(state, capability map[string]string) {
	for _, f := range features {
		level := Note
		switch state[f.field] {
		case "failed":
			level = Act
		case "unproven", "degraded":
		default:
			continue
		}
		found := strings.ReplaceAll(f.field, "_", " ") + " is " + state[f.field]
		if method := capability[f.field+"_method"]; method != "" && method != "none" {
			found += " by " + method
		}
		if why := cmp.Or(state[f.reason], capability[f.reason]); why != "" {
			found += ": " + why
		}
		s.add("methods", level, found, "")
	}
}

// config finds rows that are not in force.
func (s *judged) config() {
	var all []string
	for _, r := range s.of("SLUICE_CONFIG_ERROR") {
		one := r.Key
		if field := r.Fields["field"]; field != "" {
			one += " " + field
		}
		all = append(all, one+": "+r.Fields["reason"])
	}
	if all != nil {
		f := s.add("config", Act, fmt.Sprintf("%s not in force: %s", kit.Plural(len(all), "row"), some(all)), "sluice config sets it right, or sluice rollback takes it back")
		f.Numbers = map[string]float64{"rows": float64(len(all))}
		f.weight = float64(len(all))
	}
}

// numbersOf returns the numbers of rows by the name of the row.
func numbersOf(all []rows.Row) map[string]map[string]uint64 {
	out := make(map[string]map[string]uint64)
	for _, r := range all {
		out[r.Name()] = map[string]uint64{}
		for field, value := range r.Fields {
			if n, err := strconv.ParseUint(value, 10, 64); err == nil {
				out[r.Name()][field] = n
			}
		}
	}
	return out
}

// passed returns a counter since it began, or in the interval. One that is lower than before began
// again.
func (s *judged) passed(r rows.Row, field string) uint64 {
	now, _ := strconv.ParseUint(r.Fields[field], 10, 64) // one that is not there is 0
	if before := s.before[r.Name()][field]; before <= now {
		return now - before
	}
	return now
}

// span is the time that counters are about.
func (s *judged) span() string {
	if s.before == nil {
		return "since the counters began"
	}
	return "in the interval"
}

// drops finds packets that egress queues dropped.
func (s *judged) drops() {
	var total, most uint64
	where := ""
	for _, r := range s.of("SLUICE_QUEUE_STATS") {
		n := s.passed(r, "dropped")
		total += n
		if n > most {
			port, queue, _ := strings.Cut(r.Key, "|")
			most, where = n, port+" queue "+queue
		}
	}
	if total == 0 {
		return
	}
	level := Note // they may be of long ago
	if s.before != nil {
		level = Act
	}
	f := s.add("drops", level, fmt.Sprintf("%s dropped %s, most at %s: %d", kit.Plural(int(min(total, math.MaxInt32)), "packet"), s.span(), where, most), "a queue overflows: hold or advise the flows in it (docs/notifications.md)")
	f.Numbers, f.weight = map[string]float64{"packets": float64(total)}, float64(total)
}

// leastLoad is how much uplinks must have carried on average, octets: fewer are a few packets.
const leastLoad = 1 << 20

// uplinks judges how evenly the ports of role fabric share the load.
func (s *judged) uplinks() {
	role := map[string]string{}
	for _, r := range s.of("SLUICE_PORT") {
		role[r.Key] = r.Fields["role"]
	}
	var names []string
	var loads []uint64
	var total uint64
	for _, r := range s.of("SLUICE_PORT_STATS") {
		if cmp.Or(r.Fields["role"], role[r.Key]) != "fabric" {
			continue
		}
		n := s.passed(r, "tx_bytes")
		names, loads, total = append(names, r.Key), append(loads, n), total+n
	}
	if len(names) < 2 || total/uint64(len(names)) < leastLoad {
		return
	}
	spread := evenness.Of(loads)
	if spread.WorstToMean < even {
		return
	}
	level := Note
	if spread.WorstToMean >= uneven {
		level = Act
	}
	fullest := names[slices.Index(loads, slices.Max(loads))]
	found := fmt.Sprintf("%s has %.2f times the mean of %d uplinks %s", fullest, spread.WorstToMean, len(names), s.span())
	if spread.EmptyPaths > 0 {
		found += fmt.Sprintf("; %d carried nothing", spread.EmptyPaths)
	}
	f := s.add("uplinks", level, found, "sluice show placement, and docs/placement.md")
	f.Numbers = map[string]float64{"max_over_mean": spread.WorstToMean, "uplinks": float64(len(names)), "empty": float64(spread.EmptyPaths)}
	f.weight = spread.WorstToMean
}

// skews returns how far the clock of each switch is ahead: of the median of all, where three or
// more told the time, else of this machine.
func skews(all []targets.Reading) []time.Duration {
	var known []time.Duration
	for i := range all {
		if all[i].Err == nil && !all[i].At.IsZero() {
			known = append(known, all[i].Skew)
		}
	}
	var middle time.Duration
	if slices.Sort(known); len(known) > 2 {
		middle = known[len(known)/2]
	}
	off := make([]time.Duration, len(all))
	for i := range all {
		if all[i].Err == nil && !all[i].At.IsZero() {
			off[i] = all[i].Skew - middle
		}
	}
	return off
}

// clock judges the clock by how far it is ahead, which may be wrong by so much.
func (s *judged) clock(ahead, uncertain time.Duration) {
	if ahead.Abs()-uncertain <= farOff*time.Microsecond {
		return
	}
	where := "ahead"
	if ahead < 0 {
		where = "behind"
	}
	f := s.add("clock", Note, fmt.Sprintf("the clock is %.1f s %s", ahead.Abs().Seconds(), where), "run chrony or ptp4l there: IPFIX and logs of several switches are compared by time, and certificates end by it")
	f.Numbers, f.weight = map[string]float64{"ahead_s": ahead.Seconds()}, ahead.Abs().Seconds()
}

// some lists the first of several things.
func some(all []string) string {
	const few = 3
	if len(all) > few {
		return fmt.Sprintf("%s; and %d more", strings.Join(all[:few], "; "), len(all)-few)
	}
	return strings.Join(all, "; ")
}
