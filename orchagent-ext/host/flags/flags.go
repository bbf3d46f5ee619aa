// SPDX-License-Identifier: Apache-2.0

// Package flags is the command line of a daemon: flags, whose defaults the environment may
// give.
package flags

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// ErrHelp is the error of [Set.Parse] where help is asked for; it is printed by then.
var ErrHelp = pflag.ErrHelp

// Set has the flags of a program.
type Set struct {
	*pflag.FlagSet
	getenv func(string) string
}

// New returns a set without flags. The output of --help is help and the list of flags, on
// stderr.
func New(name, help string, getenv func(string) string, stderr io.Writer) *Set {
	s := &Set{FlagSet: pflag.NewFlagSet(name, pflag.ContinueOnError), getenv: getenv}
	s.SetOutput(stderr)
	s.Usage = func() { fmt.Fprint(stderr, help, s.FlagUsages()) }
	return s
}

// Or returns the value of a variable of the environment, or its fallback where that is unset or
// empty.
func (s *Set) Or(variable, fallback string) string {
	if v := s.getenv(variable); v != "" {
		return v
	}
	return fallback
}

// Parse parses the command line, which has flags alone. A flag may also have one dash, as
// package flag of Go's library has it: units of operators do.
func (s *Set) Parse(args []string) error {
	long := make([]string, len(args))
	for i, arg := range args {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if long[i] = arg; strings.HasPrefix(arg, "-") && s.Lookup(name) != nil {
			long[i] = "-" + arg
		}
	}
	if err := s.FlagSet.Parse(long); err != nil {
		return err
	}
	if s.NArg() > 0 {
		return fmt.Errorf("unexpected %q: everything is a flag, see --help", s.Arg(0))
	}
	return nil
}
