// SPDX-License-Identifier: Apache-2.0

package encoding

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/goyang/pkg/yang"
	"sluice/gnmi-server/paths"
)

// Supported are the encodings that values can have.
var Supported = []gpb.Encoding{gpb.Encoding_JSON, gpb.Encoding_JSON_IETF, gpb.Encoding_PROTO, gpb.Encoding_ASCII}

// IsSupported reports whether values can have an encoding.
func IsSupported(e gpb.Encoding) bool { return slices.Contains(Supported, e) }

// Leaf is a leaf and its text. The values of a leaf-list have commas between.
type Leaf struct {
	// Table is the leaf's table.
	Table *paths.Table
	// Key is that of the row, Name the leaf's, and Text its value as the database has it.
	Key, Name, Text string
}

// Null is name and text of the placeholder in a row without fields, in style SonicDB
// as in the databases.
const Null = "NULL"

// list reports whether the leaf is a leaf-list.
func (l Leaf) list() bool { return l.Name != Null && l.Table.Entry(l.Name).IsLeafList() }

// kind returns the YANG type of the leaf; in style SonicDB all are strings.
func (l Leaf) kind(s paths.Style) yang.TypeKind {
	if s == paths.SonicDB {
		return yang.Ystring // all that the database knows
	}
	return l.Table.Entry(l.Name).Type.Kind
}

// values returns the texts of a leaf: one, unless it is a leaf-list.
func (l Leaf) values() []string {
	switch {
	case !l.list():
		return []string{l.Text}
	case l.Text == "":
		return nil
	}
	return strings.Split(l.Text, ",")
}

// Valid reports whether the text of a leaf has the form of the leaf's type, so
// that it has a value in every encoding of style YANG.
func (l Leaf) Valid() bool {
	t := l.Table.Entry(l.Name).Type
	return !slices.ContainsFunc(l.values(), func(s string) bool { return !valid(t, s) })
}

// valid reports whether s has the form of its type. It is strict about numbers: 007 and
// NaN, which JSON lacks, are invalid.
func valid(t *yang.YangType, s string) bool {
	switch t.Kind {
	case yang.Ybool:
		return s == "true" || s == "false"
	case yang.Yenum:
		return t.Enum.IsDefined(s)
	case yang.Yint8, yang.Yint16, yang.Yint32, yang.Yint64:
		n, err := strconv.ParseInt(s, 10, bits[t.Kind])
		return err == nil && strconv.FormatInt(n, 10) == s
	case yang.Yuint8, yang.Yuint16, yang.Yuint32, yang.Yuint64:
		n, err := strconv.ParseUint(s, 10, bits[t.Kind])
		return err == nil && strconv.FormatUint(n, 10) == s
	case yang.Ydecimal64:
		return decimal.MatchString(s)
	}
	return utf8.ValidString(s)
}

// decimal is the form of a decimal64 (RFC 7950 section 9.3.1) that is also a
// number of JSON.
var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?$`)

// bits are the sizes of the integer types.
var bits = map[yang.TypeKind]int{
	yang.Yint8: 8, yang.Yint16: 16, yang.Yint32: 32, yang.Yint64: 64,
	yang.Yuint8: 8, yang.Yuint16: 16, yang.Yuint32: 32, yang.Yuint64: 64,
}

// Value returns the value of a valid leaf.
func (l Leaf) Value(s paths.Style, e gpb.Encoding) *gpb.TypedValue {
	switch e {
	case gpb.Encoding_ASCII:
		return &gpb.TypedValue{Value: &gpb.TypedValue_AsciiVal{AsciiVal: l.Text}}
	case gpb.Encoding_JSON:
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: l.json(s, false)}}
	case gpb.Encoding_JSON_IETF:
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: l.json(s, true)}}
	}
	kind := l.kind(s)
	if !l.list() {
		return scalar(kind, l.Text)
	}
	list := &gpb.ScalarArray{}
	for _, v := range l.values() {
		list.Element = append(list.Element, scalar(kind, v))
	}
	return &gpb.TypedValue{Value: &gpb.TypedValue_LeaflistVal{LeaflistVal: list}}
}

// scalar is for valid texts (gNMI specification section 2.2.3).
func scalar(k yang.TypeKind, s string) *gpb.TypedValue {
	switch k {
	case yang.Ybool:
		return &gpb.TypedValue{Value: &gpb.TypedValue_BoolVal{BoolVal: s == "true"}}
	case yang.Yint8, yang.Yint16, yang.Yint32, yang.Yint64:
		n, _ := strconv.ParseInt(s, 10, 64)
		return &gpb.TypedValue{Value: &gpb.TypedValue_IntVal{IntVal: n}}
	case yang.Yuint8, yang.Yuint16, yang.Yuint32, yang.Yuint64:
		n, _ := strconv.ParseUint(s, 10, 64)
		return &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: n}}
	case yang.Ydecimal64:
		f, _ := strconv.ParseFloat(s, 64)
		return &gpb.TypedValue{Value: &gpb.TypedValue_DoubleVal{DoubleVal: f}}
	}
	return &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: s}}
}

// json returns the leaf's value in JSON, of RFC 7951 if ietf is set.
func (l Leaf) json(s paths.Style, ietf bool) []byte {
	kind := l.kind(s)
	if !l.list() {
		return jsonOf(kind, l.Text, ietf)
	}
	parts := []string{}
	for _, v := range l.values() {
		parts = append(parts, string(jsonOf(kind, v, ietf)))
	}
	return []byte("[" + strings.Join(parts, ",") + "]")
}

// jsonOf returns a valid text as JSON. JSON_IETF has 64-bit numbers and decimals as
// strings (RFC 7951 section 6.1), since many readers keep numbers in doubles of 53 bits.
func jsonOf(k yang.TypeKind, s string, ietf bool) []byte {
	switch k {
	case yang.Ybool, yang.Yint8, yang.Yint16, yang.Yint32, yang.Yuint8, yang.Yuint16, yang.Yuint32:
		return []byte(s)
	case yang.Yint64, yang.Yuint64, yang.Ydecimal64:
		if !ietf {
			return []byte(s)
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		// it takes every string
		panic(fmt.Sprintf("encoding: a string that JSON does not take: %v", err))
	}
	return text
}
