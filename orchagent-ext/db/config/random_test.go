// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// Whatever changes in whatever order: a row that is not rejected is in force as
// it is configured, and what is in force refers only to rows in force.
func TestRandomChanges(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	pick := func(s ...string) string { return s[random.IntN(len(s))] }
	changes := map[string]func() sonicdb.Change{
		"port":    func() sonicdb.Change { return set("PORT", pick("Ethernet0", "Ethernet4"), nil) },
		"channel": func() sonicdb.Change { return set("PORTCHANNEL", "PortChannel1", nil) },
		"threshold": func() sonicdb.Change {
			return set("SLUICE_THRESHOLD", pick("a", "b"), fields{"high_bytes": pick("0", "1", "9")})
		},
		"our port": func() sonicdb.Change {
			return set("SLUICE_PORT", pick("Ethernet0", "Ethernet4", "PortChannel1"), fields{"threshold": pick("a", "b", "c"), "role": pick("edge", "edge", "core")})
		},
		"peer": func() sonicdb.Change {
			return set("SLUICE_PPFC_PEER", pick("10.0.0.0/8", "10.1.0.0/8", "::/0", "::1/0", "x"), nil)
		},
		"global": func() sonicdb.Change { return set("SLUICE", "global", fields{"flow_capacity": pick("2000", "1")}) },
	}
	kinds := slices.Sorted(maps.Keys(changes))
	st, now := New(), make(map[string]rows.Row)
	for range 2000 {
		c := changes[pick(kinds...)]()
		if random.IntN(3) == 0 {
			c = del(c.Row.Table, c.Row.Key)
			delete(now, c.Row.Name())
		} else {
			now[c.Row.Name()] = c.Row
		}
		s, fresh := st.Apply([]sonicdb.Change{c})

		rejected := make(map[string]bool)
		for _, r := range s.Rejections {
			rejected[r.Table+"|"+r.Key] = true
		}
		for _, r := range fresh {
			if !rejected[r.Table+"|"+r.Key] {
				t.Fatalf("%v is new, and not in the snapshot", r)
			}
		}
		for name, r := range now {
			if rejected[name] || !slices.Contains(rows.Tables("CONFIG_DB"), r.Table) {
				continue
			}
			want, err := rows.Decode(r)
			if err != nil {
				t.Fatalf("%v is not rejected", err)
			}
			rows.Fill(want)
			var got any
			switch r.Table {
			case "SLUICE":
				got = s.Global
			case "SLUICE_PORT":
				got = s.Ports[r.Key]
			case "SLUICE_THRESHOLD":
				got = s.Thresholds[r.Key]
			case "SLUICE_PPFC_PEER":
				got = s.PPFCPeers[r.Key]
			}
			if diff := cmp.Diff(any(want), got); diff != "" {
				t.Fatalf("%s is not in force as configured (-want +got):\n%s", name, diff)
			}
		}
		for key, p := range s.Ports {
			_, port := s.SwitchPorts[key]
			_, channel := s.PortChannels[key]
			if !port && !channel || s.Thresholds[*p.Threshold] == nil {
				t.Fatalf("port %s refers to what is not there", key)
			}
			if _, there := now["SLUICE_PORT|"+key]; !there {
				t.Fatalf("port %s was deleted", key)
			}
		}
		canonical := make(map[string]bool)
		for key := range s.PPFCPeers {
			k := rows.Row{Table: "SLUICE_PPFC_PEER", Key: key}.CanonicalKey()
			if canonical[k] {
				t.Fatalf("two peers are %s", k)
			}
			canonical[k] = true
		}
	}
}
