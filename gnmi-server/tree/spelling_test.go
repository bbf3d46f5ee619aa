// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sluice/gnmi-server/paths"
	"sluice/orchagent-ext/db/sonicdb"
)

// spellings are keys of SLUICE_PPFC_PEER that mean the same.
var spellings = []string{"2001:db8::/32", "2001:DB8::/32", "2001:0db8:0::0/32", "2001:db8::1/32"}

// TestSpellingsOfAKeyAreOneRow: a path finds the row of a key in another spelling by Get, by
// Select of a stream, and by its changes, in both styles. Answers have the spelling of the
// database. Keys of texts have one spelling.
func TestSpellingsOfAKeyAreOneRow(t *testing.T) {
	const table = "SLUICE_PPFC_PEER"
	paths6 := func(key string) map[string]string {
		return map[string]string{
			"":         "/sonic-sluice/" + table + "/" + table + "_LIST[prefix=" + key + "]",
			"sonic-db": "/CONFIG_DB/localhost/" + table + "/" + strings.ReplaceAll(key, "/", `\/`),
		}
	}
	for _, there := range spellings {
		for _, asked := range spellings {
			for origin := range paths6("") {
				q := query(t, origin, paths6(asked)[origin])
				s := Snapshot{paths.Lookup(table): {there: nil, "2001:db9::/32": nil}}
				if got := s.Leaves(q); len(got) != 1 || got[0].Key != there {
					t.Errorf("Get %q of %s where the row is %s: %v", origin, asked, there, named(got))
				}
				l, change := NewLive(), &heard{}
				l.Subscribe(change, q)
				l.Apply("CONFIG_DB", sonicdb.Batch{Changes: []sonicdb.Change{row(table, there, texts{}), row(table, "2001:db9::/32", texts{})}})
				if got := l.Select(q); len(got) != 1 || got[0].Leaf().Key != there {
					t.Errorf("Select %q of %s where the row is %s: %d cells", origin, asked, there, len(got))
				}
				l.Apply("CONFIG_DB", sonicdb.Batch{Changes: []sonicdb.Change{gone(table, there)}})
				if len(change.changes) != 2 {
					t.Errorf("Subscribe %q of %s where the row is %s: %q", origin, asked, there, change.changes)
				}
			}
		}
	}
	q := query(t, "", "/sonic-sluice-state/SLUICE_HOST/SLUICE_HOST_LIST[address=2001:DB8:0::1]")
	s := Snapshot{paths.Lookup("SLUICE_HOST"): {"2001:db8::1": nil}}
	if got := s.Leaves(q); len(got) == 0 {
		t.Error("an address of STATE_DB in another spelling is not found")
	}
	q = query(t, "", "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=Gold]")
	s = Snapshot{paths.Lookup("SLUICE_THRESHOLD"): {"gold": {"high_bytes": "7"}}}
	if diff := cmp.Diff(texts{}, named(s.Leaves(q))); diff != "" {
		t.Errorf("a name in another case: %s", diff)
	}
}
