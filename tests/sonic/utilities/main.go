// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A request is a run, as the command line asks for it.
type request struct {
	sonic     string // folder with SONiC's programs
	repo      string // folder of this tree
	out       string // file of the report
	report    string // file of the report of tests/sonic, which gets the checks too; "" is none
	image     string // image of the container, as docker save writes it
	scenarios string // names, separated by commas; "" is all
}

func main() {
	if filepath.Base(os.Args[0]) == "systemctl" {
		os.Exit(systemctl(os.Args[1:]))
	}
	if filepath.Base(os.Args[0]) == runtimeName {
		fmt.Fprintln(os.Stderr, runtime(os.Args[1:])) // it returns an error alone
		os.Exit(1)
	}
	var r request
	flag.StringVar(&r.sonic, "sonic", "", "`folder` with SONiC's programs in their places")
	flag.StringVar(&r.repo, "repo", ".", "`folder` of this tree")
	flag.StringVar(&r.out, "out", "build/sonic/utilities.json", "`file` of the report")
	flag.StringVar(&r.report, "into", "", "`file` of the report of tests/sonic, to which the checks are added; without -sonic those of an earlier run")
	flag.StringVar(&r.image, "image", "build/docker-sluice.tar.gz", "`file` of the container's image (make image-tar)")
	flag.StringVar(&r.scenarios, "scenario", "", "`names` of scenarios, separated by commas; without it all run")
	stage := flag.String("stage", "", "for the command itself")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch *stage {
	case "":
		err = outside(ctx, r)
	case "root":
		err = root(ctx, r)
	case "switch":
		err = inside(ctx, r)
	default:
		err = fmt.Errorf("-stage %q: must be empty", *stage)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "utilities: %v\n", err)
		os.Exit(1)
	}
}

// needed are the programs without which nothing runs, below DIR or on this machine.
var needed = []string{
	"usr/local/bin/config", "usr/local/bin/show", "usr/local/bin/sonic-clear", "usr/local/bin/sonic-cfggen",
	"usr/local/bin/sonic-package-manager", "usr/local/yang-models/sonic-port.yang",
}

// outside checks what is there, and runs this program as the first process of the switch.
func outside(ctx context.Context, r request) error {
	if r.sonic == "" && r.report != "" {
		return r.add()
	}
	if r.sonic == "" {
		return errors.New("-sonic DIR: a folder with SONiC's programs in their places, such as an unpacked image of docker-sonic-vs")
	}
	var err error
	for _, file := range []*string{&r.sonic, &r.repo, &r.out, &r.image} {
		if *file, err = filepath.Abs(*file); err != nil {
			return err
		}
	}
	for _, name := range needed {
		if _, err := os.Stat(filepath.Join(r.sonic, name)); err != nil {
			return fmt.Errorf("-sonic %s: has no %s", r.sonic, name)
		}
	}
	if _, err := os.Stat(r.image); err != nil {
		return fmt.Errorf("-image: %w: make image-tar makes it", err)
	}
	for name := range strings.SplitSeq(r.scenarios, ",") {
		if name != "" && !slices.ContainsFunc(scenarios, func(s scenario) bool { return s.name == name }) {
			return fmt.Errorf("-scenario %s: must be one of %s", name, strings.Join(names(), ", "))
		}
	}
	if err := os.MkdirAll(filepath.Dir(r.out), 0o777); err != nil {
		return err
	}
	cmd := r.stage(ctx, "root")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
	}
	failed := cmd.Run()
	if r.report == "" {
		return failed
	}
	return errors.Join(failed, r.add())
}

// add adds the checks of the run to the report of tests/sonic.
func (r request) add() error {
	text, err := os.ReadFile(r.out)
	if err != nil {
		return err
	}
	var done report
	return errors.Join(json.Unmarshal(text, &done), done.into(r.report))
}

// stage returns this program at a later stage of the same run.
func (r request) stage(ctx context.Context, name string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	cmd := exec.CommandContext(ctx, self, "-stage", name, "-sonic", r.sonic, "-repo", r.repo, "-out", r.out, "-image", r.image, "-scenario", r.scenarios)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}
