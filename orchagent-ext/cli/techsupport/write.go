// SPDX-License-Identifier: Apache-2.0

package techsupport

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"sluice/orchagent-ext/cli/output"
	"sluice/yang/text"
)

// nameWidth is the largest width of names, up to which values are aligned.
const nameWidth = 32

// Text writes the report for people.
func (r *Report) Text(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Sluice on %s, %s\n", text.Printable(r.Host), r.Time.Format("2006-01-02 15:04:05 UTC"))
	for _, p := range r.Parts {
		fmt.Fprintf(&b, "\n===== %s: %s\n", p.Name, p.About)
		p.text(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Archive writes the report as a gzipped tar of one file a part, as text, or as data where
// the format is JSON or YAML, in a folder of the archive's name.
func (r *Report) Archive(w io.Writer, format output.Format) error {
	packed := gzip.NewWriter(w)
	files := tar.NewWriter(packed)
	for _, p := range r.Parts {
		var b bytes.Buffer
		ending := ".txt"
		if format.Data() {
			ending = "." + string(format)
			if err := format.Encoder(&b).Encode(p); err != nil {
				return err
			}
		} else {
			fmt.Fprintf(&b, "%s: %s\n", p.Name, p.About)
			p.text(&b)
		}
		err := files.WriteHeader(&tar.Header{
			Name: path.Join(r.Name(), p.Name+ending), Mode: 0o644, Size: int64(b.Len()), ModTime: r.Time, Typeflag: tar.TypeReg,
		})
		if err == nil {
			_, err = files.Write(b.Bytes())
		}
		if err != nil {
			return fmt.Errorf("pack %s: %w", p.Name, err)
		}
	}
	if err := files.Close(); err != nil {
		return err
	}
	return packed.Close()
}

// Name returns the file name of an archive of the report, without an ending.
func (r *Report) Name() string {
	return fmt.Sprintf("sluice-techsupport-%s-%s", strings.ReplaceAll(r.Host, "/", "-"), r.Time.Format("20060102-150405"))
}

// text writes a part for people: errors after "!", then the items.
func (p *Part) text(b *bytes.Buffer) {
	if p.Error != "" {
		fmt.Fprintf(b, "! %s\n", strings.ReplaceAll(text.Lines(p.Error), "\n", "\n! "))
	}
	if len(p.Items) == 0 && p.Error == "" {
		b.WriteString("none\n")
	}
	for _, item := range p.Items {
		b.WriteString(text.Printable(item.Name) + "\n")
		width := 0
		for name := range item.Fields {
			width = min(nameWidth, max(width, len(name)))
		}
		for _, name := range slices.Sorted(maps.Keys(item.Fields)) {
			fmt.Fprintf(b, "  %-*s  %s\n", width, text.Printable(name), text.Printable(item.Fields[name]))
		}
		for _, line := range item.Lines {
			b.WriteString("  " + text.Printable(line) + "\n")
		}
	}
	if p.LeftOut > 0 {
		fmt.Fprintf(b, "! %d more found no room: a part has %d KiB\n", p.LeftOut, mostPart>>10)
	}
}
