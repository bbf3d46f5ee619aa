// SPDX-License-Identifier: Apache-2.0

package saiattr

import (
	"net/netip"
	"strconv"
	"strings"
)

// Value is the value of an attribute, as its form has it. The methods of [Attr] make
// values; which fields are set follows from its Form.
type Value struct {
	*Attr
	Number  uint64     // 1 or 0 of a Bool; else what the object is set to or compares with
	Mask    uint32     // of FieldOctets: the bits of Number that are compared
	Off     bool       // an action that is disabled
	List    []uint64   // of lists of numbers; of object ids, once they are known
	Address netip.Addr // of fields and next hops
	Keys    []string   // names of objects, whose ids [Value.Resolve] fills in

	// Text is the value for the operator and the ledger. It is for reading only.
	Text string

	// Implied values stay out of the ledger: they follow from others.
	Implied bool
}

// Is returns a value that is true or false. The attribute's form is Bool.
func (a *Attr) Is(v bool) Value {
	n := uint64(0)
	if v {
		n = 1
	}
	return Value{Attr: a, Number: n, Text: strconv.FormatBool(v)}
}

// Of returns a number as value. The text is decimal, or hexadecimal with the attribute's
// number of digits.
func (a *Attr) Of(n uint64) Value {
	text := ""
	if a.digits == 0 {
		text = strconv.FormatUint(n, 10)
	} else {
		text = strconv.FormatUint(n, 16)
		text = "0x" + strings.Repeat("0", max(a.digits-len(text), 0)) + text
	}
	return Value{Attr: a, Number: n, Text: text}
}

// As returns a number as value, with a text of its own. The text is for a number that
// means nothing to people, such as the id of a port.
func (a *Attr) As(n uint64, text string) Value { return Value{Attr: a, Number: n, Text: text} }

// Enum returns values of the attribute's enum, by their names without the common prefix:
// in lower case with hyphens, or as SAI has them. A name that the headers lack panics.
func (a *Attr) Enum(names ...string) Value {
	v := Value{Attr: a, Text: strings.Join(names, ",")}
	for _, name := range names {
		v.List = append(v.List, a.EnumNumber(name))
	}
	if a.Form != S32s {
		v.Number, v.List = v.List[0], nil
	}
	return v
}

// Numbers returns a list of an enum's values by their numbers. A number that the headers
// lack is its own text.
func (a *Attr) Numbers(all ...uint64) Value {
	names := make([]string, len(all))
	for i, n := range all {
		names[i] = a.enumName(n)
	}
	return Value{Attr: a, List: all, Text: strings.Join(names, ",")}
}

// enumName is the name of a value of the attribute's enum, the number of one that the
// headers lack.
func (a *Attr) enumName(n uint64) string {
	for name, number := range numbers {
		if text, ok := strings.CutPrefix(name, a.values); ok && uint64(number) == n {
			return text
		}
	}
	return strconv.FormatUint(n, 10)
}

// EnumNumber is the number of a value of the attribute's enum. A name that the headers
// lack panics; see [Attr.Parse] for texts from outside.
func (a *Attr) EnumNumber(name string) uint64 {
	return uint64(numberOf(a.values + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))))
}

// Parse returns the number that [Attr.Is], [Attr.Of] or [Attr.Enum] made a text of; ok is
// false for other texts.
func (a *Attr) Parse(text string) (n uint64, ok bool) {
	switch {
	case a.Form == Bool:
		return a.Is(text == "true").Number, text == "true" || text == "false"
	case a.values != "":
		if number, ok := numbers[a.values+strings.ToUpper(strings.ReplaceAll(text, "-", "_"))]; ok {
			return uint64(number), true
		}
	}
	n, err := strconv.ParseUint(text, 0, 64)
	return n, err == nil
}

// IP returns an address as value, of the family that the attribute takes. An IPv4 address
// mapped into IPv6 counts as IPv6.
func (a *Attr) IP(v netip.Addr) Value { return Value{Attr: a, Address: v, Text: v.String()} }

// Word returns four octets of a user-defined field as value, of which those of the mask
// are compared.
func (a *Attr) Word(v, mask uint32) Value {
	is := a.Of(uint64(v))
	is.Mask = mask
	return is
}

// Ref returns objects as value, by their keys. Its ids are unknown until [Value.Resolve];
// the text is each key with an @ before it.
func (a *Attr) Ref(keys ...string) Value {
	text := "@" + strings.Join(keys, ",@")
	return Value{Attr: a, Keys: keys, Text: text}
}

// Object returns an object as value, by its id; 0 is SAI_NULL_OBJECT_ID. It has no text,
// as ids mean nothing to the operator.
func (a *Attr) Object(ids ...uint64) Value { return Value{Attr: a, List: ids} }

// Disabled is the value of an action that is off. Its text is empty.
func (a *Attr) Disabled() Value { return Value{Attr: a, Off: true} }

// Resolve returns the value with the ids of the objects that its keys name. v itself
// stays as it is. An unknown key is the id that the function returns for it, 0 by
// convention.
func (v Value) Resolve(id func(key string) uint64) Value {
	if len(v.Keys) == 0 {
		return v
	}
	v.List = make([]uint64, len(v.Keys))
	for i, key := range v.Keys {
		v.List[i] = id(key)
	}
	return v
}

// ID is the first object. It is 0, SAI_NULL_OBJECT_ID, for a value without objects.
func (v Value) ID() uint64 {
	if len(v.List) == 0 {
		return 0
	}
	return v.List[0]
}
