// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed init.sh
var initScript []byte

// libraryFolders of Debian for amd64, where programs of a guest find their libraries.
var libraryFolders = []string{"lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "lib64"}

// loader is the dynamic linker that the programs name.
const loader = "lib64/ld-linux-x86-64.so.2"

// Contents are the files of an image. Modules that the kernel has built in are left out.
type Contents struct {
	Kernel   string   // root of the unpacked packages with the kernel, its modules, and busybox-static
	Modules  []string // loaded at the start, after those that they depend on
	Root     string   // folder that the programs and their libraries are below
	Programs []string // below Root, there and in the guest
	// Files are others, by their path in the guest: their path here. Programs among them
	// come with their libraries, those below Root.
	Files map[string]string
}

// An Image is booted by guests.
type Image struct {
	Release   string // of the kernel
	Kernel    string // files
	Initramfs string
}

// Make makes an initramfs in a folder, and finds the kernel.
func (c Contents) Make(folder string) (i Image, err error) {
	if i.Kernel, err = oneOf(c.Kernel, "boot/vmlinuz-*", "usr/lib/modules/*/vmlinuz"); err != nil {
		return i, err
	}
	modules, err := oneOf(c.Kernel, "lib/modules/*", "usr/lib/modules/*")
	if err != nil {
		return i, err
	}
	i.Release, i.Initramfs = filepath.Base(modules), filepath.Join(folder, "initramfs.gz")
	busybox, err := oneOf(c.Kernel, "bin/busybox", "usr/bin/busybox")
	if err != nil {
		return i, err
	}
	files := fileSet{c.Root, map[string]string{"bin/busybox": busybox, loader: filepath.Join(c.Root, loader)}}
	for _, p := range c.Programs {
		if err := files.withLibraries(p, filepath.Join(c.Root, p)); err != nil {
			return i, err
		}
	}
	for name, file := range c.Files {
		if err := files.withLibraries(name, file); err != nil {
			return i, err
		}
	}
	order, err := moduleOrder(modules, slices.Concat([]string{"virtio_pci", "virtio_console"}, c.Modules))
	if err != nil {
		return i, err
	}
	var archive bytes.Buffer
	z, err := gzip.NewWriterLevel(&archive, gzip.BestSpeed)
	if err != nil {
		return i, err
	}
	w := &cpio{out: z, made: map[string]bool{}}
	w.file("init", 0o755, initScript)
	var names []string
	for _, m := range order {
		name := "modules/" + moduleName(m) + ".ko"
		names = append(names, "/"+name)
		data, err := readModule(m)
		if err != nil {
			return i, err
		}
		w.file(name, 0o644, data)
	}
	w.file("modules/order", 0o644, []byte(strings.Join(append(names, ""), "\n")))
	for _, name := range slices.Sorted(maps.Keys(files.all)) {
		data, err := os.ReadFile(files.all[name])
		if err != nil {
			return i, err
		}
		w.file(name, 0o755, data)
	}
	w.entry("TRAILER!!!", 0, nil)
	if err := errors.Join(w.err, z.Close()); err != nil {
		return i, err
	}
	return i, os.WriteFile(i.Initramfs, archive.Bytes(), 0o666)
}

// oneOf returns the one file below a folder that a pattern matches.
func oneOf(folder string, patterns ...string) (string, error) {
	var found []string
	for _, p := range patterns {
		some, err := filepath.Glob(filepath.Join(folder, p))
		if err != nil {
			return "", err
		}
		found = append(found, some...)
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s has %d of %s, and 1 was expected", folder, len(found), strings.Join(patterns, " and "))
	}
	return found[0], nil
}

// A fileSet is files by their path in the guest, with the root that libraries are below.
type fileSet struct {
	root string
	all  map[string]string
}

// withLibraries adds a file, and the libraries that it needs if it is a program (DT_NEEDED).
func (s fileSet) withLibraries(name, file string) error {
	if s.all[name] != "" {
		return nil
	}
	s.all[name] = file
	f, err := elf.Open(file)
	if format := (*elf.FormatError)(nil); errors.As(err, &format) || errors.Is(err, io.EOF) {
		return nil // the program is missing
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	needed, err := f.ImportedLibraries()
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	for _, library := range needed {
		if library == filepath.Base(loader) {
			continue
		}
		found := slices.IndexFunc(libraryFolders, func(folder string) bool {
			_, err := os.Stat(filepath.Join(s.root, folder, library))
			return err == nil
		})
		if found < 0 {
			return fmt.Errorf("%s needs %s, which no package has", file, library)
		}
		path := filepath.Join(libraryFolders[found], library)
		if err := s.withLibraries(path, filepath.Join(s.root, path)); err != nil {
			return err
		}
	}
	return nil
}

// moduleName is the name of a module by its file, with _ for -.
func moduleName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	return strings.ReplaceAll(name, "-", "_")
}

// readModule reads a module, which may be compressed.
func readModule(file string) ([]byte, error) {
	switch filepath.Ext(file) {
	case ".xz":
		return exec.Command("xz", "-dc", file).Output()
	case ".zst":
		return exec.Command("zstd", "-dc", file).Output()
	}
	return os.ReadFile(file)
}

// moduleOrder returns the files of the modules, each after those that it depends on. A module
// that the kernel has built in has no file.
func moduleOrder(folder string, wanted []string) (order []string, err error) {
	found := map[string]string{} // by name
	err = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if strings.Contains(filepath.Base(path), ".ko") {
			found[moduleName(path)] = path
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
		depends, err := dependencies(path)
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
	for _, m := range wanted {
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
	data, err := readModule(file)
	if err != nil {
		return nil, err
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
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
