// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/show"
	"sluice/orchagent-ext/cli/targets"
	"sluice/yang/text"
)

// statusUnanswered is the exit status where a switch of --target did not answer.
const statusUnanswered = 5

// targetFlags are the flags of commands that ask other switches.
type targetFlags struct {
	*gnmiFlags
	words   []string
	timeout time.Duration
	plain   bool
	atOnce  int // switches asked at the same time; 0: the default
}

// defaultInventory is the file of the switches that --target knows by name, unless
// SLUICE_TARGETS names another.
const defaultInventory = "/etc/sluice/targets"

// inventory returns the name of that file.
func inventory() string {
	if name, set := os.LookupEnv("SLUICE_TARGETS"); set {
		return name
	}
	return defaultInventory
}

// targetUsage is the usage of --target.
const targetUsage = "ask these switches by gNMI in place of the databases here: `NAME|ADDRESS,…`, @FILE, @FILE:GROUP (an inventory of names and addresses, of gnmic or of Ansible), or all of SLUICE_TARGETS (" + defaultInventory + ")"

// addTargets adds --target and the flags of its connections.
func addTargets(flags *pflag.FlagSet) *targetFlags {
	t := &targetFlags{}
	flags.StringSliceVar(&t.words, "target", nil, targetUsage)
	flags.DurationVar(&t.timeout, "target-timeout", targets.Timeout, "how long one switch may take to answer, with --target")
	t.gnmiFlags = addLogin(flags, "--target")
	flags.BoolVar(&t.plain, "gnmi-insecure", false, "plain text in place of TLS, which loopback alone may have")
	kit.ForExperts(flags, append([]string{"target-timeout", "gnmi-insecure"}, loginFlags...)...)
	return t
}

// completeTargets adds the completion of --target: the names of the machine's inventory.
func completeTargets(cmd *cobra.Command) {
	kit.Register(cmd, "target", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		names := []string{targets.All}
		if i, err := targets.ReadInventory(inventory()); err == nil {
			for _, t := range i.Targets {
				names = append(names, text.Printable(t.Name))
			}
		}
		return names, cobra.ShellCompDirectiveDefault // files, too
	})
}

// used reports whether the command line names switches.
func (t *targetFlags) used(flags *pflag.FlagSet) bool { return flagIn(flags, "target") }

// local are flags about this machine, which do not go with --target.
var local = []string{"db-config", "namespace"}

// check judges the flags as a whole; others do not go with --target either.
func (t *targetFlags) check(flags *pflag.FlagSet, others ...string) error {
	return t.checkBeside(flags, "--target", false, others...)
}

// checkBeside is check of a command whose logins go with another flag, too, which may be used; with
// names both.
func (t *targetFlags) checkBeside(flags *pflag.FlagSet, with string, other bool, others ...string) error {
	used := t.used(flags)
	for _, name := range []string{"target-timeout", "gnmi-insecure"} {
		if flagIn(flags, name) && !used {
			return fmt.Errorf("--%s goes with --target", name)
		}
	}
	for _, name := range append(others, local...) {
		if flagIn(flags, name) && used {
			return fmt.Errorf("--%s is about this machine: leave it out with --target", name)
		}
	}
	if t.timeout <= 0 {
		return fmt.Errorf("--target-timeout %v: must be more than 0", t.timeout)
	}
	return t.gnmiFlags.check(flags, with, used || other)
}

// fleet has the switches of a command line.
type fleet struct {
	*targets.Fleet
	one bool // whose answer is that of the switch itself
}

// open returns the switches that the command line names. Notes go to standard error.
func (t *targetFlags) open(cmd *cobra.Command) (*fleet, error) {
	c, err := targets.Choose(t.words, inventory())
	if err != nil {
		return nil, err
	}
	for _, n := range c.Notes {
		cmd.PrintErrf("note: %s\n", text.Printable(n))
	}
	f, err := targets.NewFleet(c.Targets, targets.Options{Port: t.port, Timeout: t.timeout, AtOnce: t.atOnce, Login: t.login, Plain: t.plain, Flag: loginFlag})
	return &fleet{f, c.One}, err
}

// unanswered is that a switch did not answer.
type unanswered struct {
	targets.Target
	why error
}

// Error has the switch, its address and the reason.
func (e *unanswered) Error() string {
	name := e.Name
	if e.Address != e.Name {
		name += " (" + e.Address + ")"
	}
	return fmt.Sprintf("did not answer: %s: %v", text.Printable(name), e.why)
}

// Unwrap returns the reason.
func (e *unanswered) Unwrap() error { return e.why }

// unread is the JSON of a switch that did not answer.
type unread struct {
	Switch  string `json:"switch"`
	Address string `json:"address"`
	Error   string `json:"error"`
}

// fleetAnswer is the answer of switches to one question.
type fleetAnswer struct {
	*show.Answer
	missing int // switches that did not answer
}

// show asks the switches what a verb wants, and returns their answers joined. Of a single switch
// it returns the answer as the switch itself gives it.
func (f *fleet) show(ctx context.Context, v *show.Verb, o show.Options, people bool) (*fleetAnswer, error) {
	return joinAnswers(ctx, f.Read(ctx, v.Wanted()), f.one, v, o, people)
}

// joinAnswers returns what a verb makes of the rows of switches, joined; one: they are of a single
// switch.
func joinAnswers(ctx context.Context, readings []targets.Reading, one bool, v *show.Verb, o show.Options, people bool) (*fleetAnswer, error) {
	var all []show.Of
	var missing []*unanswered
	var wrong []error // of the question
	for _, r := range readings {
		err := r.Err
		var a *show.Answer
		if err == nil {
			a, err = answerOf(v, r, o, people && one)
		}
		switch {
		case one && r.Err != nil:
			return nil, &unanswered{r.Target, r.Err}
		case one:
			return &fleetAnswer{Answer: a}, err
		case r.Err != nil:
			missing = append(missing, &unanswered{r.Target, err})
		case err != nil:
			wrong = append(wrong, err)
			a = &show.Answer{JSON: map[string]string{"error": err.Error()}, Blocks: []show.Block{{Text: err.Error()}}}
			fallthrough
		default:
			all = append(all, show.Of{Switch: r.Target.Name, Answer: a})
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case len(wrong) > 0 && len(wrong) == len(all):
		return nil, wrong[0]
	}
	out := &fleetAnswer{show.Merge(all), len(missing)}
	values, _ := out.JSON.([]any)
	for i, m := range missing {
		values = append(values, unread{m.Name, m.Address, m.why.Error()})
		out.Blocks = append(out.Blocks, show.Block{Text: m.Error(), Joined: i > 0})
	}
	out.JSON = values
	return out, nil
}

// answerOf returns what a verb makes of one switch's rows, by the clock of that switch.
func answerOf(v *show.Verb, r targets.Reading, o show.Options, people bool) (*show.Answer, error) {
	if o.Now = r.At; o.Now.IsZero() {
		o.Now = time.Now()
	}
	return v.Show(show.NewData(r.Rows), o, people)
}
