// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"sluice/orchagent-ext/cli/top"
)

// TestTopKeysOfManySwitches: they scroll and pause; those about flows change nothing.
func TestTopKeysOfManySwitches(t *testing.T) {
	for keys, want := range map[string]topKeys{"jjk": {skip: 1}, "s/": {}, "p": {paused: true}, "?x": {}, "?": {help: true}, " s": {skip: page}} {
		k := topKeys{many: true}
		for i := range len(keys) {
			if quit, changed := k.press(keys[i]); quit || changed && (keys[i] == 's' || keys[i] == '/') {
				t.Errorf("%q: quit %v, changed %v", keys, quit, changed)
			}
		}
		if want.many = true; k != want {
			t.Errorf("%q: %+v, want %+v", keys, k, want)
		}
		if footer := k.footer(); footer != top.FleetFooter(want.paused) || k.page(top.Layout{}) != top.FleetHelp(top.Layout{}) {
			t.Errorf("%q: %s", keys, footer)
		}
	}
}

// TestTopKeys: what keys choose, one after the other.
func TestTopKeys(t *testing.T) {
	for keys, want := range map[string]topKeys{
		"jjk":                        {skip: 1},
		"k":                          {},
		" b":                         {},
		"  j":                        {skip: 2*page + 1},
		" jg":                        {},
		"\x1b[B\x1b[B\x1b[A":         {skip: 1},
		"\x1bOB\x1b[6~":              {skip: 1 + page},
		"\x1b[6~\x1b[5~":             {},
		" \x1b[1~":                   {},
		"\x1b[24~j\x1b[1;5C":         {skip: 1}, // keys that do nothing here
		"\x1bj\x1b\x1b[B":            {skip: 2}, // escape alone
		"\x1b[11111111111111j":       {skip: 1}, // too long
		"s":                          {order: top.ByPackets},
		"jss":                        {order: top.ByBytes},
		"p?":                         {paused: true, help: true},
		"p?xp":                       {},
		"/ab":                        {search: "ab", typing: true},
		"/qs\r":                      {search: "qs"},
		"/ab\x7fc\r":                 {search: "ac"},
		"/\u00e9\x7f":                {typing: true},
		"/a\x15b\n":                  {search: "b"},
		"jj/a":                       {search: "a", typing: true},
		"/ab\rj/\x7f\x7f\x7f\x7f\rj": {skip: 1},
		"/a\x1b[Bb":                  {search: "ab", typing: true},
		"x\x00\xff":                  {},
	} {
		if want.order == "" {
			want.order = top.ByRate
		}
		got := topKeys{order: top.ByRate}
		for _, key := range []byte(keys) {
			if quit, _ := got.press(key); quit {
				t.Errorf("%q quits", keys)
			}
		}
		if got != want {
			t.Errorf("%q: %+v, want %+v", keys, got, want)
		}
	}
	for _, keys := range []string{"q", "\x03", "?q", "/a\x03", "\x1b[\x03", "/a\rq"} {
		k := topKeys{order: top.ByRate}
		for i, key := range []byte(keys) {
			if quit, _ := k.press(key); quit != (i == len(keys)-1) {
				t.Errorf("%q: octet %d: quit is %v", keys, i, quit)
			}
		}
	}
	k := topKeys{order: top.ByRate, search: "2001:db8::1"}
	if got := k.footer(); got != "/2001:db8::1  "+top.Footer(top.ByRate, false) {
		t.Errorf("%q", got)
	}
	if k.typing = true; k.footer() != "/2001:db8::1_  Enter keeps it, Ctrl-U empties it" {
		t.Errorf("%q", k.footer())
	}
}
