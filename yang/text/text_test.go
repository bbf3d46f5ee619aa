// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// hostile has every character that a terminal obeys, or that turns text around.
func hostile() string {
	var b strings.Builder
	for _, r := range [][2]rune{{0, 0x1f}, {0x7f, 0x9f}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}, {0xe0001, 0xe0001}} {
		for c := r[0]; c <= r[1]; c++ {
			b.WriteRune(c)
			b.WriteByte('x')
		}
	}
	return b.String() + "\x9b31m" // an octet that is no UTF-8
}

func TestPrintableReplacesControls(t *testing.T) {
	got := Printable(hostile())
	for _, r := range got {
		if r != 'x' && r != '·' && r != utf8.RuneError && !strings.ContainsRune("31m", r) {
			t.Errorf("%U is left", r)
		}
	}
	if !utf8.ValidString(got) {
		t.Errorf("%q is no UTF-8", got)
	}
	if s := Lines("a\n\u202eb\n"); s != "a\n·b\n" {
		t.Errorf("%q", s)
	}
	if s := "Ethernet0, größer als 日本 …"; Printable(s) != s {
		t.Errorf("%q", Printable(s))
	}
}

func TestJSONMeansTheSame(t *testing.T) {
	want := map[string]string{"a": strings.ToValidUTF8(hostile(), ""), "größer": "日本 😀"}
	var encoded bytes.Buffer
	e := json.NewEncoder(&encoded)
	e.SetIndent("", "\t")
	if err := e.Encode(want); err != nil {
		t.Fatal(err)
	}
	safe := JSON(encoded.Bytes())
	var got map[string]string
	if err := json.Unmarshal(safe, &got); err != nil || got["a"] != want["a"] || got["größer"] != want["größer"] {
		t.Errorf("%v: %q", err, safe)
	}
	for _, r := range string(safe) {
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' {
			t.Errorf("%U is left", r)
		}
	}
	if !bytes.Contains(safe, []byte("日本 😀")) {
		t.Errorf("%s", safe)
	}
}

func TestCutKeepsCharacters(t *testing.T) {
	for _, tt := range []struct{ s, want string }{
		{"", ""}, {"12345", "12345"}, {"123456", "12345… (6 bytes)"}, {"1234ö", "1234… (6 bytes)"}, {"123öx7", "123ö… (7 bytes)"},
		{"\x80\x80\x80\x80\x80\x80\x80\x80", "\x80… (8 bytes)"},
	} {
		if got := Cut(tt.s, 5); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.s, got, tt.want)
		}
	}
}

// Each value is one line, in one write, and means the same.
func TestEncoderWritesWhatATerminalMayShow(t *testing.T) {
	var out bytes.Buffer
	e := NewEncoder(&out)
	values := []string{"plain", "a\u009b31m\u202eb\u200bc\x1b[2J\x7f\U000e0001", "\u00e9"}
	for _, v := range values {
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); Lines(got) != got {
		t.Errorf("%q", got)
	}
	d := json.NewDecoder(&out)
	for _, want := range values {
		var got string
		if err := d.Decode(&got); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}
