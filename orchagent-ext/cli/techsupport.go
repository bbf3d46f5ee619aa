// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/techsupport"
	"sluice/orchagent-ext/cli/terminal"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// newTechsupportCommand returns `sluice techsupport`.
func newTechsupportCommand() *cobra.Command {
	var out string
	var since time.Duration
	cmd := &cobra.Command{
		Use:   "techsupport",
		Short: "Gather the data that remote support needs about a Sluice",
		Long: `Gather the data that remote support needs about a Sluice: versions, state, capabilities,
configuration and its errors, the objects on the switch, counters, the heaviest flows, the kernel's
ECMP hash, netdevs and their filters, processes, limits, and lines of the log. It only reads.

Without --out it prints text, which is what SONiC's show techsupport takes; with --out FILE it writes
a gzipped tar with a file for each part; - is standard output. What cannot be read is said in its
part, and the rest goes on. Values of fields whose names look like those of secrets, passwords in
URLs and private keys are masked; look through it before you hand it on all the same.

Of sluiced's process and log it sees what is visible where it runs: run it beside sluiced, in the
container. It takes 30 s at most, and 10 MiB.`,
		Example: `  sluice techsupport
  sluice techsupport --out techsupport.tar.gz --since 2h
  docker exec sluice start.sh sluice techsupport --out - > techsupport.tar.gz
  sluice techsupport -o json | jq '.parts[] | select(.name == "errors")'`,
		Args: kit.Exactly(),
	}
	flags := cmd.Flags()
	dbs := addDatabases(flags)
	flags.StringVar(&out, "out", "", "write an archive into this file; - is standard output")
	target := kit.AddForce(cmd)
	flags.DurationVar(&since, "since", 24*time.Hour, "how far back lines of the log are taken")
	format := kit.AddFormat(flags, "one object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if since <= 0 {
			return errors.New("--since must be more than 0")
		}
		if _, is := terminal.Is(cmd.OutOrStdout()); is && out == "-" {
			return errors.New("standard output is a terminal, which an archive is not for: give --out FILE, or leave --out out for text")
		}
		opened, openErr := dbs.open("CONFIG_DB", "STATE_DB", "COUNTERS_DB")
		defer func() { _ = opened.close() }()
		r := techsupport.Collect(cmd.Context(), techsupport.Config{
			Version: version, Since: since, Now: time.Now, Root: "/",
			Read: func(ctx context.Context, database string, tables ...string) ([]rows.Row, error) {
				if openErr != nil {
					return nil, openErr
				}
				return opened.read(ctx, database, tables...)
			},
		})
		switch {
		case out == "" && format.Data():
			return format.Encoder(cmd.OutOrStdout()).Encode(r)
		case out == "":
			return r.Text(cmd.OutOrStdout())
		case out == "-":
			return r.Archive(cmd.OutOrStdout(), *format)
		default:
			var packed bytes.Buffer
			err := r.Archive(&packed, *format)
			if err == nil {
				err = writePrivate(target(out), &packed)
			}
			if err == nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "%d parts in %s\n", len(r.Parts), text.Lines(out))
			}
			return err
		}
	}
	return cmd
}

// writePrivate writes a file that only this user may read. It refuses a name that exists, unless
// that is to be replaced: the file might be open to others, and a link might lead anywhere.
func writePrivate(to output.Target, content io.Reader) error {
	beside := to.Name
	if to.Force {
		beside = filepath.Join(filepath.Dir(to.Name), fmt.Sprintf(".%s.%d", filepath.Base(to.Name), os.Getpid()))
	}
	f, err := os.OpenFile(beside, os.O_CREATE|os.O_WRONLY|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create %s: %w", beside, output.ErrExists)
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err = errors.Join(err, f.Close()); err == nil && to.Force {
		err = os.Rename(beside, to.Name)
	}
	if err != nil {
		_ = os.Remove(beside)
	}
	return err
}
