// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"
	"testing"
)

// TestSpellingsOfAKeyAreOneRow: each command finds the row that CONFIG_DB has, whatever way the
// address of its key is written, and there is never a second one.
func TestSpellingsOfAKeyAreOneRow(t *testing.T) {
	gateway := table(t, "ppfc-gateway")
	for _, spelling := range []string{"2001:db8::/32", "2001:DB8::/32", "2001:0db8:0::0/32", "2001:db8::1/32"} {
		for name, tt := range map[string]struct {
			change Change
			want   string
		}{
			"set":          {gateway.Set(spelling, map[string]string{"gateway": "2001:db8::2"}), "-SLUICE_PPFC_GATEWAY|2001:Db8::/32 gateway 2001:db8::1; +SLUICE_PPFC_GATEWAY|2001:Db8::/32 gateway 2001:db8::2"},
			"del":          {gateway.Del(spelling, ""), "-SLUICE_PPFC_GATEWAY|2001:Db8::/32 gateway 2001:db8::1"},
			"load":         {load(t, `{"SLUICE_PPFC_GATEWAY":{"`+spelling+`":{"gateway":"2001:db8::2"}}}`), "-SLUICE_PPFC_GATEWAY|2001:Db8::/32 gateway 2001:db8::1; +SLUICE_PPFC_GATEWAY|2001:Db8::/32 gateway 2001:db8::2"},
			"load, same":   {load(t, `{"SLUICE_PPFC_GATEWAY":{"`+spelling+`":{"gateway":"2001:db8::1"}}}`), ""},
			"load of null": {load(t, `{"SLUICE_PPFC_GATEWAY":{"`+spelling+`":null}}`), "-SLUICE_PPFC_GATEWAY|2001:Db8::/32 gateway 2001:db8::1"},
		} {
			c := configured()
			c["SLUICE_PPFC_GATEWAY|2001:Db8::/32"] = row("SLUICE_PPFC_GATEWAY|2001:Db8::/32", "gateway", "2001:db8::1")
			_, edits, err := c.Apply(tt.change)
			if got := said(Lines(edits)); err != nil || got != tt.want {
				t.Errorf("%s %s: %s, %v; want %s", name, spelling, got, err, tt.want)
			}
		}
	}
	// A row that is new has the spelling of the command, and two of a file contradict each other.
	c := configured()
	_, edits, err := c.Apply(gateway.Set("2001:DB8::/32", map[string]string{"gateway": "2001:db8::2"}))
	if got := said(Lines(edits)); err != nil || got != "+SLUICE_PPFC_GATEWAY|2001:DB8::/32 gateway 2001:db8::2" {
		t.Errorf("%s, %v", got, err)
	}
	_, _, err = c.Apply(load(t, `{"SLUICE_PPFC_GATEWAY":{"2001:db8::/32":{"gateway":"2001:db8::1"},"2001:DB8::/32":{"gateway":"2001:db8::2"}}}`))
	if err == nil || !strings.Contains(err.Error(), "is the same as") {
		t.Errorf("two spellings in a file: %v", err)
	}
}

// load is the change by a file.
func load(t *testing.T, text string) Change {
	t.Helper()
	f, err := Parse(strings.NewReader(text), "")
	if err != nil {
		t.Fatal(err)
	}
	return f.Load()
}

// TestFileInTheSpellingOfTheConfiguration: so `sluice diff FILE` shows no difference of
// spellings alone.
func TestFileInTheSpellingOfTheConfiguration(t *testing.T) {
	f, err := Parse(strings.NewReader(`{"SLUICE_PPFC_PEER":{"2001:DB8::/32":{},"10.0.0.0/8":{}}}`), "")
	if err != nil {
		t.Fatal(err)
	}
	now := NewConfig(append(f.Rows[:0:0], row("SLUICE_PPFC_PEER|2001:db8::/32"), row("SLUICE_PPFC_PEER|10.1.0.0/8")))
	if edits := Compare(NewConfig(f.In(now)), now); len(edits) > 0 {
		t.Errorf("%+v", edits)
	}
}
