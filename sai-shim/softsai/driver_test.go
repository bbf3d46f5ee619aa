// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// driver is a process that makes SAI calls; testdata/driver.c has its language.
type driver struct {
	t      testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr lines
	ended  bool
}

// lines is what a process wrote so far.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// startDriver starts a driver in the namespace of the calling thread. What it
// says on stderr is shown when the test fails.
func startDriver(t testing.TB) *driver {
	t.Helper()
	return startDriverOf(t, program(t, "libsoftsai.so"))
}

// startDriverOf starts it with another library.
func startDriverOf(t testing.TB, library string) *driver {
	t.Helper()
	return startDriverBy(t, library)
}

// startDriverBy starts it by a command that takes another one as its last arguments.
func startDriverBy(t testing.TB, library string, command ...string) *driver {
	t.Helper()
	command = append(command, program(t, "driver"), library)
	d := &driver{t: t, cmd: exec.Command(command[0], command[1:]...)}
	d.cmd.Stderr = &d.stderr
	var err error
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.out = bufio.NewReaderSize(out, 1<<20)
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.stop()
		if t.Failed() {
			t.Logf("driver's stderr:\n%s", &d.stderr)
		}
	})
	return d
}

// stop ends the driver: it sees the end of its input.
func (d *driver) stop() {
	d.t.Helper()
	if d.ended {
		return
	}
	d.ended = true
	_ = d.in.Close()
	if err := d.cmd.Wait(); err != nil {
		d.t.Errorf("driver: %v\n%s", err, &d.stderr)
	}
}

// kill ends it as kill -9 does.
func (d *driver) kill() {
	d.t.Helper()
	d.ended = true
	if err := d.cmd.Process.Kill(); err != nil {
		d.t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := d.cmd.Wait(); !errors.As(err, &exit) {
		d.t.Fatal("driver did not die:", err)
	}
}

// try makes a call and returns its status and what follows it.
func (d *driver) try(format string, args ...any) (status int, words []string) {
	d.t.Helper()
	line := fmt.Sprintf(format, args...)
	if _, err := fmt.Fprintln(d.in, line); err != nil {
		d.t.Fatalf("%s: %v\n%s", line, err, &d.stderr)
	}
	answer, err := d.out.ReadString('\n')
	if err != nil {
		_ = d.cmd.Wait()
		d.ended = true
		d.t.Fatalf("%s: %v\n%s", line, err, &d.stderr)
	}
	words = strings.Fields(answer)
	if status, err = strconv.Atoi(words[0]); err != nil {
		d.t.Fatalf("%s: answer %q", line, answer)
	}
	return status, words[1:]
}

// do is try for a call that must succeed.
func (d *driver) do(format string, args ...any) []string {
	d.t.Helper()
	status, words := d.try(format, args...)
	if status != 0 {
		d.t.Fatalf("%s: status %d\n%s", fmt.Sprintf(format, args...), status, &d.stderr)
	}
	return words
}

// id is do for a call that makes an object.
func (d *driver) id(format string, args ...any) string {
	d.t.Helper()
	return d.do(format, args...)[0]
}

func (d *driver) number(format string, args ...any) uint64 {
	d.t.Helper()
	n, err := strconv.ParseUint(d.do(format, args...)[0], 0, 64)
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}

// What SAI answers to a call that it refuses: sai_status_t. Those of an attribute have its index subtracted.
const (
	statusNotSupported              = -2
	statusInvalidParameter          = -5
	statusItemAlreadyExists         = -6
	statusItemNotFound              = -7
	statusTableFull                 = -13
	statusMandatoryAttributeMissing = -14
	statusObjectInUse               = -17
	statusInvalidObjectID           = -19
	statusInvalidAttrValue0         = -131072
	statusAttrNotSupported0         = -327680
)

// Objects that are always there, and some that never are: the type in the upper 16 bits, a number below.
const (
	switchID    = "0x21000000000001"
	defaultHash = "0x1c010000000000"
	noTable     = "0x7000000000099"
	noQueue     = "0x15000000000001"
	noPort      = "0x1000000000fff"
)

// nativeDestQP is SAI_NATIVE_HASH_FIELD_RDMA_BTH_DEST_QP, as the driver prints values.
const nativeDestQP = "35"

// portID is the object of a netdev.
func portID(t testing.TB, name string) string {
	t.Helper()
	return fmt.Sprintf("%#x", 1<<48|ifindex(t, name))
}

// runner sends frames through the program of a port, without links.
type runner struct {
	t   *testing.T
	cmd *exec.Cmd
	in  *bufio.Writer
	out *bufio.Reader
}

// startRunner starts testrun; with a number as repeat it runs each frame so often.
func startRunner(t *testing.T, port string, repeat ...string) *runner {
	t.Helper()
	cmd := exec.Command(program(t, "testrun"), append([]string{port}, repeat...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error("testrun:", err)
		}
	})
	return &runner{t, cmd, bufio.NewWriter(in), bufio.NewReader(out)}
}

// Verdicts of the program.
const (
	verdictGoOn = ^uint32(0) // TC_ACT_UNSPEC
	verdictDrop = 2          // TC_ACT_SHOT
)

func (r *runner) run(frame []byte) (verdict uint32, out []byte) {
	r.t.Helper()
	r.begin(frame)
	return r.end()
}

// begin hands a frame over, and does not wait for the verdict.
func (r *runner) begin(frame []byte) {
	r.t.Helper()
	_, _ = r.in.Write(binary.NativeEndian.AppendUint16(nil, uint16(len(frame))))
	_, _ = r.in.Write(frame)
	if err := r.in.Flush(); err != nil {
		r.t.Fatal(err)
	}
}

// end waits for the verdict.
func (r *runner) end() (verdict uint32, out []byte) {
	r.t.Helper()
	var head [6]byte
	if _, err := io.ReadFull(r.out, head[:]); err != nil {
		r.t.Fatal(err)
	}
	out = make([]byte, binary.NativeEndian.Uint16(head[4:]))
	if _, err := io.ReadFull(r.out, out); err != nil {
		r.t.Fatal(err)
	}
	return binary.NativeEndian.Uint32(head[:4]), out
}
