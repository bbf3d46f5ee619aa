// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"encoding"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/units"
	"sluice/orchagent-ext/wire/roce"
)

// numberFlag is an unsigned number of so many bits, decimal or with 0x.
type numberFlag struct {
	value *uint32
	bits  int
}

// Set implements [pflag.Value]: decimal, or hexadecimal with 0x, within f.bits bits.
func (f numberFlag) Set(s string) error {
	v, err := strconv.ParseUint(s, 0, 32)
	if err != nil || v >= 1<<f.bits {
		return fmt.Errorf("%q is not a number of %d bits, decimal or with 0x", s, f.bits)
	}
	*f.value = uint32(v)
	return nil
}

// String implements [pflag.Value], in hexadecimal as for queue pairs and keys.
func (f numberFlag) String() string { return fmt.Sprintf("%#x", *f.value) }

// Type implements [pflag.Value].
func (f numberFlag) Type() string { return "number" }

// Number returns the flag of a number of so many bits, decimal or with 0x.
func Number(value *uint32, bits int) pflag.Value { return numberFlag{value, bits} }

// decimalFlag is a numberFlag whose default is shown in decimal: a count, a time.
type decimalFlag struct{ numberFlag }

// String implements [pflag.Value], in decimal as for times and rates.
func (f decimalFlag) String() string { return fmt.Sprint(*f.value) }

// AddNumber adds a decimalFlag.
func AddNumber(flags *pflag.FlagSet, name string, bits int, value uint32, usage string) *uint32 {
	flags.Var(decimalFlag{numberFlag{&value, bits}}, name, usage)
	return &value
}

// AddHex adds a numberFlag.
func AddHex(flags *pflag.FlagSet, name string, bits int, value uint32, usage string) *uint32 {
	flags.Var(numberFlag{&value, bits}, name, usage)
	return &value
}

// AddAddr adds a flag that takes an IP address; its default is the zero address,
// which is invalid.
func AddAddr(flags *pflag.FlagSet, name, usage string) *netip.Addr {
	a := new(netip.Addr)
	flags.Var(textFlag{a, "address"}, name, usage)
	return a
}

// textFlag is a value that reads and writes itself as text, such as an address
// or an algorithm.
type textFlag struct {
	value interface {
		encoding.TextUnmarshaler
		encoding.TextMarshaler
	}
	kind string
}

// Text returns the flag of a value that reads and writes itself as text; kind is its type in the
// help, words with | between where it is one of a few.
func Text(value interface {
	encoding.TextUnmarshaler
	encoding.TextMarshaler
}, kind string,
) pflag.Value {
	return textFlag{value, kind}
}

// Set implements [pflag.Value] by the value's own UnmarshalText, whose error lists the
// allowed words.
func (f textFlag) Set(s string) error { return f.value.UnmarshalText([]byte(s)) }

// Type implements [pflag.Value].
func (f textFlag) Type() string { return f.kind }

// String implements [pflag.Value]. A value outside its range has the text "".
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

// Set implements [pflag.Value]: one of the choices, exactly as written.
func (f choiceFlag) Set(s string) error {
	for _, c := range f.choices {
		if s == c {
			*f.value = s
			return nil
		}
	}
	return fmt.Errorf("%q is not one of %s", s, strings.Join(f.choices, ", "))
}

// String implements [pflag.Value].
func (f choiceFlag) String() string { return *f.value }

// Type implements [pflag.Value].
func (f choiceFlag) Type() string { return strings.Join(f.choices, "|") }

// AddChoice adds a flag that takes one of the choices; the first is the default.
func AddChoice(flags *pflag.FlagSet, name, usage string, choices ...string) *string {
	value := choices[0]
	flags.Var(choiceFlag{&value, choices}, name, usage)
	return &value
}

// macFlag is a MAC address.
type macFlag struct{ value *roce.MAC }

// MAC returns the flag of a MAC address.
func MAC(value *roce.MAC) pflag.Value { return macFlag{value} }

// Set implements [pflag.Value] in the forms of [net.ParseMAC], six octets only: it also
// takes EUI-64 and InfiniBand addresses.
func (f macFlag) Set(s string) error {
	mac, err := net.ParseMAC(s)
	if err != nil || len(mac) != len(f.value) {
		return fmt.Errorf("%q is not a MAC address of six octets", s)
	}
	*f.value = roce.MAC(mac)
	return nil
}

// String implements [pflag.Value].
func (f macFlag) String() string { return net.HardwareAddr(f.value[:]).String() }

// Type implements [pflag.Value].
func (f macFlag) Type() string { return "mac" }

// rateFlag is a rate in bit/s: 1G, 500Mbps, or a number of Mbit/s.
type rateFlag struct{ value *uint64 }

// Rate returns the flag of a rate in bit/s, which takes 1G, 500Mbps, or a number of Mbit/s.
func Rate(value *uint64) pflag.Value { return rateFlag{value} }

// rateUnits are those that a rate is printed in, in bit/s.
var rateUnits = []struct {
	name string
	bits float64
}{{"Gbps", 1e9}, {"Mbps", 1e6}, {"kbps", 1e3}, {"bps", 1}}

// mostRate is the highest rate of a flag, in bit/s.
const mostRate = 1e15

// Set implements [pflag.Value]: a number with a unit in any case, or a plain number of
// Mbit/s; 1 bit/s to 10¹⁵ bit/s.
func (f rateFlag) Set(s string) error {
	text := s
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		text += "M" // a number alone
	}
	bits, err := units.Parse(text, "bit/s")
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a rate, such as 1Gbps, 2.5M, 500kbit, or a number of Mbit/s", s)
	case bits == 0 || bits > mostRate:
		return fmt.Errorf("%q is not a rate of 1 bit/s to 1 Pbit/s", s)
	}
	*f.value = bits
	return nil
}

// Type implements [pflag.Value].
func (f rateFlag) Type() string { return "rate" }

// String implements [pflag.Value], in the largest unit with a value of at least 1.
func (f rateFlag) String() string {
	for _, u := range rateUnits {
		if v := float64(*f.value) / u.bits; v >= 1 {
			return strconv.FormatFloat(v, 'f', -1, 64) + u.name
		}
	}
	return "0"
}

// quantityFlag is a count of a unit of the model, of so many bits; it may be given in other
// units: 5ms of microseconds.
type quantityFlag struct {
	decimalFlag
	unit string
}

// Set takes a number with a unit, such as 10M or 500ms.
func (f quantityFlag) Set(s string) error {
	n, err := units.Parse(s, f.unit)
	if err == nil && n >= 1<<f.bits {
		err = fmt.Errorf("%q is more than %d %s", s, uint64(1)<<f.bits-1, f.unit)
	}
	if err == nil {
		*f.value = uint32(n)
	}
	return err
}

func (f quantityFlag) Type() string { return f.unit }

// formatFlag is the form of an answer.
type formatFlag struct{ value *output.Format }

// Set implements [pflag.Value]: one of [output.Formats].
func (f formatFlag) Set(s string) error {
	if !slices.Contains(output.Formats, output.Format(s)) {
		return fmt.Errorf("%q is not one of %s", s, strings.ReplaceAll(f.Type(), "|", ", "))
	}
	*f.value = output.Format(s)
	return nil
}

// String implements [pflag.Value].
func (f formatFlag) String() string { return string(*f.value) }

// Type implements [pflag.Value].
func (f formatFlag) Type() string {
	var names []string
	for _, name := range output.Formats {
		names = append(names, string(name))
	}
	return strings.Join(names, "|")
}

// jsonFlag is --json, which is -o json.
type jsonFlag struct{ formatFlag }

// Set implements [pflag.Value]: true or false.
func (f jsonFlag) Set(s string) error {
	on, err := strconv.ParseBool(s)
	if err != nil {
		return fmt.Errorf("%q is not true or false", s)
	}
	if on {
		*f.value = output.JSON
	}
	return nil
}

// Type implements [pflag.Value].
func (f jsonFlag) Type() string { return "bool" }

// AddFormat adds -o and --json; json is the usage of JSON: the objects that there are.
func AddFormat(flags *pflag.FlagSet, json string) *output.Format {
	f := output.Plain
	flags.VarP(formatFlag{&f}, "output", "o", "form of the output; a table leaves columns out that do not fit the terminal, wide has them all")
	flags.Var(jsonFlag{formatFlag{&f}}, "json", "the same as -o json: "+json)
	flags.Lookup("json").NoOptDefVal = "true"
	flags.Lookup("json").DefValue = "false"
	return &f
}

// AddForce adds --force, and returns the function that makes a file of the command's
// output from a name.
func AddForce(cmd *cobra.Command) func(name string) output.Target {
	force := cmd.Flags().BoolP("force", "f", false, "overwrite a file that exists")
	return func(name string) output.Target {
		return output.Target{Name: name, Stdout: cmd.OutOrStdout(), Force: *force}
	}
}

// AddQuantity adds a quantityFlag.
func AddQuantity(flags *pflag.FlagSet, name, unit string, bits int, value uint32, usage string) *uint32 {
	flags.Var(quantityFlag{decimalFlag{numberFlag{&value, bits}}, unit}, name, usage)
	return &value
}
