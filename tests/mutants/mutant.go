// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// root is the root of the tree, from this folder.
const root = "../.."

// mutant is a change of the product that a test has to notice.
type mutant struct {
	patch     string // its file, relative to the root
	row       string // of tests/conformance, as draft-yang/hop-limit
	folder    string // package of the test, as ./orchagent-ext/wire/notify
	test      string
	file      string // that it changes, relative to the root
	old, with string // whole lines
}

// readMutants reads all patches below a folder, in the order of their names.
func readMutants(folder string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(folder, "draft-*", "*.patch"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		m.patch = path.Join("tests/mutants", filepath.Base(filepath.Dir(file)), filepath.Base(file))
		all = append(all, m)
	}
	return all, nil
}

// parse reads a patch.
func parse(text string) (m mutant, err error) {
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case word == "row":
			m.row = rest
		case word == "test":
			m.folder, m.test, _ = strings.Cut(rest, " ")
		case word == "---":
			m.file = rest
		case strings.HasPrefix(line, "-"):
			m.old += line[1:]
		case strings.HasPrefix(line, "+"):
			m.with += line[1:]
		case line != "\n":
			return m, fmt.Errorf("line %q is neither row, test, ---, - nor +", line)
		}
	}
	if m.row == "" || m.test == "" || m.file == "" || m.old == "" || m.old == m.with {
		return m, fmt.Errorf("row, test, file and a change are needed: %+v", m)
	}
	return m, nil
}

// apply returns the changed text of the file.
func (m *mutant) apply(text string) (string, error) {
	at, n := -1, 0
	for i := 0; i < len(text); {
		if strings.HasPrefix(text[i:], m.old) {
			at = i
			n++
		}
		line := strings.IndexByte(text[i:], '\n')
		if line < 0 {
			break
		}
		i += line + 1
	}
	if n != 1 {
		return "", fmt.Errorf("%s: %s has %d times what it changes, want once:\n%s", m.patch, m.file, n, m.old)
	}
	return text[:at] + m.with + text[at+len(m.old):], nil
}
