// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// flagsFollow ends the description in the output of --help; the list that package pflag
// prints comes after it.
const flagsFollow = "\nFlags:\n"

// page returns the page in man(7) from the output of --help: a first paragraph
// "NAME purpose", further ones, which are examples where they are indented, and the
// list of flags.
func page(name, version, date, help string) (string, error) {
	description, flags, ok := strings.Cut(help, flagsFollow)
	if !ok {
		return "", fmt.Errorf("the help of %s has no line %q", name, strings.TrimSpace(flagsFollow))
	}
	first, _, _ := strings.Cut(description, "\n")
	purpose, ok := strings.CutPrefix(first, name+" ")
	if !ok {
		return "", fmt.Errorf("the help of %s begins with %q, want %q and its purpose", name, first, name)
	}
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 8 %q %q Sluice\n", strings.ToUpper(escape(name)), date, "Sluice "+version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escape(name), escape(strings.TrimRight(purpose, ".:")))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n[\\fIFLAG\\fR]...\n.SH DESCRIPTION\n", escape(name))
	writeDescription(&b, description)
	b.WriteString(".SH OPTIONS\n")
	if err := writeFlags(&b, flags); err != nil {
		return "", fmt.Errorf("flags of %s: %w", name, err)
	}
	b.WriteString(".SH SEE ALSO\n.BR sluice (1)\n")
	return b.String(), nil
}

// writeDescription writes paragraphs; indented lines keep their form.
func writeDescription(b *strings.Builder, description string) {
	begun := false
	for paragraph := range strings.SplitSeq(strings.TrimSpace(description), "\n\n") {
		if begun {
			b.WriteString(".PP\n")
		}
		begun = true
		example := strings.HasPrefix(paragraph, "  ")
		if example {
			b.WriteString(".nf\n")
		}
		for line := range strings.SplitSeq(paragraph, "\n") {
			b.WriteString(escape(line) + "\n")
		}
		if example {
			b.WriteString(".fi\n")
		}
	}
}

// writeFlags converts the list of flags of package pflag: "--NAME VALUE", spaces, its usage.
func writeFlags(b *strings.Builder, flags string) error {
	for line := range strings.SplitSeq(strings.TrimRight(flags, "\n"), "\n") {
		flag, usage, _ := strings.Cut(strings.TrimSpace(line), "  ")
		name, value, _ := strings.Cut(flag, " ")
		if !strings.HasPrefix(name, "--") {
			return fmt.Errorf("line %q is no flag", line)
		}
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR", escape(name))
		if value != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", escape(value))
		}
		b.WriteString("\n" + escape(strings.TrimSpace(usage)) + "\n")
	}
	return nil
}

// escape returns a line of text as roff takes it.
func escape(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}
