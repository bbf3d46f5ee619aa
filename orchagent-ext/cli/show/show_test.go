// SPDX-License-Identifier: Apache-2.0

package show

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sluice/orchagent-ext/cli/output"
	"sluice/yang/rows"
)

// row makes a row of a name and pairs of field and value.
func row(name string, pairs ...string) rows.Row {
	table, key, _ := strings.Cut(name, "|")
	r := rows.Row{Table: table, Key: key, Fields: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		r.Fields[pairs[i]] = pairs[i+1]
	}
	return r
}

func say(t *testing.T, verb string, o Options, people bool, all ...rows.Row) *Answer {
	t.Helper()
	for _, v := range Verbs {
		if v.Name == verb {
			a, err := v.Show(NewData(all), o, people)
			if err != nil {
				t.Fatalf("%s: %v", verb, err)
			}
			return a
		}
	}
	t.Fatalf("no verb %s", verb)
	return nil
}

var onASwitch = []rows.Row{
	row("SLUICE_STATE|global", "state", "running"), row("PORT|Ethernet0"), row("PORT|Ethernet4"), row("PORT|Ethernet12"),
	row("SLUICE_PORT|Ethernet4", "role", "edge", "threshold", "gold"), row("SLUICE_PORT|Ethernet12"),
	row("SLUICE_PORT_STATS|Ethernet0", "oper_status", "up", "rx_packets", "5", "rx_bytes", "500", "tx_packets", "0", "tx_bytes", "0"),
	row("PORTCHANNEL_MEMBER|PortChannel1|Ethernet4"), row("PORTCHANNEL|PortChannel1"), row("PORTCHANNEL|PortChannel2"),
	row("SLUICE_QUEUE_STATS|Ethernet4|3", "queued_bytes", "7", "watermark_bytes", "900", "packets", "4", "bytes", "400", "dropped", "1"),
	row("SLUICE_QUEUE_STATS|Ethernet4|4", "queued_bytes", "0", "watermark_bytes", "0", "packets", "0", "bytes", "0", "dropped", "0"),
	row("SLUICE_FLOW|a", "dest_qp", "17", "bytes", "9"), row("SLUICE_FLOW|b", "dest_qp", "18", "bytes", "8"),
}

func TestPortsHaveTheirLinkRoleAndCounters(t *testing.T) {
	want := `Port        Link    Role    Labels    Threshold    Rx packets    Rx bytes    Tx packets    Tx bytes
----------  ------  ------  --------  -----------  ------------  ----------  ------------  ----------
Ethernet0   up      -       -         -            5             500         0             0
Ethernet4   -       edge    yes       gold         -             -           -             -
Ethernet12  -       fabric  no        -            -             -           -             -
`
	if got := say(t, "ports", Options{}, true, onASwitch...).Text(output.Style{}); got != want {
		t.Errorf("%s", got)
	}
	if got := say(t, "ports", Options{Port: "PortChannel1"}, true, onASwitch...).Text(output.Style{}); strings.Count(got, "\n") != 3 || !strings.Contains(got, "Ethernet4 ") {
		t.Errorf("%s", got)
	}
}

func TestRowsAreInForceWhereSluicedRuns(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	port := row("SLUICE_PORT|Ethernet0", "role", "edge")
	alive := func(ago time.Duration) rows.Row {
		return row("SLUICE_STATE|global", "state", "running", "alive", now.Add(-ago).Format(time.RFC3339))
	}
	for _, tt := range []struct {
		name string
		rows []rows.Row
		want string
	}{
		{"runs", []rows.Row{port, alive(time.Second)}, "yes"},
		{"does not run", []rows.Row{port}, "no: sluiced is not running"},
		{"is silent", []rows.Row{port, alive(6 * time.Second)}, "unknown: sluiced is silent"},
		{"calls it wrong", []rows.Row{port, alive(time.Second), row("SLUICE_CONFIG_ERROR|SLUICE_PORT|Ethernet0", "reason", "x")}, "no: see status"},
	} {
		text := strings.TrimSpace(say(t, "config", Options{Now: now}, true, tt.rows...).Text(output.Style{}))
		if !strings.HasSuffix(text, "  "+tt.want) {
			t.Errorf("%s:\n%s", tt.name, text)
		}
	}
}

func TestEachVerbMarksWhatADeadDaemonWrote(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, v := range Verbs {
		for ago, want := range map[time.Duration]bool{0: false, 5 * time.Second: false, 6 * time.Second: true, 24 * time.Hour: true, -time.Hour: false} {
			state := row("SLUICE_STATE|global", "state", "running", "alive", now.Add(-ago).Format(time.RFC3339))
			a := say(t, v.Name, Options{Now: now}, true, state)
			if got := a.Stale != nil; got != want || strings.HasPrefix(a.Text(output.Style{}), "stale: ") != want {
				t.Errorf("%s, %v after the last sign of life: %v, %q", v.Name, ago, a.Stale, a.Text(output.Style{}))
			}
		}
	}
}

func TestQueuesThatHadPacketsAreShown(t *testing.T) {
	want := `Port       Queue    Bytes now    Most    Packets    Bytes    Dropped
---------  -------  -----------  ------  ---------  -------  ---------
Ethernet4  3        7            900     4          400      1
`
	if got := say(t, "queues", Options{}, true, onASwitch...).Text(output.Style{}); got != want {
		t.Errorf("%s", got)
	}
	if got := say(t, "queues", Options{All: true}, true, onASwitch...).Text(output.Style{}); strings.Count(got, "\n") != 4 {
		t.Errorf("--all: %s", got)
	}
	if got := say(t, "queues", Options{Port: "Ethernet0"}, true, onASwitch...).Text(output.Style{}); got != "No egress queues are known.\n" {
		t.Errorf("%q", got)
	}
}

func TestFlowsOfAQueuePair(t *testing.T) {
	qp := uint32(18)
	if got := say(t, "flows", Options{QP: &qp}, true, onASwitch...).JSON.([]any); len(got) != 1 || got[0].(map[string]any)["bytes"] != json.Number("8") {
		t.Errorf("%v", got)
	}
	qp = 19
	if got := say(t, "flows", Options{QP: &qp}, true, onASwitch...).Text(output.Style{}); got != "No flows: none of the 2 is as asked for.\n" {
		t.Errorf("%q", got)
	}
}

// TestFlowsThatAreSampled have an estimate of what they sent, and how they fare; the one
// with an entry has what that counted.
func TestFlowsThatAreSampled(t *testing.T) {
	running := row("SLUICE_STATE|global", "state", "running")
	all := []rows.Row{
		running,
		row("SLUICE_FLOW|a", "src", "::1", "dst", "::2", "dest_qp", "17", "flow_label", "1", "packets", "70", "bytes", "7000", "seen_packets", "4", "seen_bytes", "400", "sampling_rate", "10", "ce_packets", "1"),
		row("SLUICE_FLOW|b", "src", "::1", "dst", "::3", "dest_qp", "18", "flow_label", "2", "seen_packets", "9", "seen_bytes", "900", "sampling_rate", "10", "ce_packets", "0", "naks_rnr", "2", "naks_access", "1"),
	}
	want := `Source    Destination    DestQP    Label    Packets    Bytes    Marked    NAKs
--------  -------------  --------  -------  ---------  -------  --------  --------------
::1       ::3            0x000012  0x00002  ~90        ~9000    0.00%     rnr:2,access:1
::1       ::2            0x000011  0x00001  70         7000     25.00%
`
	if got := say(t, "flows", Options{}, true, all...).Text(output.Style{}); got != want {
		t.Errorf("%s", got)
	}
	whole := []rows.Row{running, row("SLUICE_FLOW|b", "src", "::1", "dst", "::3", "dest_qp", "18", "flow_label", "2", "seen_packets", "9", "seen_bytes", "900", "sampling_rate", "1", "ce_packets", "0", "psn_lost", "3", "retransmitted_bytes", "64", "cnps", "0")}
	want = `Source    Destination    DestQP    Label    Packets    Bytes    Marked    Lost    Resent    NAKs    CNPs
--------  -------------  --------  -------  ---------  -------  --------  ------  --------  ------  ------
::1       ::3            0x000012  0x00002  9          900      0.00%     3       64                0
`
	if got := say(t, "flows", Options{}, true, whole...).Text(output.Style{}); got != want {
		t.Errorf("%s", got)
	}
}

func TestPortThatDoesNotExistIsAnError(t *testing.T) {
	for _, v := range Verbs {
		_, err := v.Show(NewData(onASwitch), Options{Port: "Ethernet9"}, true)
		if takes := strings.Contains(strings.Join(v.Flags, " "), "port"); takes != (err != nil) {
			t.Errorf("%s: %v", v.Name, err)
		} else if takes && err.Error() != "--port Ethernet9: there is no such port or PortChannel; there are: Ethernet0, Ethernet4, Ethernet12, PortChannel1, PortChannel2" {
			t.Errorf("%s: %v", v.Name, err)
		}
	}
}

func TestAdviceHasHostsPoliciesAndWhatWasSent(t *testing.T) {
	all := []rows.Row{
		row("SLUICE_STATE|global", "rate_advice", "failed", "rate_advice_reason", "no extension"), row("SLUICE_RATE_ADVICE|global", "rtt_us", "5"),
		row("SLUICE_RATE_ADVICE_HOST|10.0.0.0/8"), row("SLUICE_RATE_POLICY|gold", "dscp", "26", "rate_mbps", "400"), row("SLUICE_RATE_POLICY|silver", "dscp", "10", "port_percent", "30"),
		row("SLUICE_NOTIFY_STATS|rate-advice", "sent", "75", "send_failed", "0", "reaction_us_n", "4"), row("SLUICE_NOTIFY_STATS|pfcm", "sent", "9"),
	}
	want := `rate advice  failed, no extension
rtt us       5
hosts        10.0.0.0/8

Policy    Source    Destination    DSCP    Mbit/s    Port %
--------  --------  -------------  ------  --------  --------
gold      any       any            26      400       -
silver    any       any            10      -         30

Counter    Value
---------  -------
sent       75
`
	if got := say(t, "advice", Options{}, true, all...).Text(output.Style{}); got != want {
		t.Errorf("%s", got)
	}
}

func TestHostsAreListedByTheirRoundTrips(t *testing.T) {
	all := []rows.Row{
		row("SLUICE_HOST|10.0.0.1", "rtt_us", "9.5", "rtt_from", "answer", "samples", "7", "measured_at", "T"),
		row("SLUICE_HOST|2001:db8::1", "rtt_us", "20000.1", "rtt_from", "cm", "samples", "2", "measured_at", "T"),
	}
	want := `Host         RTT us    From    Samples    Last
-----------  --------  ------  ---------  ------
2001:db8::1  20000.1   cm      2          T
10.0.0.1     9.5       answer  7          T
`
	if got := say(t, "hosts", Options{}, true, append(all, onASwitch...)...).Text(output.Style{}); got != want {
		t.Errorf("%s", got)
	}
}

// What others wrote into the tables is shown, or left out, and commands no terminal.
func TestOddRowsAreShownWithoutHarm(t *testing.T) {
	var odd []rows.Row
	for _, table := range append(append(rows.Tables("CONFIG_DB"), rows.Tables("STATE_DB")...), rows.Tables("COUNTERS_DB")...) {
		for _, key := range []string{"global", "switch", "a|b|c", "", "\u00e4", "\x1b[31m"} {
			odd = append(odd, row(table+"|"+key, "state", "congested", "bytes", "many", "dest_qp", "", "flow_label", "enabled", "role", "\x1b[2J", "reason", "a\nb",
				"label_written", "many", "records", "-1", "cpu_roce", "", "read_time", "x", "action", "\u009b", "sent", "1e9", "pfcm_reason", "\u202e"))
		}
	}
	for _, v := range Verbs {
		for _, o := range []Options{{}, {Congested: true, All: true, Top: 1, Now: time.Now()}} {
			a, err := v.Show(NewData(odd), o, true)
			if err != nil {
				t.Errorf("%s: %v", v.Name, err)
				continue
			}
			if said := a.Text(output.Style{}); said == "" || strings.ContainsAny(said, "\x1b\u009b\u202e") {
				t.Errorf("%s: %.300q", v.Name, said)
			}
			if _, err := json.Marshal(a.JSON); err != nil {
				t.Errorf("%s: %v", v.Name, err)
			}
		}
	}
}

func TestColumnsAlignWithWideAndHiddenCharacters(t *testing.T) {
	b := Block{Header: []string{"A", "B"}, Rows: [][]string{{"gr\u00f6\u00dfer", "1"}, {"x\x1by", "2"}, {strings.Repeat("z", 9), ""}}}
	if got, want := (&Answer{Blocks: []Block{b}}).Text(output.Style{}), "A          B\n---------  ---\ngr\u00f6\u00dfer     1\nx\u00b7y        2\nzzzzzzzzz\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFirstHourPlacementNamesNextHopsAndPorts(t *testing.T) {
	a := say(t, "placement", Options{}, true, row("SLUICE_STATE|global", "placement", "active"),
		row("SLUICE_PLACEMENT_GROUP|Ethernet4,Ethernet8", "flows", "3"),
		row("SLUICE_PLACEMENT_MEMBER|Ethernet4,Ethernet8|Ethernet4", "weight", "1.0"))
	if !strings.Contains(a.Text(output.Style{}), "Ethernet4,Ethernet8  Ethernet4  1.0") {
		t.Errorf("no names:\n%s", a.Text(output.Style{}))
	}
	member := a.JSON.(map[string]any)["members"].([]any)[0].(map[string]any)
	if member["group"] != "Ethernet4,Ethernet8" || member["name"] != "Ethernet4" {
		t.Errorf("JSON without keys: %v", member)
	}
}

func TestFirstHourNumbersAreNumbersInJSON(t *testing.T) {
	for verb, want := range map[string]string{
		"queues": `[{"bytes":400,"dropped":1,"packets":4,"port":"Ethernet4","queue":3,"queued_bytes":7,"watermark_bytes":900},` +
			`{"bytes":0,"dropped":0,"packets":0,"port":"Ethernet4","queue":4,"queued_bytes":0,"watermark_bytes":0}]`,
		"flows":  `[{"bytes":9,"dest_qp":17},{"bytes":8,"dest_qp":18}]`,
		"config": `{"SLUICE_PORT":{"Ethernet12":{},"Ethernet4":{"role":"edge","threshold":"gold"}}}`,
	} {
		got, err := json.Marshal(say(t, verb, Options{}, true, onASwitch...).JSON)
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s, want\n%s", verb, err, got, want)
		}
	}
	hostile := say(t, "flows", Options{}, true, row("SLUICE_FLOW|a", "dest_qp", "true", "bytes", "01", "packets", "1e9"))
	if got, err := json.Marshal(hostile.JSON); err != nil || string(got) != `[{"bytes":"01","dest_qp":"true","packets":1e9}]` {
		t.Errorf("%v: %s", err, got)
	}
}

// TestCapabilityFitsTheTerminal: reasons go on in further lines, and nothing is left out.
func TestCapabilityFitsTheTerminal(t *testing.T) {
	reason := "compute: the library refuses SAI_ACL_ACTION_TYPE_SET_FLOW_LABEL with SAI_STATUS_NOT_SUPPORTED, since the switch has no such action; hash: not tried"
	d := NewData([]rows.Row{{Table: "SLUICE_CAPABILITY", Key: "switch", Fields: map[string]string{
		"flow_label_method": "rewrite", "flow_label_state": "active", "flow_label_reason": reason,
		"hold_method": "exact", "hold_state": "", "flow_label_ipv4": "not spread: IPv4 has no flow label, and the switch does not hash the queue pair, which is after the headers",
		"queues": "8", "queues_reason": "the library reports as many for each port, and the profile has no other number for them",
	}}})
	a, err := capability(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	words := func(s string) (n int) {
		for _, word := range strings.Fields(s) {
			if !strings.HasPrefix(word, "--") {
				n++
			}
		}
		return n
	}
	whole := a.Text(output.Style{})
	if !strings.Contains(whole, reason+"\n") {
		t.Errorf("a pipe gets whole lines:\n%s", whole)
	}
	for _, width := range []int{72, 80, 100, 200} {
		text := a.Text(output.Style{Width: width})
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d wide on %d: %s", n, width, line)
			}
		}
		if words(text) != words(whole) {
			t.Errorf("%d: words differ:\n%s", width, text)
		}
	}
}
