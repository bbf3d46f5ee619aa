// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric"
)

// Programs of SONiC in usr/bin of its root. The scenarios need the first ones; the others run where
// they are there.
var (
	needed   = []string{"syncd", "orchagent", "portsyncd", "neighsyncd", "portmgrd", "intfmgrd", "orchagent_restart_check"}
	optional = []string{"vlanmgrd", "nbrmgrd", "coppmgrd", "vrfmgrd", "sflowmgrd", "teammgrd", "teamsyncd"}
)

// versionFile of a root has a line build_version, in which the release is.
const versionFile = "etc/sonic/sonic_version.yml"

var releaseName = regexp.MustCompile(`build_version:.*?(20[0-9]{4}|master)`)

// takes is the text for those who give no root.
const takes = `SONIC=DIR: DIR is a folder that has SONiC's programs in their places, such as DIR/usr/bin/orchagent,
DIR/usr/bin/syncd, their libraries and DIR/usr/share/swss: built by you, or unpacked from an image docker-sonic-vs.
docs/sonic-vs.md has where to get one`

// inspect returns the release of a root, and those of the optional programs that it has.
func inspect(dir string) (release string, has []string, err error) {
	if dir == "" {
		return "", nil, errors.New(takes)
	}
	var missing []string
	for _, p := range needed {
		if _, err := os.Stat(filepath.Join(dir, "usr/bin", p)); err != nil {
			missing = append(missing, "usr/bin/"+p)
		}
	}
	if len(missing) > 0 {
		return "", nil, fmt.Errorf("SONIC=%s lacks %s", dir, strings.Join(missing, ", "))
	}
	for _, p := range optional {
		if _, err := os.Stat(filepath.Join(dir, "usr/bin", p)); err == nil {
			has = append(has, p)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, versionFile))
	if err != nil {
		return "", nil, fmt.Errorf("SONIC=%s: the release is unknown: %w", dir, err)
	}
	m := releaseName.FindSubmatch(text)
	if m == nil {
		return "", nil, fmt.Errorf("SONIC=%s: %s has no build_version with a release, such as 202505", dir, versionFile)
	}
	return string(m[1]), has, nil
}

// A root is the file system that SONiC's programs see.
type root struct {
	path   string // of it, and of a tmpfs
	mounts []string
}

// makeRoot makes the root in a namespace of mounts of this process: each folder of sonic is over that
// of this machine. /proc is this machine's, /sys that of a network namespace, and /run, /dev and
// /tmp are new.
func makeRoot(path, sonic string, node *fabric.Node) (*root, error) {
	r := &root{path: path}
	if err := r.mount("tmpfs", "", "tmpfs", 0, "mode=0755"); err != nil {
		return r, err
	}
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		link, err := os.Readlink("/" + name)
		if err != nil {
			return r, fmt.Errorf("this machine's /%s is expected to be a link to usr: %w", name, err)
		}
		if err := os.Symlink(link, filepath.Join(path, name)); err != nil {
			return r, err
		}
	}
	for _, name := range []string{"usr", "etc", "var"} {
		layers := "/" + name
		if _, err := os.Stat(filepath.Join(sonic, name)); err == nil {
			layers = filepath.Join(sonic, name) + ":/" + name
		}
		upper, work := filepath.Join(path, ".upper", name), filepath.Join(path, ".work", name)
		if err := errors.Join(os.MkdirAll(upper, 0o755), os.MkdirAll(work, 0o755)); err != nil {
			return r, err
		}
		if err := r.mount("overlay", name, "overlay", 0, "lowerdir="+layers+",upperdir="+upper+",workdir="+work); err != nil {
			return r, err
		}
	}
	err := errors.Join(
		r.mount("/proc", "proc", "", unix.MS_BIND|unix.MS_REC, ""),
		r.mount("tmpfs", "dev", "tmpfs", 0, "mode=0755"),
		r.mount("tmpfs", "run", "tmpfs", 0, "mode=0755"),
		r.mount("tmpfs", "tmp", "tmpfs", 0, "mode=1777"),
		r.mount("tmpfs", "var/log", "tmpfs", 0, "mode=0755"),
		node.Do(func() error { return r.mount("sysfs", "sys", "sysfs", 0, "") }))
	for _, d := range []string{"null", "zero", "random", "urandom", "net/tun"} {
		file := filepath.Join(path, "dev", d)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o666), r.mount("/dev/"+d, "dev/"+d, "", unix.MS_BIND, ""))
	}
	for _, d := range []string{"run/redis/sonic-db", "var/log/swss", "dev/shm", "var/warmboot", "zmq_swss"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(path, d), 0o777))
	}
	return r, err
}

func (r *root) mount(source, at, kind string, flags uintptr, options string) error {
	to := filepath.Join(r.path, at)
	if info, err := os.Stat(source); kind != "" || err == nil && info.IsDir() {
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount(source, to, kind, flags, options); err != nil {
		return fmt.Errorf("mount %s on %s: %w", source, to, err)
	}
	r.mounts = append(r.mounts, to)
	return nil
}

// file is the path here of a file of the root.
func (r *root) file(path string) string { return filepath.Join(r.path, path) }

// write makes a file of the root.
func (r *root) write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(r.file(path)), 0o755); err != nil {
		return err
	}
	return os.WriteFile(r.file(path), []byte(text), 0o644)
}

func (r *root) close() (err error) {
	for i := len(r.mounts) - 1; i >= 0; i-- {
		err = errors.Join(err, unix.Unmount(r.mounts[i], unix.MNT_DETACH))
	}
	return err
}
