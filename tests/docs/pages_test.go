// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sluice/tests/programs"
)

const root = "../.."

// elsewhere are beginnings of commands that only a switch with SONiC has, or a kernel
// with IPsec, or that end there. The image and its commands are tested in
// sonic-container, IPsec in tests/ipsec, the lab and its playbook in lab, a Prometheus in
// tests/pasttest; lines of gnmic, Prometheus and NATS in tests/e2e.
var elsewhere = []string{"make image-tar", "scp ", "sudo sonic-package-manager ", "sudo config feature ", "sudo config sflow enable", "sudo config save", "docker run ", "    --", "    -e ", "    -v ",
	"sudo sluice config load edge-leaf.json", "sluice show status", "sudo mkdir -p /etc/sonic/sluice", "echo SLUICE_SAI_LIBRARY=", "echo SLUICE_METRICS=", "sudo systemctl restart sluice", "sudo rm -r /etc/sonic/sluice",
	"goflow2 ", "SLUICE_TLS=", "OTLP_ENDPOINT=", "sudo containerlab ", "docker exec ", "sudo build/lab/lab ", "sudo make lab", "sudo make rdma-lab", "sudo make sonic ", "sudo make sonic-", "    ansible-playbook ", "lab/tls.sh ", "sender=", "receiver=", "key=", "integrity=", "ip -s xfrm state", "grep -v '\\s0$' /proc/net/xfrm_stat",
	"sluice view", "htpasswd ", // TestExamplesOfHelpWork runs sluice view
	"leaves=", "sudo bin/sluice ", "spine=", "leaf=", "tls=build/lab/tls", "export SLUICE_TARGET_CA=$tls", "bin/sluice view --target @lab/ansible/inventory.yml",
	"on() {", "on leaf1 ", "traffic", "    on ", "    sleep 2", "    wait", "}", "go install github.com/openconfig/gnmi/cmd/gnmi_cli@",
	"gnmic ", "prometheus ", "nats-server", "sluice show ports --at 14:05 --prometheus "}

var update = flag.Bool("update", false, "write what the commands print into the pages")

// A page is a Markdown file of the project.
type page struct {
	name string // relative to the root
	text string
	blocks
}

// pages returns all pages, by name.
func pages(t *testing.T) map[string]*page {
	t.Helper()
	all := make(map[string]*page)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() && (name == "bin" || name == "build" || strings.HasPrefix(name, ".") && name != ".") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".md" {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found, err := parse(string(b))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = &page{name, string(b), found}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d pages were found", len(all))
	}
	return all
}

// write writes what commands of the page printed into it.
func (p *page) write(t *testing.T, run []command, outputs [][]string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, p.name), []byte(replace(p.text, run, outputs)), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestFirstHourPagesPrintWhatTheySay runs the commands of each page.
func TestFirstHourPagesPrintWhatTheySay(t *testing.T) {
	tools := buildTools(t)
	ran := 0
	for name, p := range pages(t) {
		for _, line := range p.notRun {
			if !slices.ContainsFunc(elsewhere, func(start string) bool { return strings.HasPrefix(line, start) }) {
				t.Errorf("%s: nothing runs %q; what runs elsewhere begins with one of %q", name, line, elsewhere)
			}
		}
		if len(p.run) == 0 {
			continue
		}
		ran += len(p.run)
		t.Run(name, func(t *testing.T) { p.check(t, workplace(t, tools)) })
	}
	if ran < 20 {
		t.Errorf("only %d commands were found: are the pages read right?", ran)
	}
}

// check runs the page's commands in dir.
func (p *page) check(t *testing.T, dir string) {
	outputs := make([][]string, len(p.run))
	for i, c := range p.run {
		outputs[i] = c.output
		if fields := strings.Fields(c.text); fields[0] == "make" {
			p.checkTarget(t, c, fields[1:])
			continue
		}
		got := p.execute(t, dir, c)
		switch {
		case matches(c.output, got):
		case *update:
			outputs[i] = got
		default:
			t.Errorf("%s:%d: $ %s\nprints something else (- the page, + the command; go test ./tests/docs -update writes it):\n%s",
				p.name, c.line, c.text, cmp.Diff(strings.Join(c.output, "\n"), strings.Join(got, "\n")))
		}
	}
	if *update && !t.Failed() {
		p.write(t, p.run, outputs)
	}
}

// buildTools returns a folder with the tools, built from the source as it is.
func buildTools(t *testing.T) string {
	t.Helper()
	tools, err := programs.Build("./orchagent-ext/cmd/sluice", "./orchagent-ext/cmd/sluice-lab")
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// workplace makes the folder that the commands of a page run in: bin with the tools,
// and a copy of the captures and dissectors.
func workplace(t *testing.T, tools string) string {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"tests/captures", "docs/dissectors", "orchagent-ext/wire/notify/testdata"} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join(root, folder))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(tools, filepath.Join(dir, "bin")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// execute runs one command in dir and returns the lines it prints: those of
// stdout, then those of stderr, since the order between them is chance in a pipe.
func (p *page) execute(t *testing.T, dir string, c command) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", c.text)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "TZ=UTC", "LC_ALL=C.UTF-8")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("%s:%d: $ %s: %v\n%s", p.name, c.line, c.text, err, stderr.String())
	}
	return linesOf(stdout.String() + stderr.String())
}

func linesOf(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// checkTarget checks that make knows what a command of the page asks for.
func (p *page) checkTarget(t *testing.T, c command, args []string) {
	t.Helper()
	if len(c.output) > 0 {
		t.Errorf("%s:%d: $ %s: make is not run here, so the page shows no output of it", p.name, c.line, c.text)
	}
	cmd := exec.CommandContext(t.Context(), "make", append([]string{"-n"}, args...)...)
	cmd.Dir = root
	// What `make test` hands down is not for this make.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS=")
	})
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s:%d: $ %s: %v\n%s", p.name, c.line, c.text, err, out)
	}
}

// figures are what two runs of the demo differ in: numbers and bars, the blanks
// beside them, and where the programs are.
var figures = regexp.MustCompile(` *[0-9][0-9.]*| *[█▉▊▋▌▍▎▏]+|\S*bin/\S+`)

// TestDemoPrintsWhatThePagesSay runs the demo.
func TestDemoPrintsWhatThePagesSay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, for namespaces and BPF")
	}
	for _, file := range []string{"sluice-lab", "sluiced", "libsoftsai.so"} {
		if _, err := os.Stat(filepath.Join(root, "bin", file)); err != nil {
			t.Skipf("needs what make build makes: %v", err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bin/sluice-lab", "demo", "--out", t.TempDir())
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	shape := func(lines []string) []string {
		return linesOf(figures.ReplaceAllString(strings.Join(lines, "\n"), " N"))
	}
	shown := 0
	for name, p := range pages(t) {
		for i, c := range p.demo {
			shown++
			if c.text != "make demo" {
				t.Errorf("%s:%d: $ %s: this block is for make demo", name, c.line, c.text)
			}
			if matches(shape(c.output), shape(linesOf(string(out)))) {
				continue
			}
			if *update {
				outputs := make([][]string, len(p.demo))
				outputs[i] = linesOf(string(out))
				p.write(t, p.demo, outputs)
				continue
			}
			t.Errorf("%s:%d: $ %s prints something else than the page says (- the page, + the demo):\n%s",
				name, c.line, c.text, cmp.Diff(strings.Join(c.output, "\n"), string(out)))
		}
	}
	if shown == 0 {
		t.Error("no page shows what make demo prints")
	}
}
