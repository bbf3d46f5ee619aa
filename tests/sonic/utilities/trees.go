// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Folders that the package manager writes to.
var written = []string{
	"/etc/sonic", "/etc/systemd", "/usr/lib/systemd/system", "/usr/local/bin", "/usr/local/yang-models", "/usr/share/sonic",
	"/usr/local/lib/python3*/dist-packages/show", "/usr/local/lib/python3*/dist-packages/config", "/usr/local/lib/python3*/dist-packages/clear",
}

const generatedServices = "/etc/sonic/generated_services.conf"

// A tree is the files of folders, each with a digest of its content.
type tree map[string]string

// snapshot reads the folders that the package manager writes to. Files that Python compiles, and those
// that featured writes for each feature in its own time, are left out.
func snapshot() (tree, error) {
	t := tree{}
	for _, pattern := range written {
		folders, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, folder := range folders {
			err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				if err != nil || d.IsDir() || strings.Contains(path, "__pycache__") || d.Name() == "auto_restart.conf" {
					return err
				}
				text, err := os.ReadFile(path)
				if err != nil && d.Type().IsRegular() {
					return err
				}
				if path == generatedServices { // a set, which SONiC writes in any order
					words := strings.Fields(string(text))
					slices.Sort(words)
					text = []byte(strings.Join(words, "\n"))
				}
				t[path] = fmt.Sprintf("%x", sha256.Sum256(text))
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	if files, err := filepath.Glob("/usr/bin/*.sh"); err == nil {
		for _, file := range files {
			t[file] = ""
		}
	}
	return t, nil
}

// since returns the files that are new (+), gone (-) or changed (~), less those that are expected.
func (t tree) since(was tree, expected ...string) string {
	var all []string
	for path, digest := range t {
		if before, ok := was[path]; !ok {
			all = append(all, "+"+path)
		} else if before != digest {
			all = append(all, "~"+path)
		}
	}
	for path := range maps.Keys(was) {
		if _, ok := t[path]; !ok {
			all = append(all, "-"+path)
		}
	}
	all = slices.DeleteFunc(all, func(line string) bool { return slices.Contains(expected, line[1:]) })
	slices.Sort(all)
	return strings.Join(all, " ")
}
