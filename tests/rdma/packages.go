// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// packages are those of a guest, with the libraries that their programs load. The kernel is
// added by its release.
var packages = []string{
	"busybox-static", "iproute2", "perftest", "ibverbs-utils", "rdmacm-utils",
	"ibverbs-providers", "libc6", "libibumad3", "libibverbs1", "libnl-3-200", "libnl-route-3-200", "libpci3", "librdmacm1", "libudev1",
	"libbpf1", "libbsd0", "libcap2", "libelf1", "libgcc-s1", "libmd0", "libmnl0", "libxtables12", "zlib1g",
}

// kernelPackage is how Debian names the package that the kernel's metapackage depends on.
var kernelPackage = regexp.MustCompile(`linux-image-[0-9][-.+a-z0-9]*-amd64`)

// unpack downloads the packages and unpacks them below a folder, unless they are there. Nothing
// is installed: apt-get checks the signatures of its lists and the packages' checksums.
func unpack(ctx context.Context, folder string) (root string, err error) {
	root = filepath.Join(folder, "root")
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	debs := filepath.Join(folder, "debs")
	if err := os.MkdirAll(debs, 0o777); err != nil {
		return "", err
	}
	out, err := output(ctx, folder, "apt-cache", "depends", "linux-image-amd64")
	if err != nil {
		return "", err
	}
	kernel := kernelPackage.FindString(out)
	if kernel == "" {
		return "", errors.New("apt-cache depends linux-image-amd64 names no kernel: run apt-get update")
	}
	get := append([]string{"-q", "-o", "APT::Sandbox::User=root", "download", kernel}, packages...)
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
