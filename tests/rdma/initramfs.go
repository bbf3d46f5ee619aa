// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed init.sh
var initScript []byte

// programs are those of a guest, by their path below the root. Busybox has the rest.
var programs = []string{
	"bin/busybox", "bin/ip", "sbin/tc", "usr/bin/rdma",
	"usr/bin/ibv_devices", "usr/bin/ibv_devinfo", "usr/bin/ibv_rc_pingpong", "usr/bin/ibv_uc_pingpong", "usr/bin/ibv_ud_pingpong",
	"usr/bin/ib_write_bw", "usr/bin/ib_send_bw", "usr/bin/ib_read_bw", "usr/bin/ib_atomic_bw", "usr/bin/rping", "usr/bin/ucmatose",
	"usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so", // loaded by its name in etc/libibverbs.d
	"lib/x86_64-linux-gnu/libgcc_s.so.1",                    // loaded by pthread_exit
}

// modules are loaded by a guest, after those that they depend on.
var modules = []string{"virtio_pci", "virtio_net", "rdma_rxe", "ib_uverbs", "rdma_ucm", "sch_netem"}

// libraryFolders of Debian for amd64, where programs of the guest find their libraries.
var libraryFolders = []string{"lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "lib64"}

// loader is the dynamic linker that the programs name.
const loader = "lib64/ld-linux-x86-64.so.2"

// An image is booted by guests.
type image struct{ kernel, initramfs string }

// makeImage makes an initramfs of unpacked packages, and finds the kernel.
func makeImage(root, folder string) (i image, err error) {
	kernels, err := filepath.Glob(filepath.Join(root, "boot/vmlinuz-*"))
	if err != nil || len(kernels) != 1 {
		return i, fmt.Errorf("%s/boot has %d kernels, and 1 was expected: %w", root, len(kernels), err)
	}
	i = image{kernels[0], filepath.Join(folder, "initramfs.gz")}
	files := map[string]string{loader: loader, "etc/libibverbs.d/rxe.driver": "etc/libibverbs.d/rxe.driver"} // in the guest: below root
	for _, p := range programs {
		if err := withLibraries(root, p, files); err != nil {
			return i, err
		}
	}
	order, err := moduleOrder(root)
	if err != nil {
		return i, err
	}
	var names []string
	for _, m := range order {
		name := filepath.Join("modules", filepath.Base(m))
		files[name] = m
		names = append(names, "/"+name)
	}
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	w := &cpio{out: z, made: map[string]bool{}}
	w.file("init", 0o755, initScript)
	w.file("modules/order", 0o644, []byte(strings.Join(names, "\n")+"\n"))
	for _, name := range sorted(files) {
		data, err := os.ReadFile(filepath.Join(root, files[name]))
		if err != nil {
			return i, err
		}
		w.file(name, 0o755, data)
	}
	w.entry("TRAILER!!!", 0, nil)
	if err := errors.Join(w.err, z.Close()); err != nil {
		return i, err
	}
	return i, os.WriteFile(i.initramfs, archive.Bytes(), 0o666)
}

func sorted(files map[string]string) (names []string) {
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// withLibraries adds a program and the libraries that it needs (DT_NEEDED).
func withLibraries(root, name string, files map[string]string) error {
	if files[name] != "" {
		return nil
	}
	files[name] = name
	f, err := elf.Open(filepath.Join(root, name))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	needed, err := f.ImportedLibraries()
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	for _, library := range needed {
		if library == filepath.Base(loader) {
			continue
		}
		found := slices.IndexFunc(libraryFolders, func(folder string) bool {
			_, err := os.Stat(filepath.Join(root, folder, library))
			return err == nil
		})
		if found < 0 {
			return fmt.Errorf("%s needs %s, which no package has", name, library)
		}
		if err := withLibraries(root, filepath.Join(libraryFolders[found], library), files); err != nil {
			return err
		}
	}
	return nil
}

// moduleOrder returns the files of the modules, each after those that it depends on. A module
// that the kernel has built in has no file.
func moduleOrder(root string) (order []string, err error) {
	found := map[string]string{} // by name, with _ for -
	err = fs.WalkDir(os.DirFS(root), "lib/modules", func(path string, _ fs.DirEntry, err error) error {
		if name, ok := strings.CutSuffix(filepath.Base(path), ".ko"); ok {
			found[strings.ReplaceAll(name, "-", "_")] = path
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var add func(name string) error
	add = func(name string) error {
		path := found[name]
		if path == "" {
			return nil
		}
		depends, err := dependencies(filepath.Join(root, path))
		if err != nil {
			return fmt.Errorf("module %s: %w", name, err)
		}
		for _, d := range depends {
			if err := add(d); err != nil {
				return err
			}
		}
		if !slices.Contains(order, path) {
			order = append(order, path)
		}
		return nil
	}
	for _, m := range modules {
		if err := add(m); err != nil {
			return nil, err
		}
	}
	// libcrc32c and its like ask the kernel's crypto API by name, which no dependency shows.
	for _, soft := range []string{"crc32_generic", "crc32c_generic", "crc32_pclmul"} {
		if path := found[soft]; path != "" && !slices.Contains(order, path) {
			order = append([]string{path}, order...)
		}
	}
	return order, nil
}

// dependencies are those that the section .modinfo of a module lists.
func dependencies(file string) ([]string, error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	section := f.Section(".modinfo")
	if section == nil {
		return nil, errors.New("no section .modinfo")
	}
	info, err := section.Data()
	if err != nil {
		return nil, err
	}
	for field := range strings.SplitSeq(string(info), "\x00") {
		if list, ok := strings.CutPrefix(field, "depends="); ok && list != "" {
			return strings.Split(strings.ReplaceAll(list, "-", "_"), ","), nil
		}
	}
	return nil, nil
}

// cpio writes an archive of format newc, as the kernel's
// Documentation/driver-api/early-userspace/buffer-format.rst has it.
type cpio struct {
	out  io.Writer
	made map[string]bool // folders
	next int             // inode
	err  error           // the first one
}

// file writes a file, and the folders above it.
func (c *cpio) file(name string, mode uint32, data []byte) {
	for i, r := range name {
		if folder := name[:i]; r == '/' && !c.made[folder] {
			c.made[folder] = true
			c.entry(folder, 0o040755, nil)
		}
	}
	c.entry(name, 0o100000|mode, data)
}

func (c *cpio) entry(name string, mode uint32, data []byte) {
	c.next++
	head := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		c.next, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0, name)
	for _, part := range [][]byte{[]byte(head), data} {
		padded := append(part[:len(part):len(part)], make([]byte, -len(part)&3)...)
		if _, err := c.out.Write(padded); c.err == nil {
			c.err = err
		}
	}
}
