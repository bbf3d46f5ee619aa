package main

import (
	"encoding"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// numberFlag is an unsigned number of so many bits, decimal or with 0x.
type numberFlag struct {
	value *uint32
	bits  int
}

func (f numberFlag) Set(s string) error {
	v, err := strconv.ParseUint(s, 0, 32)
	if err != nil || v >= 1<<f.bits {
		return fmt.Errorf("%q is not a number of %d bits, decimal or with 0x", s, f.bits)
	}
	*f.value = uint32(v)
	return nil
}

func (f numberFlag) String() string { return fmt.Sprintf("%#x", *f.value) }
func (f numberFlag) Type() string   { return "number" }

// textFlag is a value that reads and writes itself as text, such as an address
// or an algorithm.
type textFlag struct {
	value interface {
		encoding.TextUnmarshaler
		encoding.TextMarshaler
	}
	kind string
}

func (f textFlag) Set(s string) error { return f.value.UnmarshalText([]byte(s)) }
func (f textFlag) Type() string       { return f.kind }
func (f textFlag) String() string {
	text, err := f.value.MarshalText()
	if err != nil {
		return ""
	}
	return string(text)
}

// choiceFlag is one of a few words.
type choiceFlag struct {
	value   *string
	choices []string
}

func (f choiceFlag) Set(s string) error {
	for _, c := range f.choices {
		if s == c {
			*f.value = s
			return nil
		}
	}
	return fmt.Errorf("%q is not one of %s", s, strings.Join(f.choices, ", "))
}

func (f choiceFlag) String() string { return *f.value }
func (f choiceFlag) Type() string   { return strings.Join(f.choices, "|") }

// addChoice adds a flag that takes one of the choices; the first is the default.
func addChoice(flags *pflag.FlagSet, name, usage string, choices ...string) *string {
	value := choices[0]
	flags.Var(choiceFlag{&value, choices}, name, usage)
	return &value
}
