// SPDX-License-Identifier: Apache-2.0

// Package programs builds the programs of tests into build/programs, where all packages of tests, and
// the next run, find them: go build and make leave alone a file that is up to date. To link a program
// takes seconds, and to compile the software switch under sanitizers half a minute.
//
// Tests only read the folders, which other tests may use at the same time.
package programs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Build builds programs by go build with args, which are options and packages as they are in the
// root of the repository, for the system of the environment's GOOS and GOARCH, and returns the
// absolute path of the folder with the programs. The folder of the repository and its commit are not
// in the programs. Without options it compiles by the profile that make build compiles by, and
// finds what that compiled.
func Build(args ...string) (folder string, err error) {
	var options []string
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			options = append(options, arg)
		}
	}
	if options == nil {
		args = append([]string{"-pgo=orchagent-ext/cmd/cpu.pgo"}, args...)
	}
	for _, name := range []string{"GOFLAGS", "GOOS", "GOARCH", "CGO_ENABLED"} {
		options = append(options, os.Getenv(name))
	}
	return inFolder(options, func(root, folder string) *exec.Cmd {
		cmd := exec.Command("go", append([]string{"build", "-trimpath", "-buildvcs=false", "-o", folder + "/"}, args...)...)
		cmd.Dir = root
		return cmd
	})
}

// Softsai builds a target of sai-shim/softsai/Makefile, library or tests, with variables of make, as
// SANITIZE=1, and returns the absolute path of the folder, OUT, with the results.
func Softsai(target string, variables ...string) (folder string, err error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	source := filepath.Join(root, "sai-shim/softsai")
	rules, err := os.ReadFile(filepath.Join(source, "Makefile")) // which make itself does not compare
	if err != nil {
		return "", err
	}
	return inFolder(append([]string{"softsai", string(rules)}, variables...), func(_, folder string) *exec.Cmd {
		cmd := exec.Command("make", append([]string{"-s", "-j2", "-C", source, "OUT=" + folder, "WORK=" + filepath.Join(folder, "o"), target}, variables...)...)
		cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=") // a make may run this test
		return cmd
	})
}

// inFolder runs a command that builds into the folder of these options, and returns the folder.
func inFolder(options []string, command func(root, folder string) *exec.Cmd) (folder string, err error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	// Programs of other options are in other folders.
	sum := sha256.Sum256([]byte(strings.Join(options, "\x00")))
	folder = filepath.Join(root, "build/programs", fmt.Sprintf("%x", sum[:8]))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	// Two that build the same file could each leave half of it.
	lock, err := os.Open(folder)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }() // which unlocks
	for {
		if err = unix.Flock(int(lock.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return "", fmt.Errorf("lock %s: %w", folder, err)
	}
	cmd := command(root, folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return folder, nil
}

// repository returns the absolute path of the folder with go.mod, in or above the folder of the test.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		switch _, err := os.Stat(filepath.Join(at, "go.mod")); {
		case err == nil:
			return at, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		case at == filepath.Dir(at):
			return "", fmt.Errorf("no go.mod in %s or above", dir)
		}
	}
}
