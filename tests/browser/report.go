// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Record puts a measure of a test into build/view/report.json below the root of the source, beside
// those of others. Tests of one package at a time may call it.
func Record(t *testing.T, name string, value any) {
	t.Helper()
	folder := "."
	for { // the root is above
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			break
		}
		folder = filepath.Join("..", folder)
	}
	file := filepath.Join(folder, "build", "view", "report.json")
	all := map[string]any{}
	if text, err := os.ReadFile(file); err == nil {
		err = json.Unmarshal(text, &all)
		if err != nil {
			t.Fatal(err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	all[name] = value
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %v", name, value)
}
