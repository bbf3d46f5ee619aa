// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
)

// root is the first process of the switch: it makes the switch's root its own, and runs the
// rest below SONiC's paths. All processes and mounts end with it.
func root(ctx context.Context, r request) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := mountRoot(r.sonic, []string{r.repo, filepath.Dir(r.out), filepath.Dir(r.image), filepath.Dir(self)}); err != nil {
		return err
	}
	if err := exec.Command("ip", "link", "set", "lo", "up").Run(); err != nil {
		return fmt.Errorf("ip link set lo up: %w", err)
	}
	cmd := r.stage(ctx, "switch")
	if slices.ContainsFunc(r.wanted(), func(s scenario) bool { return s.docker }) {
		// A daemon in these namespaces, which sees the switch's paths.
		cmd.Path = filepath.Join(r.repo, "sonic-container/with-docker.sh")
		cmd.Args = append([]string{cmd.Path, self}, cmd.Args[1:]...)
		if err := linkRuntime(); err != nil {
			return err
		}
		cmd.Env = append(os.Environ(), "DOCKER_HOST=", "DOCKERD_OPTIONS=--add-runtime "+runtimeName+"=/usr/bin/"+runtimeName+" --default-runtime "+runtimeName)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd.Run()
}

// mountRoot makes the root of this mount namespace: DIR over the machine's root, with all
// writes in memory. The folders kept are as outside, and writes to them remain.
func mountRoot(dir string, kept []string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	const work = "/mnt"
	m := mounter{}
	m.mount("tmpfs", work, "tmpfs", 0, "mode=755")
	for _, name := range []string{"empty", "machine", "upper", "work", "root"} {
		m.mkdir(filepath.Join(work, name))
	}
	// A lower layer must not be below another one, as DIR is below the machine's root: so that
	// comes as a file system of its own.
	m.mount("overlay", work+"/machine", "overlay", syscall.MS_RDONLY, "lowerdir="+work+"/empty:/")
	top := work + "/root"
	m.mount("overlay", top, "overlay", 0, fmt.Sprintf("lowerdir=%s:%s/machine,upperdir=%s/upper,workdir=%s/work", dir, work, work, work))
	m.mount("proc", top+"/proc", "proc", 0, "")
	m.mount("sysfs", top+"/sys", "sysfs", 0, "")
	m.mount("/sys/fs/cgroup", top+"/sys/fs/cgroup", "", syscall.MS_BIND|syscall.MS_REC, "")
	m.mount("/dev", top+"/dev", "", syscall.MS_BIND|syscall.MS_REC, "")
	m.mount("tmpfs", top+"/tmp", "tmpfs", 0, "mode=1777")
	m.mount("tmpfs", top+"/run", "tmpfs", 0, "mode=755")
	m.mount("tmpfs", top+"/mnt", "tmpfs", 0, "mode=755")
	for _, folder := range kept {
		m.mkdir(top + folder)
		m.mount(folder, top+folder, "", syscall.MS_BIND|syscall.MS_REC, "")
	}
	m.mkdir(top + "/mnt/old")
	if m.err != nil {
		return m.err
	}
	if err := syscall.PivotRoot(top, top+"/mnt/old"); err != nil {
		return fmt.Errorf("make %s the root: %w", top, err)
	}
	return errors.Join(os.Chdir("/"), syscall.Unmount("/mnt/old", syscall.MNT_DETACH))
}

// A mounter keeps the first error.
type mounter struct{ err error }

func (m *mounter) mkdir(dir string) {
	if m.err == nil {
		m.err = os.MkdirAll(dir, 0o755)
	}
}

func (m *mounter) mount(source, target, kind string, flags uintptr, options string) {
	if m.err != nil {
		return
	}
	if err := syscall.Mount(source, target, kind, flags, options); err != nil {
		m.err = fmt.Errorf("mount %s on %s: %w", source, target, err)
	}
}
