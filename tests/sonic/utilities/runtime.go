// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// runtimeName is that of this program as Docker's runtime.
const runtimeName = "runc-of-this-machine"

// runtime is Docker's runtime: runc, for containers that get at most the capabilities of this machine. The
// package's container is privileged, which asks for every capability of the kernel, and runc refuses where
// this machine lacks one of them.
func runtime(args []string) error {
	for i, a := range args[:max(0, len(args)-1)] {
		file := args[i+1]
		switch a {
		case "--bundle", "-b":
			file = filepath.Join(file, "config.json")
		case "--process", "-p":
		default:
			continue
		}
		if err := limit(file); err != nil {
			return err
		}
	}
	runc, err := exec.LookPath("runc")
	if err != nil {
		return err
	}
	return unix.Exec(runc, append([]string{runc}, args...), os.Environ())
}

// limit takes capabilities that this machine lacks out of a file of the OCI runtime specification: config.json of
// a container, or a process of one.
func limit(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lacks, err := lacking()
	if err != nil {
		return err
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	process := all
	if inner, ok := all["process"].(map[string]any); ok {
		process = inner
	}
	sets, _ := process["capabilities"].(map[string]any) // none: nothing is asked for
	for name, set := range sets {
		list, _ := set.([]any)
		sets[name] = slices.DeleteFunc(list, func(c any) bool { return slices.Contains(lacks, fmt.Sprint(c)) })
	}
	if text, err = json.Marshal(all); err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, info.Mode())
}

// capabilities are the names of those that exist, by their number (linux/capability.h).
var capabilities = strings.Fields(`CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE
	NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN
	SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN
	SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE`)

// lacking are the capabilities that no process of this machine has, such as CAP_SYS_RESOURCE.
func lacking() (all []string, err error) {
	for i, name := range capabilities {
		has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(i), 0, 0, 0)
		switch {
		case errors.Is(err, unix.EINVAL): // newer than the kernel
		case err != nil:
			return nil, fmt.Errorf("read the capability %s: %w", name, err)
		case has == 0:
			all = append(all, "CAP_"+name)
		}
	}
	return all, nil
}

// linkRuntime makes the file by which dockerd runs [runtime].
func linkRuntime() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Symlink(self, filepath.Join("/usr/bin", runtimeName)); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
