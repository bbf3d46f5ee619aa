// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"github.com/spf13/pflag"

	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// AddCodePoints adds the flags of all code points, for peers that use others
// than the defaults. The result is to be called when the flags were parsed.
func AddCodePoints(flags *pflag.FlagSet) func() (notify.CodePoints, error) {
	c := notify.DefaultCodePoints()
	small := func(name string, value *uint8, usage string) func() {
		v := AddNumber(flags, name, 8, uint32(*value), usage)
		return func() { *value = uint8(*v) }
	}
	set := []func(){
		small("pfcm-type", &c.PFCMType, "ICMPv6 type of PFCM"),
		small("pfcm-code", &c.PFCMCode, "ICMPv6 code of PFCM"),
		small("pfcm-option", &c.PFCMOption, "IPv6 option type of PFCM"),
		small("ppfc-type-v6", &c.PPFCTypeV6, "ICMPv6 type of PPFC"),
		small("ppfc-code-v6", &c.PPFCCodeV6, "ICMPv6 code of PPFC"),
		small("ppfc-type-v4", &c.PPFCTypeV4, "ICMPv4 type of PPFC"),
		small("ppfc-code-v4", &c.PPFCCodeV4, "ICMPv4 code of PPFC"),
	}
	port := AddNumber(flags, "ppfc-port", 16, uint32(c.PPFCPort), "UDP destination port of PPFC")
	opcode := AddHex(flags, "rate-advice-opcode", 8, uint32(c.RateAdviceOpcode), "BTH opcode of Rate Advice")
	ForExperts(flags, "pfcm-type", "pfcm-code", "pfcm-option", "ppfc-type-v6", "ppfc-code-v6", "ppfc-type-v4", "ppfc-code-v4", "ppfc-port", "rate-advice-opcode")
	return func() (notify.CodePoints, error) {
		for _, f := range set {
			f()
		}
		c.PPFCPort, c.RateAdviceOpcode = uint16(*port), roce.Opcode(*opcode)
		return c, c.Validate()
	}
}
