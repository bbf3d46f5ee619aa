// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const help = `some-d does a thing.

.It takes rows.

  some-d --all     all

Flags:
      --all         do all of it
      --file path   path of C:\file (default "x")
      --q           quiet
`

func TestPageShowsDescriptionAndEachFlag(t *testing.T) {
	got, err := page("some-d", "1.2.3", "2026-01-02", help)
	if err != nil {
		t.Fatal(err)
	}
	want := `.TH SOME\-D 8 "2026-01-02" "Sluice 1.2.3" Sluice
.SH NAME
some\-d \- does a thing
.SH SYNOPSIS
.B some\-d
[\fIFLAG\fR]...
.SH DESCRIPTION
some\-d does a thing.
.PP
\&.It takes rows.
.PP
.nf
  some\-d \-\-all     all
.fi
.SH OPTIONS
.TP
\fB\-\-all\fR
do all of it
.TP
\fB\-\-file\fR \fIpath\fR
path of C:\efile (default "x")
.TP
\fB\-\-q\fR
quiet
.SH SEE ALSO
.BR sluice (1)
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPageRefusesHelpOfAnotherForm(t *testing.T) {
	for _, change := range [][2]string{
		{"Flags:", "Options:"},
		{"some-d does", "It does"},
		{"      --all", "-all"},
		{"quiet\n", "quiet\nand more\n"},
	} {
		bad := strings.Replace(help, change[0], change[1], 1)
		if bad == help {
			t.Fatalf("the help has no %q", change[0])
		}
		if _, err := page("some-d", "1.2.3", "2026-01-02", bad); err == nil {
			t.Errorf("%q in place of %q is taken", change[1], change[0])
		}
	}
}
