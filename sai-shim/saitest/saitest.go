// SPDX-License-Identifier: Apache-2.0

package saitest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Numbers of SAI's statuses, for the profile's FAIL.
const (
	Failure             = -1
	NotSupported        = -2
	InvalidParameter    = -5
	BufferOverflow      = -8
	TableFull           = -13
	NotImplemented      = -15
	AttrNotSupported0   = -327680 // less the attribute's index
	InvalidAttrValue0   = -131072
	AttrNotImplemented0 = -196608
)

// folder is this package's, below the folder of go.mod: a test runs somewhere below that,
// and -trimpath hides the path from the compiler.
func folder() string {
	root, err := os.Getwd()
	for err == nil && root != "/" {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		root = filepath.Dir(root)
	}
	return filepath.Join(root, "sai-shim", "saitest")
}

// Build builds the library in dir, by the compiler of the environment's CC or gcc, and
// returns its path. Options are gcc's.
func Build(dir string, options ...string) (string, error) {
	source := filepath.Join(folder(), "src")
	files, err := filepath.Glob(filepath.Join(source, "*.c"))
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "librecorder.so")
	args := []string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread",
		"-I", filepath.Join(source, "../../include"), "-o", path}
	out, err := exec.Command(cmp.Or(os.Getenv("CC"), "gcc"), slices.Concat(args, options, files)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the recording SAI library: %w\n%s", err, out)
	}
	return path, nil
}

// images have the library by gcc's options.
var images sync.Map

// image returns the library with gcc's options, which a process builds once: it takes a second of CPU.
func image(options []string) ([]byte, error) {
	once, _ := images.LoadOrStore(strings.Join(options, " "), sync.OnceValues(func() ([]byte, error) {
		dir, err := os.MkdirTemp("", "saitest")
		if err != nil {
			return nil, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		path, err := Build(dir, options...)
		if err != nil {
			return nil, err
		}
		return os.ReadFile(path)
	}))
	return once.(func() ([]byte, error))()
}

// Library is the library, in a directory that the test has to itself.
type Library struct {
	Path string

	tb   testing.TB
	dir  string
	read int // octets of the record
}

// New makes the library for a test, which is skipped without gcc. The library lacks the
// functions in without, such as sai_query_api_version, as old and other libraries do.
func New(tb testing.TB, without ...string) *Library {
	tb.Helper()
	if _, err := exec.LookPath("gcc"); errors.Is(err, exec.ErrNotFound) {
		tb.Skip("needs gcc, to build a SAI library")
	}
	dir := tb.TempDir()
	options := make([]string, len(without))
	for i, name := range without {
		options[i] = "-D" + name + "=without_" + name
	}
	library, err := image(options)
	path := filepath.Join(dir, "librecorder.so")
	if err == nil {
		err = os.WriteFile(path, library, 0o700) // one of its own: the linker loads a file once, with what is in its variables
	}
	if err != nil {
		tb.Fatal(err)
	}
	return &Library{Path: path, tb: tb, dir: dir}
}

// Profile is a profile for the library: where it records, three ports with the
// lanes 0 to 3, 4 and 8, and more, key and value in turn.
func (l *Library) Profile(more ...string) map[string]string {
	p := map[string]string{"RECORD": filepath.Join(l.dir, "record"), "PORTS": "0,1,2,3 4 8"}
	for i := 0; i < len(more); i += 2 {
		p[more[i]] = more[i+1]
	}
	return p
}

// Personality is a profile by which the library answers as another one does that was tried:
// a file of personalities/, with more of a profile.
func (l *Library) Personality(name string, more ...string) map[string]string {
	l.tb.Helper()
	text, err := os.ReadFile(filepath.Join(folder(), "personalities", name+".profile"))
	if err != nil {
		l.tb.Fatal(err)
	}
	p := l.Profile()
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			if p[key] != "" { // a rule a line
				value = p[key] + ";" + value
			}
			p[key] = value
		}
	}
	for i := 0; i < len(more); i += 2 {
		p[more[i]] = more[i+1]
	}
	return p
}

// Personalities are the names of all.
func Personalities(tb testing.TB) (names []string) {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(folder(), "personalities", "*.profile"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no personalities: %v", err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".profile"))
	}
	return names
}

// Calls returns the calls since the last Calls.
func (l *Library) Calls() []string {
	l.tb.Helper()
	text, err := os.ReadFile(filepath.Join(l.dir, "record"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		l.tb.Fatal(err)
	}
	fresh := strings.TrimSuffix(string(text[l.read:]), "\n")
	l.read = len(text)
	if fresh == "" {
		return nil
	}
	return strings.Split(fresh, "\n")
}
