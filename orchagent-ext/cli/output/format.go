// SPDX-License-Identifier: Apache-2.0

package output

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"

	"sluice/orchagent-ext/cli/terminal"
	"sluice/yang/text"
)

// Format is the form of a command's answer.
type Format string

// Formats, as -o takes them.
const (
	Plain Format = "table" // on a terminal the columns that fit
	Wide  Format = "wide"  // all columns
	JSON  Format = "json"
	YAML  Format = "yaml"
)

// Formats are all of them; the first is the default.
var Formats = []Format{Plain, Wide, JSON, YAML}

// Data reports whether the answer is for programs.
func (f Format) Data() bool { return f == JSON || f == YAML }

// Write writes the one value of an answer: JSON indented, or a YAML document.
func (f Format) Write(w io.Writer, v any) error {
	if f == YAML {
		return f.Encoder(w).Encode(v)
	}
	encoded, err := json.MarshalIndent(v, "", "    ")
	if err == nil {
		_, err = w.Write(append(text.JSON(encoded), '\n'))
	}
	return err
}

// Encoder writes values one after the other.
type Encoder interface{ Encode(v any) error }

// Encoder returns an encoder of a series of values: JSON objects, one a line, or YAML
// documents with lines of --- between. A terminal may show all of it.
func (f Format) Encoder(w io.Writer) Encoder {
	if f != YAML {
		return text.NewEncoder(w)
	}
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	return yamlEncoder{e}
}

// yamlEncoder writes values with the names and the order that they have in JSON.
type yamlEncoder struct{ *yaml.Encoder }

// Encode writes a value as a document. JSON is YAML, so that the value passes through
// encoding/json, whose tags the types have.
func (e yamlEncoder) Encode(v any) error {
	encoded, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var node yaml.Node
	if err := yaml.Unmarshal(encoded, &node); err != nil {
		return fmt.Errorf("JSON as YAML: %w", err)
	}
	block(&node)
	return e.Encoder.Encode(&node)
}

// block gives nodes YAML's own style, without braces and needless quotes, and replaces
// characters that a terminal would obey.
func block(n *yaml.Node) {
	n.Style = 0
	n.Value = text.Lines(n.Value)
	for _, c := range n.Content {
		block(c)
	}
}

// Style is the way in which tables are printed.
type Style struct {
	// Width is that of the terminal in characters, into which a table fits where it may
	// leave columns out; 0: there is no limit.
	Width int
	// Color marks the cells that an operator is to notice.
	Color bool
}

// Style returns the style of tables on w. A pipe or a file gets all columns and no colors.
// NO_COLOR and TERM=dumb turn colors off (https://no-color.org).
func (f Format) Style(w io.Writer) Style {
	file, is := terminal.Is(w)
	if !is {
		return Style{}
	}
	s := Style{Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	if f != Wide {
		s.Width, _ = terminal.Size(file)
	}
	return s
}
