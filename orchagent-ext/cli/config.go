// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/rollout"
	"sluice/orchagent-ext/cli/settings"
	"sluice/orchagent-ext/cli/units"
	"sluice/yang/rows"
)

// newConfigCommand makes `sluice config`, with a command for each table if tables
// is true.
func newConfigCommand(tables bool) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Change what Sluice does: the rows of CONFIG_DB",
		Long: `Change what Sluice does: the rows of CONFIG_DB, a command for each table. What a command changes is
judged as a whole, with what it refers to, and written all or nothing. sluiced acts on it within
milliseconds; "sluice show status" says so, and names rows that are not in force.

"sluice diff" shows what the last change did, "sluice rollback" takes it back.

With --target it changes other switches by gNMI, all or none: all are read and their rows judged before
anything is written. Each writes the change, and takes it back by itself after 60 s unless it is
confirmed; when all hold it, it is confirmed, else it is taken back. Each switch has a line with
the result. A command that sets --admin-state disabled, and nothing else, is the exception: it is written at
once, and for good, to each switch that answers, whatever becomes of the others.`,
		Example: `  sluice config port set Ethernet0 --role edge
  sluice config flow-label set --admin-state enabled --manage-switch-hash true
  sluice config flow-label del manage-switch-hash
  sluice config port del Ethernet0
  sluice config load config_db.json --dry-run
  sluice config flow-label set --admin-state enabled --target leaf1,leaf2
  sluice config global set --admin-state disabled --target all`,
		Args: kit.Words,
		RunE: kit.Help,
	}
	s := &settingsCommand{}
	s.databases = addDatabases(cmd.PersistentFlags())
	s.addJournal(cmd.PersistentFlags())
	s.addDry(cmd.PersistentFlags())
	s.fleet = addFleet(cmd, cmd.PersistentFlags(), "the rows that change, with their fields before and after; with --target an object for each switch")
	cmd.AddCommand(s.load())
	if !tables {
		return cmd
	}
	for _, t := range settings.Tables() {
		group := &cobra.Command{Use: t.Command, Short: t.Help, Args: kit.Words, RunE: kit.Help}
		group.AddCommand(s.set(&t), s.del(&t))
		cmd.AddCommand(group)
	}
	return cmd
}

// settingsCommand has the flags that all commands share that change CONFIG_DB.
type settingsCommand struct {
	databases *databaseFlags
	journal   string
	dry       bool
	fleet     *fleetFlags // nil: of diff
}

// defaultJournal is beside the files that sluiced keeps over a reboot.
const defaultJournal = "/var/lib/sluice/config-journal.json"

// addJournal adds --journal. The default is the file that SLUICE_CONFIG_JOURNAL names; an
// empty name means that changes cannot be reverted.
func (s *settingsCommand) addJournal(flags *pflag.FlagSet) {
	file := defaultJournal
	if name, set := os.LookupEnv("SLUICE_CONFIG_JOURNAL"); set {
		file = name
	}
	flags.StringVar(&s.journal, "journal", file, "`file` that keeps what the last changes replaced, for diff and rollback (SLUICE_CONFIG_JOURNAL); empty: none")
}

// addDry adds --dry-run.
func (s *settingsCommand) addDry(flags *pflag.FlagSet) {
	flags.BoolVar(&s.dry, "dry-run", false, "print what would change, and write nothing")
}

// open calls use with CONFIG_DB, which is closed then.
func (s *settingsCommand) open(cmd *cobra.Command, use func(*settings.Writer) error) error {
	dbs, err := s.databases.open("CONFIG_DB")
	if err != nil {
		return err
	}
	defer func() { _ = dbs.close() }()
	warn := func(why error) {
		cmd.PrintErrf("warning: CONFIG_DB is changed, and the journal that rollback goes by does not say so: %v\n", why)
	}
	return use(&settings.Writer{Store: dbs["CONFIG_DB"], File: s.file(), Dry: s.dry, Now: time.Now, Warn: warn})
}

// file is the journal's, one for each ASIC.
func (s *settingsCommand) file() string {
	if s.journal == "" || s.databases.namespace == "" {
		return s.journal
	}
	ext := filepath.Ext(s.journal)
	return strings.TrimSuffix(s.journal, ext) + "-" + filepath.Base(s.databases.namespace) + ext
}

// change carries out a change, here or on the switches of --target; a dry run prints it.
func (s *settingsCommand) change(cmd *cobra.Command, change settings.Change) error {
	if err := s.fleet.check(cmd.Flags()); err != nil {
		return err
	}
	if s.fleet.used(cmd.Flags()) {
		return s.setTargets(cmd, change)
	}
	return s.open(cmd, func(w *settings.Writer) error {
		edits, err := w.Change(cmd.Context(), whoami(), commandLine(cmd), settings.WithDevices(change, kit.Devices()))
		if err != nil {
			return err
		}
		warnOfCommit(cmd.ErrOrStderr(), edits)
		switch format := *s.fleet.format; {
		case format.Data():
			return format.Write(cmd.OutOrStdout(), append([]settings.Edit{}, edits...))
		case !s.dry:
			return nil
		}
		if len(edits) == 0 {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "Nothing to do.")
			return err
		}
		return printLines(cmd.OutOrStdout(), settings.Lines(edits))
	})
}

// whoami is who changes rows, for the journal.
func whoami() string {
	if name := os.Getenv("SUDO_USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprint(os.Getuid())
}

// commandLine returns the command in the form of the journal: less the program's
// name and the flags that all these commands have.
func commandLine(cmd *cobra.Command) string {
	// behind sluice config, or config sluice
	said := append([]string{"config"}, strings.Fields(cmd.CommandPath())[2:]...)
	said = append(said, cmd.Flags().Args()...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if cmd.InheritedFlags().Lookup(f.Name) == nil {
			said = append(said, "--"+f.Name, f.Value.String())
		}
	})
	return strings.Join(said, " ")
}

// set is `config TABLE set [KEY] --field value …`.
func (s *settingsCommand) set(t *settings.Table) *cobra.Command {
	cmd := &cobra.Command{
		Use:   strings.TrimSpace("set " + keyWords(t)),
		Short: fmt.Sprintf("Set fields of %s; the others stay as they are", t.Name),
		Args:  kit.Exactly(keyNames(t)...),
	}
	values := make(map[string]*string)
	for _, l := range t.Leaves {
		values[l.Name] = new(string)
		cmd.Flags().Var(leafFlag{values[l.Name], l}, settings.Option(l.Name), usageOf(l))
		kit.Register(cmd, settings.Option(l.Name), s.complete(l))
	}
	if len(t.Keys) > 0 {
		cmd.ValidArgsFunction = kit.OnFirst(s.complete(t.Keys[0], t.Name))
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		given := make(map[string]string)
		for name, value := range values {
			if cmd.Flags().Changed(settings.Option(name)) {
				given[name] = *value
			}
		}
		if s.fleet.used(cmd.Flags()) && !s.dry && rollout.Disables(given) {
			if err := s.fleet.check(cmd.Flags()); err != nil {
				return err
			}
			return s.disableTargets(cmd, t.Name, keyOf(t, args))
		}
		return s.change(cmd, t.Set(keyOf(t, args), given))
	}
	return cmd
}

// del is `config TABLE del [KEY] [FIELD]`.
func (s *settingsCommand) del(t *settings.Table) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "del " + strings.TrimSpace(keyWords(t)+" [FIELD]"),
		Short: fmt.Sprintf("Remove a row of %s, or one field of it", t.Name),
		Args:  kit.Between(len(t.Keys), append(keyNames(t), "FIELD")...),
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) < len(t.Keys):
			return s.complete(rows.Leaf{Tables: []string{t.Name}})(cmd, args, begun)
		case len(args) == len(t.Keys):
			return t.Options(), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		option := ""
		if len(args) > len(t.Keys) {
			if option = args[len(t.Keys)]; option == "" {
				return errors.New("FIELD must not be empty")
			}
		}
		return s.change(cmd, t.Del(keyOf(t, args), option))
	}
	return cmd
}

// load is `config load FILE`.
func (s *settingsCommand) load() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "load FILE",
		Short: "Set all rows of a file in the form of config_db.json",
		Long: `Set all rows of a file in the form of config_db.json, together. A row has afterwards the fields of the
file and no others; rows that the file does not have stay, and one that is null there is removed. Tables
that are not of Sluice are left out, but rows of PORT that make network devices ports. Of a file for
several ASICs the part of this one counts. - is standard input.`,
		Args: kit.Exactly("FILE"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f, err := s.readConfig(cmd, args[0])
		if err != nil {
			return err
		}
		if s.fleet.used(cmd.Flags()) {
			f.Rows, f.Gone = settings.OfModels(f.Rows), settings.OfModels(f.Gone)
		}
		return s.change(cmd, f.Load())
	}
	return cmd
}

// leafFlag is the flag of a leaf. A word outside of an enumeration is refused before the databases are
// opened; any value is validated with the whole row. A quantity may have another unit than the leaf's,
// and is written in the leaf's.
type leafFlag struct {
	value *string
	leaf  rows.Leaf
}

func (f leafFlag) Set(s string) error {
	*f.value = s
	if len(f.leaf.Values) > 0 && !f.leaf.List && s != "" && !slices.Contains(f.leaf.Values, s) {
		return fmt.Errorf("%q must be %s", s, f.leaf.Allowed)
	}
	if !units.Known(f.leaf.Units) || s == "" || s[0] < '0' || s[0] > '9' {
		return nil // a word that the leaf may allow
	}
	n, err := units.Parse(s, f.leaf.Units)
	if err == nil {
		*f.value = strconv.FormatUint(n, 10)
	}
	return err
}

func (f leafFlag) String() string { return *f.value }
func (f leafFlag) Type() string {
	if len(f.leaf.Values) > 0 {
		return strings.Join(f.leaf.Values, "|")
	}
	return "value"
}

// usageOf returns the meaning of a leaf and its allowed values.
func usageOf(l rows.Leaf) string {
	said := strings.TrimSuffix(l.Help, ".")
	if said != "" {
		said += ": "
	}
	said += l.Allowed
	if l.Units != "" {
		said += " " + l.Units
	}
	if l.Default != "" {
		said += "; default " + l.Default
	}
	return said
}

// keyNames returns the names of a table's keys in usage, in upper case.
func keyNames(t *settings.Table) []string {
	var names []string
	for _, k := range t.Keys {
		names = append(names, strings.ToUpper(k.Name))
	}
	return names
}

// keyWords returns the words of a table's key for usage lines: "NAME", or two of them for
// a key of two leaves.
func keyWords(t *settings.Table) string { return strings.Join(keyNames(t), " ") }

// keyOf is the key that the words of a command name.
func keyOf(t *settings.Table, args []string) string {
	if t.Only != "" {
		return t.Only
	}
	return strings.Join(args[:len(t.Keys)], "|")
}

// complete returns the completion of a leaf: its values, or the keys of the tables that it
// refers to, and of more tables.
func (s *settingsCommand) complete(l rows.Leaf, more ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(l.Values) > 0 {
			return l.Values, cobra.ShellCompDirectiveNoFileComp
		}
		keys := keysOf(cmd.Context(), s.databases, "CONFIG_DB", append(more, l.Tables...)...)
		// a machine without SONiC
		if len(keys) == 0 && slices.Contains(l.Tables, "PORT") {
			keys = kit.Devices()
		}
		return keys, cobra.ShellCompDirectiveNoFileComp
	}
}

// completionPatience is how long a Tab waits for Redis.
const completionPatience = 2 * time.Second

// keysOf returns the keys of tables; nil where the database cannot be read.
func keysOf(ctx context.Context, flags *databaseFlags, database string, tables ...string) []string {
	if len(tables) == 0 {
		return nil
	}
	if ctx == nil {
		ctx = context.Background()
	}
	dbs, err := flags.open(database)
	if err != nil {
		return nil
	}
	defer func() { _ = dbs.close() }()
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	all, err := dbs.read(ctx, database, tables...)
	if err != nil {
		return nil
	}
	c := settings.NewConfig(all)
	var keys []string
	for _, table := range tables {
		keys = append(keys, c.Keys(table)...)
	}
	return keys
}
