// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestFlagsComeWithOneDashOrTwoAndFromTheEnvironment(t *testing.T) {
	for _, tt := range []struct {
		args     string
		name     string
		json     bool
		reported string // "": the command line is right
	}{
		{"", "env", false, ""},
		{"--name a --json", "a", true, ""},
		{"-name a -json", "a", true, ""},
		{"-name=-json", "-json", false, ""},
		{"--name -unknown", "-unknown", false, ""},
		{"--json=false -name=a=b", "a=b", false, ""},
		{"a", "env", false, `unexpected "a"`},
		{"-- -json", "env", false, `unexpected "--json"`},
		{"--other", "env", false, "--other"},
		{"-other", "env", false, "-other"},
		{"--name", "env", false, "--name"},
		{"--json=maybe", "env", false, "maybe"},
	} {
		s := New("program", "help", func(v string) string { return map[string]string{"NAME": "env"}[v] }, io.Discard)
		name := s.String("name", s.Or("NAME", "none"), "`text`")
		json := s.Bool("json", s.Or("JSON", "no") != "no", "")
		err := s.Parse(strings.Fields(tt.args))
		if (err == nil) != (tt.reported == "") || err != nil && !strings.Contains(err.Error(), tt.reported) {
			t.Errorf("%q: %v", tt.args, err)
		}
		if err == nil && (*name != tt.name || *json != tt.json) {
			t.Errorf("%q: name %q, json %v", tt.args, *name, *json)
		}
	}
}

func TestHelpHasTheTextAndTheFlags(t *testing.T) {
	for _, arg := range []string{"-h", "-help", "--help"} {
		var out strings.Builder
		s := New("program", "program does it.\n\nFlags:\n", func(string) string { return "" }, &out)
		s.String("name", "a", "`text` of it")
		err := s.Parse([]string{arg})
		if !errors.Is(err, ErrHelp) || out.String() != "program does it.\n\nFlags:\n      --name text   text of it (default \"a\")\n" {
			t.Errorf("%s: %v\n%s", arg, err, out.String())
		}
	}
}
