// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a Screen does on a terminal is tested with command top.

func TestUTF8(t *testing.T) {
	for env, want := range map[string]bool{
		"":                                   false,
		"LANG=C.UTF-8":                       true,
		"LANG=de_DE.utf8":                    true,
		"LANG=de_DE.ISO-8859-1":              false,
		"LC_ALL=C LANG=C.UTF-8":              false,
		"LC_CTYPE=C.UTF-8 LANG=C":            true,
		"LC_ALL=POSIX LC_CTYPE=en_US.UTF-8":  false,
		"LC_ALL=en_US.UTF-8@euro LC_CTYPE=C": true,
	} {
		getenv := func(name string) string {
			for _, pair := range strings.Fields(env) {
				if v, ok := strings.CutPrefix(pair, name+"="); ok {
					return v
				}
			}
			return ""
		}
		if got := UTF8(getenv); got != want {
			t.Errorf("%s: %v, want %v", env, got, want)
		}
	}
}

func TestWhatIsNoTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, is := Is(f); is {
		t.Error("a file is a terminal")
	}
	if _, is := Is(&strings.Builder{}); is {
		t.Error("a builder is a terminal")
	}
	if _, err := Open(f, f); err == nil || !strings.Contains(err.Error(), "take the terminal over") {
		t.Errorf("a file was taken over: %v", err)
	}
}
