// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// softsai is the folder of the software switch and its tests.
const softsai = "sai-shim/softsai"

// earlier has the maps of an earlier version, which the tests of the software switch read.
const earlier = "tests/upgrade/testdata"

// variants of libsoftsai.so that its tests build where there is a compiler, by options of make.
var variants = []string{"BPF_DEFINES=-DSOFTSAI_DROP_CALLS=10"}

// built are the files of guests, by their path below the source: the file here.
type built struct{ files map[string]string }

// build builds the tests below a folder. The programs are those of bin.
func build(ctx context.Context, bin, folder string) (*built, error) {
	b := &built{map[string]string{}}
	for _, program := range []string{"sluiced", "sluice", "libsoftsai.so"} {
		b.files[filepath.Join("bin", program)] = filepath.Join(bin, program)
	}
	b.files["lab/database_config.json"] = "lab/database_config.json"
	for _, pkg := range []string{"tests/e2e", softsai} {
		name := filepath.Join(pkg, filepath.Base(pkg)+".test")
		b.files[name] = filepath.Join(folder, filepath.Base(pkg)+".test")
		if err := run(ctx, "go", "test", "-c", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", b.files[name], "./"+pkg); err != nil {
			return nil, err
		}
		if err := b.add(filepath.Join(pkg, "testdata"), filepath.Join(pkg, "testdata")); err != nil {
			return nil, err
		}
	}
	if err := b.add(earlier, earlier); err != nil {
		return nil, err
	}
	out := filepath.Join(folder, "softsai")
	arguments := func(sub string, more ...string) []string {
		return append([]string{"-s", "-C", softsai, "OUT=" + filepath.Join(out, sub), "WORK=" + filepath.Join(folder, "work", sub)}, more...)
	}
	if err := run(ctx, "make", arguments("", "tests")...); err != nil {
		return nil, err
	}
	for _, v := range variants {
		if err := run(ctx, "make", arguments(v, v, filepath.Join(out, v, "libsoftsai.so"))...); err != nil {
			return nil, err
		}
	}
	return b, b.add("built", out)
}

// add adds the files of a folder.
func (b *built) add(name, folder string) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) && path == folder {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		b.files[name+strings.TrimPrefix(path, folder)] = path
		return nil
	})
}

// run runs a program, whose output is part of the error.
func run(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
