// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"sluice/yang/text"
)

// Inventory has the switches of a file.
type Inventory struct {
	Targets []Target // in the order of the file, or of their names where it has none
	// Notes name the settings of connections that are not followed.
	Notes []Note

	file string
}

// Note is about a setting of a target that is not followed.
type Note struct {
	Target string // its name
	Text   string
}

// mostTargets is how many switches an inventory may have: a range of names is short to write.
const mostTargets = 4096

// ReadInventory reads a file of one of four forms: lines of a name and an address, gnmic's YAML,
// and Ansible's INI and YAML.
func ReadInventory(file string) (*Inventory, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	i, err := ParseInventory(filepath.Base(file), content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return i, nil
}

// ParseInventory reads the content of a file of that name.
func ParseInventory(file string, content []byte) (*Inventory, error) {
	i := &Inventory{file: file}
	var err error
	switch form(file, content) {
	case "yaml":
		err = i.parseYAML(content)
	case "ini":
		err = i.parseINI(content)
	default:
		err = i.parseLines(content)
	}
	if err == nil {
		err = i.check()
	}
	return i, err
}

// form returns the form of a file: by the end of its name, else by its lines.
func form(file string, content []byte) string {
	switch filepath.Ext(file) {
	case ".yml", ".yaml":
		return "yaml"
	case ".ini":
		return "ini"
	}
	for _, words := range lines(content) {
		switch first := words[0]; {
		case strings.HasPrefix(first, "["), slices.ContainsFunc(words[1:], func(w string) bool { return strings.Contains(w, "=") }):
			return "ini"
		case first == "---" || len(words) == 1 && strings.HasSuffix(first, ":"):
			return "yaml"
		}
	}
	return "lines"
}

// lines returns the words of each line, less comments and empty lines.
func lines(content []byte) (all [][]string) {
	s := bufio.NewScanner(bytes.NewReader(content))
	s.Buffer(nil, len(content)+1)
	for s.Scan() {
		line := s.Text()
		if at := commentAt.FindStringIndex(line); at != nil {
			line = line[:at[0]]
		}
		if words := strings.Fields(line); len(words) > 0 {
			all = append(all, words)
		}
	}
	return all
}

// commentAt finds the begin of a comment.
var commentAt = regexp.MustCompile(`(^|\s)[#;]`)

// parseLines reads lines of a name and an address; a name alone is both.
func (i *Inventory) parseLines(content []byte) error {
	for _, words := range lines(content) {
		if len(words) > 2 {
			return fmt.Errorf("%q is not a name and an address", text.Cut(strings.Join(words, " "), longestPath))
		}
		i.Targets = append(i.Targets, Target{Name: words[0], Address: words[len(words)-1]})
	}
	return nil
}

// parseYAML reads gnmic's YAML, which has the key targets, or Ansible's.
func (i *Inventory) parseYAML(content []byte) error {
	var top map[string]yaml.Node
	if err := yaml.Unmarshal(content, &top); err != nil {
		return fmt.Errorf("is no inventory in YAML: %w", err)
	}
	if _, is := top["targets"]; is {
		return i.parseGNMIC(content)
	}
	return i.parseAnsible(content)
}

// check judges the targets as a whole.
func (i *Inventory) check() error {
	if len(i.Targets) == 0 {
		return fmt.Errorf("names no switch")
	}
	if len(i.Targets) > mostTargets {
		return fmt.Errorf("names %d switches, %d are allowed", len(i.Targets), mostTargets)
	}
	names := map[string]bool{}
	for k := range i.Targets {
		t := &i.Targets[k]
		t.file = i.file
		if t.Name == "" || t.Address == "" {
			return fmt.Errorf("a switch has no name")
		}
		if names[t.Name] {
			return fmt.Errorf("%s is there twice", text.Cut(t.Name, longestPath))
		}
		names[t.Name] = true
	}
	return nil
}

// note keeps a note about a target.
func (i *Inventory) note(target, format string, args ...any) {
	i.Notes = append(i.Notes, Note{target, fmt.Sprintf(format, args...)})
}

// Group returns the targets of a group; "" and all are all of them.
func (i *Inventory) Group(group string) ([]Target, error) {
	if group == "" || group == All {
		return i.Targets, nil
	}
	var of []Target
	groups := []string{All}
	for _, t := range i.Targets {
		if slices.Contains(t.Groups, group) {
			of = append(of, t)
		}
		groups = append(groups, t.Groups...)
	}
	if of == nil {
		slices.Sort(groups)
		groups = slices.Compact(groups)
		return nil, fmt.Errorf("%s has no group %s; there are: %s", i.file, group, strings.Join(groups, ", "))
	}
	return of, nil
}
