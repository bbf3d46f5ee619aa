// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const root = "../.."

func main() {
	log.SetFlags(0)
	pages, err := generate()
	if err != nil {
		log.Fatalf("write docs/conformance: %v", err)
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(root, "docs/conformance", name), text, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// A draft is one Internet-Draft and its requirements.
type draft struct {
	short, title, name string
	acts               []string // functions that sluiced has to use, as flowcontrol.New
	requirements       []requirement
}

type requirement struct{ id, section, level, text, note string }

// generate returns the pages by the names of their files.
func generate() (map[string][]byte, error) {
	drafts, err := readDrafts(".")
	if err != nil {
		return nil, err
	}
	marks, err := marksBelow(root)
	if err != nil {
		return nil, err
	}
	l, err := linkedPrograms()
	if err != nil {
		return nil, err
	}
	broken, err := readBroken("../mutants")
	if err != nil {
		return nil, err
	}
	pages := make(map[string][]byte)
	for _, d := range drafts {
		pages[d.short+".md"] = d.page(marks, l, broken)
	}
	return pages, nil
}

// readBroken returns the rows that have a mutant, of which each is killed.
func readBroken(folder string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(folder, "draft-*", "*.patch"))
	if err != nil {
		return nil, err
	}
	rows := make(map[string]bool)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		head, _, _ := strings.Cut(string(text), "\n")
		rows[strings.TrimPrefix(head, "row ")] = true
	}
	survivors, err := os.ReadFile(filepath.Join(folder, "survivors.txt"))
	for line := range strings.Lines(string(survivors)) {
		delete(rows, strings.TrimSpace(line))
	}
	return rows, err
}

// readDrafts reads draft-*.txt of a folder: a head of "name: value" lines, an empty
// line, and a requirement a line, its parts with | between them.
func readDrafts(folder string) ([]draft, error) {
	files, err := filepath.Glob(filepath.Join(folder, "draft-*.txt"))
	if err != nil {
		return nil, err
	}
	var all []draft
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		d := draft{short: strings.TrimSuffix(filepath.Base(file), ".txt")}
		head, body, _ := strings.Cut(string(text), "\n\n")
		for _, line := range strings.Split(head, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			switch name {
			case "title":
				d.title = value
			case "draft":
				d.name = value
			case "acts":
				d.acts = strings.Fields(value)
			default:
				return nil, fmt.Errorf("%s: head line %q", file, line)
			}
		}
		for _, line := range strings.Split(strings.TrimSpace(body), "\n") {
			parts := strings.Split(line, "|")
			if len(parts) != 5 {
				return nil, fmt.Errorf("%s: %q has %d parts, want 5", file, line, len(parts))
			}
			for i := range parts {
				parts[i] = strings.TrimSpace(parts[i])
			}
			d.requirements = append(d.requirements, requirement{d.short + "/" + parts[0], parts[1], parts[2], parts[3], parts[4]})
		}
		all = append(all, d)
	}
	return all, nil
}

// linked are the packages of shipped programs, as folders relative to the root.
type linked struct {
	daemon, tool map[string]bool
	used         func(name string) bool // whether a package of the daemon uses PACKAGE.Name
}

func linkedPrograms() (linked, error) {
	deps := func(program string) (map[string]bool, error) {
		cmd := exec.Command("go", "list", "-deps", "./orchagent-ext/cmd/"+program)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", cmd, err)
		}
		folders := make(map[string]bool)
		for _, p := range strings.Fields(string(out)) {
			if folder, ok := strings.CutPrefix(p, "sluice/"); ok {
				folders[folder] = true
			}
		}
		return folders, nil
	}
	var l linked
	var err error
	if l.daemon, err = deps("sluiced"); err != nil {
		return l, err
	}
	if l.tool, err = deps("sluice"); err != nil {
		return l, err
	}
	var source bytes.Buffer
	for folder := range l.daemon {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil {
			return l, err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return l, err
			}
			source.Write(comment.ReplaceAll(text, nil))
		}
	}
	l.used = func(name string) bool {
		return regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).Match(source.Bytes())
	}
	return l, nil
}

var comment = regexp.MustCompile(`(?m)//.*$`)
