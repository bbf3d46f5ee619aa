// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/openconfig/goyang/pkg/yang"
)

// formats are the types that are more than a pattern, or whose pattern is hard to read,
// by name.
var formats = map[string]struct {
	ok   func(string) bool
	text string
}{
	"ipv4-address-no-zone": {func(s string) bool { return isAddr(s, netip.Addr.Is4) }, "must be an IPv4 address"},
	"ipv6-address-no-zone": {func(s string) bool { return isAddr(s, netip.Addr.Is6) }, "must be an IPv6 address"},
	"ip-address-no-zone":   {func(s string) bool { return isAddr(s, netip.Addr.IsValid) }, "must be an IP address"},
	"etcd-endpoint":        {isEndpoint, "must be http://HOST:PORT or https://HOST:PORT"},
	"row-name":             {isRowName, "must be 1..64 letters, digits, _ . -"},
	"ip-prefix":            {isPrefix, "must be an IP prefix, as 10.0.0.0/8 or 2001:db8::/32"},
}

// isAddr reports whether s is an address of a family, without a zone.
func isAddr(s string, family func(netip.Addr) bool) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Zone() == "" && family(a)
}

// rowName is the model's pattern of names of rows, but for references.
var rowName = regexp.MustCompile(`^[A-Za-z0-9_.\-]{1,64}$`)

// isRowName reports whether s can name a row.
func isRowName(s string) bool { return rowName.MatchString(s) }

// isPrefix reports whether s is an address with the length of a prefix.
func isPrefix(s string) bool {
	_, err := netip.ParsePrefix(s)
	return err == nil
}

// isEndpoint reports whether s is a URL of host and port alone: user, path and query are
// refused.
func isEndpoint(s string) bool {
	_, host, _ := strings.Cut(s, "://")
	name, port, err := net.SplitHostPort(host)
	return err == nil && name != "" && port != "" && !strings.ContainsAny(host, "@/?#")
}

// patterns are the patterns of all leaves, compiled by supported.
var patterns = make(map[string]*regexp.Regexp)

// supported reports whether check knows the type of e.
func supported(e *yang.Entry) error {
	if e.Type == nil {
		return errors.New("is no leaf")
	}
	if e.Type.Kind == yang.Yleafref {
		_, err := target(e, e.Type.Path)
		return err
	}
	for _, t := range e.Type.Type {
		if t.Kind != yang.Yleafref {
			return fmt.Errorf("a union of %s is not supported", t.Name)
		}
		if _, err := target(e, t.Path); err != nil {
			return err
		}
	}
	for _, p := range e.Type.Pattern {
		// a YANG pattern is anchored at both ends
		re, err := regexp.Compile("^(?:" + p + ")$")
		if err != nil {
			return err
		}
		patterns[p] = re
	}
	switch e.Type.Kind {
	case yang.Ystring, yang.Ybool, yang.Yenum, yang.Yunion, yang.Ydecimal64,
		yang.Yint8, yang.Yint16, yang.Yint32, yang.Yint64,
		yang.Yuint8, yang.Yuint16, yang.Yuint32, yang.Yuint64:
		return nil
	}
	return fmt.Errorf("type %s is not supported", e.Type.Name)
}

// check returns why a value does not fit leaf e, or nil. A value must have its canonical
// form: numbers are decimal, with neither sign nor leading 0 (RFC 7950 section 9.1).
func check(e *yang.Entry, value string) error {
	t := e.Type
	switch t.Kind {
	case yang.Ystring:
		return checkString(t, value)
	case yang.Ybool:
		if value != "true" && value != "false" {
			return errors.New("must be true or false")
		}
	case yang.Yenum:
		if !t.Enum.IsDefined(value) {
			return fmt.Errorf("must be one of %s", strings.Join(enumNames(t.Enum), ", "))
		}
	case yang.Yleafref, yang.Yunion: // references may have any name
		if value == "" {
			return errors.New("must not be empty")
		}
		return checkText(value)
	case yang.Ydecimal64:
		return checkDecimal(t, value)
	default:
		return checkNumber(t.Range, value)
	}
	return nil
}

// enumNames returns the names of an enum in the order of their values, which is that of
// the model.
func enumNames(e *yang.EnumType) []string {
	names := slices.Collect(maps.Keys(e.ToInt))
	slices.SortFunc(names, func(a, b string) int { return int(e.ToInt[a] - e.ToInt[b]) })
	return names
}

// checkString returns the reason for which a string is outside its type: format,
// characters, length (in characters) or pattern; or nil.
func checkString(t *yang.YangType, value string) error {
	if f, ok := formats[t.Name]; ok && !f.ok(value) {
		return errors.New(f.text)
	}
	if err := checkText(value); err != nil {
		return err
	}
	if n := uint64(utf8.RuneCountInString(value)); len(t.Length) > 0 && !within(t.Length, yang.FromUint(n)) {
		return fmt.Errorf("must be %s characters long, and is %d", ranges(t.Length), n)
	}
	for _, p := range t.Pattern {
		if !patterns[p].MatchString(value) {
			return fmt.Errorf("must match %s", p)
		}
	}
	return nil
}

// checkText returns an error unless value is UTF-8 without the control characters that
// YANG forbids.
func checkText(value string) error {
	if !utf8.ValidString(value) {
		return errors.New("must be UTF-8")
	}
	if i := strings.IndexFunc(value, isControl); i >= 0 {
		return fmt.Errorf("must have no control characters, and has one at octet %d", i)
	}
	return nil
}

// isControl reports whether YANG forbids a character in strings (RFC 7950 section 14,
// yang-char).
func isControl(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe
}

// checkNumber returns an error unless value is an integer in canonical form and within
// the ranges.
func checkNumber(allowed yang.YangRange, value string) error {
	var n yang.Number
	if i, err := strconv.ParseInt(value, 10, 64); err == nil && strconv.FormatInt(i, 10) == value {
		n = yang.FromInt(i)
	} else if u, err := strconv.ParseUint(value, 10, 64); err == nil && strconv.FormatUint(u, 10) == value {
		n = yang.FromUint(u)
	} else {
		return fmt.Errorf("must be a decimal number, %s", ranges(allowed))
	}
	if !within(allowed, n) {
		return fmt.Errorf("must be %s", ranges(allowed))
	}
	return nil
}

// checkDecimal returns an error unless value is a decimal64 in canonical form (RFC 7950
// section 9.3.2) and within the range.
func checkDecimal(t *yang.YangType, value string) error {
	f, err := strconv.ParseFloat(value, 64)
	_, fraction, _ := strings.Cut(value, ".")
	if err != nil || decimal(f) != value || len(fraction) > t.FractionDigits {
		return fmt.Errorf("must have a point and at most %d digits behind it, %s", t.FractionDigits, ranges(t.Range))
	}
	if n, err := yang.ParseDecimal(value, uint8(t.FractionDigits)); err != nil || !within(t.Range, n) {
		return fmt.Errorf("must be %s", ranges(t.Range))
	}
	return nil
}

// decimal writes a decimal64 in its canonical form (RFC 7950 section 9.3.2).
func decimal(f float64) string {
	if f == 0 {
		f = 0 // -0 aside
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// within reports whether n is in one of the ranges.
func within(allowed yang.YangRange, n yang.Number) bool {
	return slices.ContainsFunc(allowed, func(r yang.YRange) bool { return !n.Less(r.Min) && !r.Max.Less(n) })
}

// ranges returns the allowed values as text: "29 or 192..255".
func ranges(allowed yang.YangRange) string {
	var parts []string
	for _, r := range allowed {
		switch {
		case r.Min.Equal(r.Max):
			parts = append(parts, r.Min.String())
		case r.Max.Value == math.MaxUint64 && !r.Max.Negative:
			parts = append(parts, r.Min.String()+" or more")
		default:
			parts = append(parts, r.Min.String()+".."+r.Max.String())
		}
	}
	return strings.Join(parts, " or ")
}
