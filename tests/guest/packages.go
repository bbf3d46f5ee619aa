// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Suite is the release of Debian that packages are of.
type Suite struct {
	Name   string // of the kernel's packages, such as trixie-backports; "": as apt of this machine is configured
	Base   string // that has the packages which backports lack; "": the same
	Mirror string // URL, where there is a name
	Keys   string // file of the keys that sign the suite, where there is a name
}

// Unpack downloads packages and unpacks them below a folder, unless they are there. The
// kernel that linux-image-amd64 of the suite depends on is one of them. Nothing is installed,
// and apt of this machine keeps its sources: apt-get checks the signatures of its lists and the
// packages' checksums.
func (s Suite) Unpack(ctx context.Context, folder string, packages ...string) (root string, err error) {
	root = filepath.Join(folder, "root")
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	debs := filepath.Join(folder, "debs")
	if err := os.MkdirAll(debs, 0o777); err != nil {
		return "", err
	}
	options, err := s.options(ctx, folder)
	if err != nil {
		return "", err
	}
	kernel, err := s.kernel(ctx, options)
	if err != nil {
		return "", err
	}
	get := slices.Concat([]string{"-q"}, options, []string{"-o", "APT::Sandbox::User=root", "download"}, kernel, packages)
	if _, err := output(ctx, debs, "apt-get", get...); err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	if err != nil {
		return "", err
	}
	// The folder has its name only once it is whole.
	partial := root + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return "", err
	}
	for _, file := range files {
		if _, err := output(ctx, folder, "dpkg-deb", "-x", file, partial); err != nil {
			return "", err
		}
	}
	return root, os.Rename(partial, root)
}

// options are those by which apt knows the suite alone, with lists of its own that are fetched
// here.
func (s Suite) options(ctx context.Context, folder string) (options []string, err error) {
	if s.Name == "" {
		return nil, nil
	}
	apt := filepath.Join(folder, "apt")
	for _, sub := range []string{"lists/partial", "archives/partial"} {
		if err := os.MkdirAll(filepath.Join(apt, sub), 0o777); err != nil {
			return nil, err
		}
	}
	sources, status := filepath.Join(apt, "sources.list"), filepath.Join(apt, "status")
	var lines []byte
	for _, name := range slices.Compact([]string{s.Name, cmp.Or(s.Base, s.Name)}) {
		lines = fmt.Appendf(lines, "deb [arch=amd64 signed-by=%s] %s %s main\n", s.Keys, s.Mirror, name)
	}
	if err := errors.Join(os.WriteFile(sources, lines, 0o666), os.WriteFile(status, nil, 0o666)); err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"Dir::Etc::sourcelist": sources, "Dir::Etc::sourceparts": "-",
		"Dir::State": apt, "Dir::State::status": status, "Dir::Cache": apt,
	} {
		options = append(options, "-o", name+"="+value)
	}
	_, err = output(ctx, folder, "apt-get", append(options, "-q", "update")...)
	return options, err
}

// kernelPackage is how Debian names the package that the kernel's metapackage depends on, and
// kernelParts those that a kernel of some suites is split into.
var (
	kernelPackage = regexp.MustCompile(`linux-image-[0-9][-.+~a-z0-9]*-amd64`)
	kernelParts   = regexp.MustCompile(`Depends: (linux-(?:binary|modules)-[-.+~a-z0-9]*-amd64)`)
)

// kernel returns the packages of the suite's kernel.
func (s Suite) kernel(ctx context.Context, options []string) ([]string, error) {
	depends := func(name string) (string, error) {
		return output(ctx, ".", "apt-cache", append(slices.Clone(options), "depends", name)...)
	}
	meta := "linux-image-amd64"
	if s.Name != "" {
		meta += "/" + s.Name
	}
	out, err := depends(meta)
	if err != nil {
		return nil, err
	}
	image := kernelPackage.FindString(out)
	if image == "" {
		return nil, errors.New("apt-cache depends linux-image-amd64 names no kernel: run apt-get update")
	}
	if out, err = depends(image); err != nil {
		return nil, err
	}
	all := []string{image}
	for _, m := range kernelParts.FindAllStringSubmatch(out, -1) {
		all = append(all, m[1])
	}
	return all, nil
}

// output runs a program in a folder and returns its standard output. The error has the last
// lines of standard error.
func output(ctx context.Context, folder, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = folder
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", cmd, err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}
