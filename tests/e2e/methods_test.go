// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/testbed/orchagenttest"
)

// soak reports whether there is time: loops are longer, and every way is tried.
var soak = os.Getenv("SLUICE_SOAK") != ""

// soakOnly leaves a test to make soak.
func soakOnly(t *testing.T) {
	t.Helper()
	if !soak {
		t.Skip("make soak runs it: it takes long, or loads the machine")
	}
}

// way is a way to meet the need of flow labels, by which fault tests run.
type way struct {
	name   string
	method engine.Method
	args   []string // of sluiced
	long   bool     // only where there is time
}

const hidden = "SLUICE_HIDE="

var ways = []way{
	{name: "compute", method: engine.Compute},
	{name: "compute,queues", method: engine.Compute, args: []string{"--sai-profile", withQueues}, long: true},
	{name: "rewrite", method: engine.Rewrite, args: rewriting, long: true},
	{name: "rewrite,queues", method: engine.Rewrite, args: append([]string{"--sai-profile", withQueues}, rewriting...)},
	{name: "hash", method: engine.Hash, args: []string{"--sai-profile", hidden + "compute,rewrite"}, long: true},
	{name: "hash,queues", method: engine.Hash, args: []string{"--sai-profile", hidden + "compute,rewrite", "--sai-profile", withQueues}, long: true},
	{name: "udf-hash", method: engine.UDFHash, args: []string{"--sai-profile", hidden + "compute,rewrite,hash"}, long: true},
	{name: "udf-hash,queues", method: engine.UDFHash, args: []string{"--sai-profile", hidden + "compute,rewrite,hash", "--sai-profile", withQueues}, long: true},
	{name: "orchagent", method: engine.Hash, args: []string{"--sai-library", ""}},
}

// byMethod runs a test by every method of the driver sai, with queues and without,
// and by the driver orchagent, at once. sluiced is started with flow labels off.
func byMethod(t *testing.T, test func(t *testing.T, l *leaf)) { by(t, ways, test) }

// bySAI leaves out the driver orchagent.
func bySAI(t *testing.T, test func(t *testing.T, l *leaf)) { by(t, ways[:len(ways)-1], test) }

func by(t *testing.T, ways []way, test func(t *testing.T, l *leaf)) {
	t.Parallel()
	for _, w := range ways {
		if w.long && !soak {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			l := newLeaf(t)
			l.way = w
			if l.driver() == "orchagent" {
				databases, err := sonicdb.Load(l.redis.Config, "")
				if err != nil {
					t.Fatal(err)
				}
				l.orchagent = orchagenttest.Start(t, databases, orchagenttest.ByName("proposed"))
				l.set("SWITCH_HASH", "GLOBAL", "ecmp_hash@", "SRC_IP,DST_IP,L4_SRC_PORT")
				l.global()
			}
			test(t, l)
		})
	}
}

// driver is the one of the way.
func (l *leaf) driver() string {
	if l.way.name == "orchagent" {
		return "orchagent"
	}
	return "sai"
}

// global writes SLUICE|global, with the driver of the way.
func (l *leaf) global(pairs ...string) {
	l.t.Helper()
	l.set("SLUICE", "global", append([]string{"driver", l.driver()}, pairs...)...)
}

// untouched is what Sluice could have changed, as text.
func (l *leaf) untouched() string {
	l.t.Helper()
	return l.forwarding() + fmt.Sprint(l.rowsOf())
}

// off waits until the kill switch has left nothing.
func (l *leaf) off() {
	l.t.Helper()
	l.awaitFields("SLUICE_STATE", "global", "state", "disabled", "objects", "0")
	l.noneLabelled()
	if objects := l.objects(); len(objects) > 0 {
		l.t.Errorf("left: %v", objects)
	}
}

// checkUntouched reports whether nothing of Sluice is left.
func (l *leaf) checkUntouched(before string) {
	l.t.Helper()
	if after := l.untouched(); after != before {
		l.t.Errorf("forwarding was\n%s\nand is\n%s", before, after)
	}
}

// writes reports whether packets get a label; otherwise ECMP hashes the queue pair.
func (l *leaf) writes() bool {
	return l.way.method == engine.Compute || l.way.method == engine.Rewrite || l.way.method == ""
}

// learned has the CPU know all flows of [leaf.sessions], where it is the one that
// computes labels.
func (l *leaf) learned() {
	l.t.Helper()
	if l.way.method != engine.Rewrite || l.row("SLUICE_STATE", "global")["flows"] == "64" {
		return
	}
	l.send(l.sessions(2))
	l.awaitFields("SLUICE_STATE", "global", "flows", "64")
}

// checkLabels reports whether packets of sessions have the label that the method gives.
func (l *leaf) checkLabels(n int, a flow.Algorithm) {
	l.t.Helper()
	right, none, wrong := labels(l.t, l.send(l.sessions(n)), a)
	switch {
	case l.writes() && none+wrong > 0:
		l.t.Errorf("labels: %d right, %d missing, %d wrong", right, none, wrong)
	case !l.writes() && right+wrong > 0:
		l.t.Errorf("method %s: %d packets have a label", l.way.method, right+wrong)
	}
}

// checkNoFault reports whether sluiced had no fault so far.
func (l *leaf) checkNoFault() {
	l.t.Helper()
	for _, word := range []string{"panic", "loop failed"} {
		if strings.Contains(l.log.String(), word) {
			l.t.Errorf("sluiced says %q", word)
		}
	}
}

// TestDryRunByMethod: beside a sluiced that is in step a dry run has nothing to do,
// also where flows have entries, where packets are exported, and where a row is not valid.
func TestDryRunByMethod(t *testing.T) {
	byMethod(t, func(t *testing.T, l *leaf) {
		l.start()
		l.enable()
		l.allLabelled()
		dry := func() string {
			t.Helper()
			return l.in(bin+"sluiced", "--db-config", l.redis.Config, "--dry-run")
		}
		want := "nothing to do (method: " + string(l.way.method) + ")\n"
		if got := dry(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if l.driver() == "sai" {
			l.set("SLUICE_IPFIX_COLLECTOR", "c1", "address", "127.0.0.1", "port", "9")
			l.set("SLUICE_IPFIX", "global", "admin_state", "enabled")
			if !l.exporting() {
				t.Fatal("no object samples packets")
			}
			if got := dry(); got != want {
				t.Errorf("with an export: %q, want %q", got, want)
			}
		}
		l.labels("algorithm", "md5")
		l.awaitFields("SLUICE_STATE", "global", "config_errors", "1")
		if got := dry(); !strings.HasPrefix(got, "not in force: SLUICE_FLOW_LABEL|global") || !strings.HasSuffix(got, want) {
			t.Errorf("with a bad row: %q", got)
		}
	})
}
