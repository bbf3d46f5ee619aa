// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/yang/rows"
)

// TestKillSwitch: SLUICE|global admin_state=disabled leaves nothing of Sluice, and
// enabled brings it back.
func TestKillSwitch(t *testing.T) {
	byMethod(t, func(t *testing.T, l *leaf) {
		before := l.untouched()
		l.start()
		l.enable()
		l.allLabelled()
		l.global("admin_state", "disabled")
		l.off()
		l.global()
		l.awaitFields("SLUICE_STATE", "global", "state", "running", "flow_label", "active")
		l.allLabelled()
		l.global("admin_state", "disabled")
		l.off()
		l.stop()
		l.checkUntouched(before)
	})
}

// TestKilledWhileFlowsCome: whatever was just being created, nothing is left behind
// when Sluice is switched off.
func TestKilledWhileFlowsCome(t *testing.T) {
	l := newLeaf(t)
	before := l.forwarding()
	hide := []string{"--sai-profile", "SLUICE_HIDE=compute"}
	l.start(hide...)
	l.enable()
	l.awaitFields("SLUICE_CAPABILITY", "switch", "flow_label_method", "rewrite")
	const rounds, each = 6, 256
	for round := range rounds {
		var frames [][]byte
		for packets := range 2 * each {
			frames = append(frames, l.frame(packet{qp: uint32(0x1000 + round*each + packets%each)}))
		}
		l.send(frames)
		l.sluiced.Kill()
		l.launch(hide...)
		l.awaitFields("SLUICE_STATE", "global", "state", "running")
	}
	l.set("SLUICE", "global", "admin_state", "disabled")
	l.awaitFields("SLUICE_STATE", "global", "state", "disabled", "objects", "0")
	l.stop()
	if after := l.forwarding(); after != before {
		t.Errorf("forwarding was\n%sand is\n%s", before, after)
	}
}

// TestBadRowsByMethod: what is wrong is said, and what was right stays in force.
func TestBadRowsByMethod(t *testing.T) {
	byMethod(t, func(t *testing.T, l *leaf) {
		l.start()
		l.enable()
		for _, tt := range []struct {
			table, key    string
			fields        []string
			field, reason string
		}{
			{"SLUICE_FLOW_LABEL", "global", []string{"admin_state", "enabled", "manage_switch_hash", "true", "algorithm", "md5"}, "algorithm", "draft-literal, crc32"},
			{"SLUICE_PORT", "Ethernet400", []string{"role", "edge"}, "", "Ethernet400"},
			{"SLUICE_PPFC_PEER", "no-prefix", nil, "", "prefix"},
		} {
			l.set(tt.table, tt.key, tt.fields...)
			row := l.await("SLUICE_CONFIG_ERROR", tt.table+"|"+tt.key, func(f map[string]string) bool { return f["reason"] != "" })
			text := fmt.Sprint(row)
			if tt.field != "" && row["field"] != tt.field || !strings.Contains(text, tt.reason) {
				t.Errorf("%s|%s: %v, want field %q and %q", tt.table, tt.key, row, tt.field, tt.reason)
			}
		}
		l.allLabelled()
		l.awaitFields("SLUICE_STATE", "global", "config_errors", "3", "flow_label", "active")

		// The next process knows what was right.
		objects := l.objects()
		l.kill()
		l.launch()
		l.awaitFields("SLUICE_STATE", "global", "state", "running", "config_errors", "3", "flow_label", "active")
		l.allLabelled()
		if now := l.objects(); !maps.Equal(now, objects) {
			t.Errorf("objects were %v and are %v", objects, now)
		}
		l.remove("SLUICE_PORT", "Ethernet400")
		l.remove("SLUICE_PPFC_PEER", "no-prefix")
		l.enable("algorithm", "crc32")
		l.awaitFields("SLUICE_STATE", "global", "config_errors", "0")
		if l.way.method != engine.Rewrite { // whose flows keep their labels
			l.checkLabels(1, flow.CRC32)
		}
	})
}

// TestPortChannel: a PortChannel names its members, followed as they change.
func TestPortChannel(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	l.remove("SLUICE_PORT", l.LeafA.Name)
	l.set("PORTCHANNEL", "PortChannel1", "admin_status", "up")
	l.set("SLUICE_PORT", "PortChannel1", "role", "edge")
	l.start()
	l.set("SLUICE_FLOW_LABEL", "global", "admin_state", "enabled", "manage_switch_hash", "true")
	l.await("SLUICE_STATE", "global", func(f map[string]string) bool { return strings.Contains(f["warnings"], "no port is to be labelled") })
	l.noneLabelled()
	l.set("PORTCHANNEL_MEMBER", "PortChannel1|"+l.LeafA.Name)
	l.awaitFields("SLUICE_STATE", "global", "state", "running")
	l.allLabelled()
	l.remove("PORTCHANNEL_MEMBER", "PortChannel1|"+l.LeafA.Name)
	l.awaitFields("SLUICE_STATE", "global", "state", "degraded")
	l.noneLabelled()
}

// TestRedisRestartsByMethod: Redis is killed and comes back, with what it had or
// empty, while rows change. Everything is in step afterwards.
func TestRedisRestartsByMethod(t *testing.T) {
	byMethod(t, func(t *testing.T, l *leaf) {
		l.start()
		l.enable()
		l.allLabelled()
		objects := l.objects()
		if len(objects) == 0 {
			t.Fatal("no objects")
		}
		for _, empty := range []bool{false, true} {
			if empty && l.driver() == "orchagent" {
				break // whose rows are gone with the others: orchagent has nothing left to program
			}
			if err := l.redis.Restart(empty); err != nil {
				t.Fatal(err)
			}
			algorithm := "crc32"
			if empty { // what is on the switch is kept until SONiC has loaded its configuration
				l.await("SLUICE_STATE", "global", func(f map[string]string) bool { return strings.Contains(f["warnings"], "lost its PORT rows") })
				for deadline := time.Now().Add(patience); !equalKeys(l.objects(), objects); time.Sleep(poll) {
					if time.Now().After(deadline) {
						t.Fatalf("objects were %v and are %v", objects, l.objects())
					}
				}
				l.ports()
				algorithm = "draft-literal"
			}
			l.global()
			l.enable("algorithm", algorithm)
			for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
				now := l.objects()
				entry := l.row("SLUICE_ASIC_OBJECT", now["label/compute"])
				if equalKeys(now, objects) && (l.way.method != engine.Compute || strings.Contains(entry["attributes"], algorithm)) {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("the ledger has %v and %v, want %v and %s", now, entry, objects, algorithm)
				}
			}
			if l.way.method == engine.Compute && !empty {
				l.checkLabels(1, flow.CRC32)
			} else {
				l.allLabelled()
			}
		}
	})
}

func equalKeys(a, b map[string]string) bool {
	return maps.EqualFunc(a, b, func(_, _ string) bool { return true })
}

// TestPortsComeAndGo: a port is taken in when its netdev and its row are there, in
// whichever order, also as another netdev of the name; the others forward on.
func TestPortsComeAndGo(t *testing.T) {
	byMethod(t, func(t *testing.T, l *leaf) {
		l.start()
		l.enable()
		l.allLabelled()
		const add = "ip link add new0 up type veth peer name far0" // one that is down is warned of after a while
		netdev := func() { l.in("sh", "-c", add) }
		row := func() {
			l.set("PORT", "new0", "admin_status", "up")
			l.set("SLUICE_PORT", "new0", "role", "edge")
		}
		netdev()
		row()
		l.awaitPort("new0", true)
		l.allLabelled()
		l.in("ip", "link", "del", "new0")
		if l.writes() {
			l.await("SLUICE_STATE", "global", func(f map[string]string) bool {
				return f["state"] == "degraded" && strings.Contains(f["warnings"], "there is no network device new0")
			})
		}
		l.awaitPort("new0", false)
		l.allLabelled()
		netdev() // its row is there
		l.awaitPort("new0", true)
		l.awaitFields("SLUICE_STATE", "global", "state", "running", "flow_label", "active")
		l.in("sh", "-c", "ip link del new0 && "+add)
		l.awaitPort("new0", true)
		l.allLabelled()
		l.remove("SLUICE_PORT", "new0")
		l.remove("PORT", "new0")
		l.awaitPort("new0", false)
		l.awaitFields("SLUICE_STATE", "global", "state", "running", "flow_label", "active", "flow_label_method", string(l.way.method))
		l.allLabelled()
	})
}

// awaitPort waits until a port is taken in, or no longer: its counters are read, and
// what labels is bound to it. orchagent has ports of its own.
func (l *leaf) awaitPort(name string, want bool) {
	l.t.Helper()
	if l.driver() == "orchagent" {
		return
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
		all, err := l.countersDB.Get(l.t.Context(), rows.Row{Table: "SLUICE_PORT_STATS", Key: name})
		if err != nil {
			l.t.Fatal(err)
		}
		programs := strings.Count(l.in("sh", "-c", "tc filter show dev "+name+" ingress 2>/dev/null || :"), "direct-action")
		bound := l.objects()["port/"+name] != ""
		if (len(all) > 0) == want && (!l.writes() || bound == want && (programs > 0) == want) {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("counters of %s: %v, bound: %t, %d programs; want it taken in: %t", name, all, bound, programs, want)
		}
	}
}

// TestKilledSluicedCostsNoPacketAndNoLabel: kill -9 under traffic costs no packet and no label; the next process
// takes over the objects on the switch, and creates nothing twice.
func TestKilledSluicedCostsNoPacketAndNoLabel(t *testing.T) {
	byMethod(t, func(t *testing.T, l *leaf) {
		l.start()
		l.enable()
		l.allLabelled()
		was, count := l.objects(), l.row("SLUICE_STATE", "global")["objects"]
		programs := l.programs()
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.sluiced.Kill()
		}()
		l.checkLabels(200, flow.DraftLiteral)
		<-done
		l.checkLabels(2, flow.DraftLiteral) // while no sluiced runs
		l.kill()

		restarted := time.Now()
		l.launch()
		l.checkLabels(200, flow.DraftLiteral)
		l.awaitFields("SLUICE_STATE", "global", "state", "running", "flow_label", "active", "objects", count)
		t.Logf("in step again after %v", time.Since(restarted))
		if now := l.objects(); !maps.Equal(now, was) {
			t.Errorf("objects were %v and are %v", was, now)
		}
		if now := l.programs(); now != programs {
			t.Errorf("%d programs on ports, and then %d", programs, now)
		}
		l.allLabelled()
	})
}

// TestKillAndLostLedger: sluiced was killed, and STATE_DB forgot what it had created.
// The next process begins with nothing, and leaves nothing behind of the old.
func TestKillAndLostLedger(t *testing.T) {
	bySAI(t, func(t *testing.T, l *leaf) { // rows of the other driver are lost with Redis
		before := l.untouched()
		l.start()
		l.enable()
		l.allLabelled()
		programs := l.programs()
		l.sluiced.Kill()
		if err := l.redis.Restart(true); err != nil {
			t.Fatal(err)
		}
		l.ports()
		l.start()
		l.enable()
		l.allLabelled()
		if now := l.programs(); now != programs {
			t.Errorf("%d programs on ports, and then %d", programs, now)
		}
		l.global("admin_state", "disabled")
		l.off()
		l.stop()
		l.checkUntouched(before)
	})
}

// programs counts the programs on the leaf's ports.
func (l *leaf) programs() int {
	n := 0
	for _, p := range append([]*fabric.Interface{l.LeafA}, l.Uplinks...) {
		n += strings.Count(l.in("tc", "filter", "show", "dev", p.Name, "ingress"), "direct-action")
	}
	return n
}

// TestColdStopByMethod: with warm_restart disabled sluiced takes everything with it.
func TestColdStopByMethod(t *testing.T) {
	byMethod(t, func(t *testing.T, l *leaf) {
		before := l.untouched()
		l.global("warm_restart", "disabled")
		l.start()
		l.enable()
		l.allLabelled()
		l.stop()
		l.noneLabelled()
		l.checkUntouched(before)
		if objects := l.objects(); len(objects) > 0 {
			t.Errorf("left: %v", objects)
		}
	})
}
