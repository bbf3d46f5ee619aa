// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/bpf"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/capture/link"
)

// bpfFlag is a filter of classic BPF: an expression of pcap-filter(7), which tcpdump
// compiles, or the program itself in the form of tcpdump -ddd, with commas or line feeds
// between instructions. The compiler is libpcap's, in C, which sluice is built without.
type bpfFlag struct {
	expression string
	// machines run the program for frames of a link type.
	machines map[link.Type]*bpf.VM
}

// compilers are the names that tcpdump -y has for link types.
var compilers = map[link.Type]string{
	link.Ethernet: "EN10MB", link.Raw: "RAW", link.SLL: "LINUX_SLL",
}

// Set implements [pflag.Value]: it compiles the expression for Ethernet, so that errors
// show before the first packet.
func (f *bpfFlag) Set(s string) error {
	vm, err := compile(s, link.Ethernet)
	if err != nil {
		return err
	}
	*f = bpfFlag{s, map[link.Type]*bpf.VM{link.Ethernet: vm}}
	return nil
}

// String implements [pflag.Value].
func (f *bpfFlag) String() string { return f.expression }

// Type implements [pflag.Value].
func (f *bpfFlag) Type() string { return "filter" }

// matches reports whether a frame passes; the zero flag passes all. The error is that of
// the compiler, for a link type that it cannot compile for.
func (f *bpfFlag) matches(frame *capture.Frame) (bool, error) {
	if f.machines == nil {
		return true, nil
	}
	vm := f.machines[frame.Link]
	if vm == nil {
		var err error
		if vm, err = compile(f.expression, frame.Link); err != nil {
			return false, fmt.Errorf("--bpf: %w", err)
		}
		f.machines[frame.Link] = vm
	}
	n, err := vm.Run(frame.Data)
	return n > 0, err
}

// compile returns the machine of a filter, compiled for a link type where it is an
// expression.
func compile(filter string, of link.Type) (*bpf.VM, error) {
	program := filter
	if !isProgram(filter) {
		on, known := compilers[of]
		if !known {
			return nil, fmt.Errorf("frames of %v need a program instead of an expression", of)
		}
		out, err := exec.Command("tcpdump", "-ddd", "-y", on, "--", filter).Output() //nolint:gosec // the user's own filter, as one word
		var ended *exec.ExitError
		switch {
		case errors.Is(err, exec.ErrNotFound):
			return nil, errors.New("tcpdump compiles expressions, and is not installed: install it, or give the output of tcpdump -ddd from elsewhere")
		case errors.As(err, &ended):
			return nil, fmt.Errorf("%q: %s", filter, strings.TrimSpace(strings.ReplaceAll(string(ended.Stderr), "\n", "; ")))
		case err != nil:
			return nil, err
		}
		program = string(out)
	}
	instructions, err := assemble(program)
	if err != nil {
		return nil, err
	}
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		return nil, fmt.Errorf("%q is no program of BPF: %w", filter, err)
	}
	return vm, nil
}

// lines returns the lines of a program.
func lines(program string) []string {
	return strings.FieldsFunc(program, func(r rune) bool { return r == ',' || r == '\n' })
}

// isProgram reports whether a filter begins as a program: by a line of numbers.
func isProgram(filter string) bool {
	all := lines(filter)
	return len(all) > 0 && !slices.ContainsFunc(strings.Fields(all[0]), func(word string) bool {
		_, err := strconv.ParseUint(word, 10, 32)
		return err != nil
	})
}

// assemble returns the instructions of a program in the form of tcpdump -ddd: their number,
// and for each the code, the jumps where true and false, and the operand, all decimal.
func assemble(program string) ([]bpf.Instruction, error) {
	body := lines(program)
	if len(body) > 1 && len(strings.Fields(body[0])) == 1 {
		body = body[1:]
	}
	var all []bpf.Instruction
	for _, line := range body {
		var code, jt, jf, k uint64
		words := strings.Fields(line)
		if len(words) != 4 {
			return nil, fmt.Errorf("%q is no instruction: code, jt, jf, k", line)
		}
		for i, to := range []struct {
			n    *uint64
			bits int
		}{{&code, 16}, {&jt, 8}, {&jf, 8}, {&k, 32}} {
			n, err := strconv.ParseUint(words[i], 10, to.bits)
			if err != nil {
				return nil, fmt.Errorf("%q is no instruction: %q is no number of %d bits", line, words[i], to.bits)
			}
			*to.n = n
		}
		all = append(all, bpf.RawInstruction{Op: uint16(code), Jt: uint8(jt), Jf: uint8(jf), K: uint32(k)}.Disassemble())
	}
	return all, nil
}
