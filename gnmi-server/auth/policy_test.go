// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openconfig/ygot/ygot"
	"sluice/gnmi-server/paths"
)

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The longest path wins, then the one with more keys, then the user
// before the group before everybody, then the one that denies.
func TestPolicyPrefersTheMostSpecificRule(t *testing.T) {
	rule := func(who, path, action string) string {
		if who != "" {
			who = `"` + strings.Replace(who, ":", `":"`, 1) + `",`
		}
		return `{` + who + `"path":"` + path + `","mode":"read","action":"` + action + `"}`
	}
	const port = "/sonic-sluice/SLUICE_PORT/SLUICE_PORT_LIST[name=a]"
	for name, tt := range map[string]struct {
		rules []string
		want  bool
	}{
		"none":                        {nil, false},
		"everybody":                   {[]string{rule("", "/", "permit")}, true},
		"another's":                   {[]string{rule("user:bob", "/", "permit")}, false},
		"another group's":             {[]string{rule("group:guests", "/", "permit")}, false},
		"the longer path":             {[]string{rule("user:alice", "/sonic-sluice", "deny"), rule("", port, "permit")}, true},
		"more keys":                   {[]string{rule("user:alice", "/sonic-sluice/SLUICE_PORT/*", "deny"), rule("", port, "permit")}, true},
		"the user":                    {[]string{rule("user:alice", port, "permit"), rule("group:ops", port, "deny")}, true},
		"the group":                   {[]string{rule("group:ops", port, "permit"), rule("", port, "deny")}, true},
		"the one that denies":         {[]string{rule("user:alice", port, "permit"), rule("user:alice", port, "deny")}, false},
		"another path":                {[]string{rule("", "/sonic-sluice/SLUICE_PORT/SLUICE_PORT_LIST[name=b]", "permit")}, false},
		"a leaf, whatever the origin": {[]string{rule("", "/", "permit"), rule("", port+"/role", "deny")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := OpenPolicy(write(t, `{"groups":{"ops":["alice"],"guests":["eve"]},"rules":[`+strings.Join(tt.rules, ",")+`]}`), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			if got := p.For("alice", Read).Allows(paths.Lookup("SLUICE_PORT"), "a", "role"); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if p.For("alice", Write).Allows(paths.Lookup("SLUICE_PORT"), "a", "role") {
				t.Error("who may read may write")
			}
			// What a leaf is allowed, a query of it may be asked for.
			path, err := ygot.StringToStructuredPath(port + "/role")
			if err != nil {
				t.Fatal(err)
			}
			q, err := paths.Resolve(nil, path)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.For("alice", Read).AllowsSome(q); got != tt.want {
				t.Errorf("some: got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestPolicyRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"rules":[{"path":"/","mode":"look","action":"permit"}]}`:                                           `rule 1: mode "look" must be read or write`,
		`{"rules":[{"path":"/","mode":"read","action":"allow"}]}`:                                            `rule 1: action "allow" must be permit or deny`,
		`{"rules":[{"path":"/","mode":"read","action":"deny","group":"ops"}]}`:                               `rule 1: there is no group "ops"`,
		`{"rules":[{"path":"/x","mode":"read","action":"deny"}]}`:                                            `rule 1: path /x: no "x" here`,
		`{"rules":[{"path":"/","mode":"read","action":"deny","usr":"bob"}]}`:                                 `unknown field "usr"`,
		`{"groups":{"g":["a"]},"rules":[{"path":"/","mode":"read","action":"deny","user":"a","group":"g"}]}`: `only one of them can be named`,
	} {
		if _, err := OpenPolicy(write(t, text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
