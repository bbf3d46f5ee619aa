// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/orchagent-ext/wire/roce"
	"sluice/tests/capturegen"
)

var orders = map[string]binary.ByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian}

// numbered returns frames of RoCEv2 whose queue pairs tell them apart.
type numbered struct {
	frame []byte
	n     uint32
}

func newNumbered(t *testing.T) *numbered {
	return &numbered{frame: readAll(t, realCapture)[14].Data}
}

func (n *numbered) next() []byte {
	const destQP = 14 + 20 + 8 + 4 // after the octet that is reserved come 3 of it
	n.n++
	f := bytes.Clone(n.frame)
	binary.BigEndian.PutUint32(f[destQP:], 0x100000+n.n)
	return f
}

// cut returns the first octets of a frame: with all that tells it apart.
func cut(f []byte) []byte { return f[:min(len(f), 61)] }

// resolutions of if_tsresol whose times tshark computes without an overflow, beside its
// default; TestTimesAreExact has the others.
var resolutions = []byte{0, 1, 3, 6, 7, 9, 0x80, 0x8a, 0x94, 0x9d, 0xa0}

// ngMatrix is a pcapng file with a section for each byte order and version, and an interface
// in it for each resolution and offset, with a packet of each form of block, whole and cut.
func ngMatrix(n *numbered, seconds uint64) []byte {
	var f capturegen.Pcapng
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, minor := range []uint16{0, 2} {
			f.Section(order, 1, minor, capturegen.Option{Code: capturegen.Comment, Value: []byte("a comment")})
			face := uint32(0)
			for _, offset := range []int64{0, 1_000_000_000, -1_000} {
				for _, resolution := range append(resolutions, 0xff) {
					options := []capturegen.Option{{Code: capturegen.InterfaceName, Value: fmt.Appendf(nil, "eth%d", face)}, {Code: capturegen.FCSLength, Value: []byte{0}}}
					per := uint64(1_000_000)
					if resolution != 0xff { // which leaves the option out
						options = append(options, capturegen.Option{Code: capturegen.Resolution, Value: []byte{resolution}})
						per = perSecond(resolution)
					}
					if offset != 0 {
						options = append(options, capturegen.Option{Code: capturegen.Offset, Value: f.U64(uint64(offset))})
					}
					f.Interface(capturegen.Ethernet, 0, options...)
					ticks := seconds*per + per*3/7
					for _, data := range [][]byte{n.next(), cut(n.next())} {
						for _, flags := range []uint32{0, 1, 2, 0x82} {
							of := []capturegen.Option{{Code: capturegen.PacketFlags, Value: f.U32(flags)}, {Code: capturegen.PacketDropped, Value: f.U64(7)}, {Code: capturegen.Comment, Value: []byte("odd")}}
							if flags == 0 {
								of = nil
							}
							f.Enhanced(face, ticks, data, len(n.frame), of...)
						}
						f.Obsolete(uint16(face), 3, ticks+per, data, len(n.frame))
					}
					face++
				}
			}
			f.Simple(n.next(), len(n.frame))
			f.Statistics(0, seconds*1_000_000, capturegen.Option{Code: capturegen.Dropped, Value: f.U64(5)})
			f.Block(capturegen.NamesBlock, make([]byte, 4))
			f.Block(capturegen.SecretsBlock, f.U32(0x544c534b), f.U32(4), []byte("none"))
			f.Block(capturegen.JournalBlock, []byte("__REALTIME_TIMESTAMP=1\n"))
			f.Block(capturegen.CustomBlock, f.U32(32473), []byte("own data"))
			f.Block(0x0b00b1e5, []byte("a type of the future"))
		}
	}
	return f.Bytes()
}

// perSecond is the ticks of a second by if_tsresol.
func perSecond(resolution byte) uint64 {
	per, base := uint64(1), uint64(10)
	if resolution&0x80 != 0 {
		base = 2
	}
	for range resolution & 0x7f {
		per *= base
	}
	return per
}

// seen is a packet as both tshark and Sluice show it.
type seen struct{ Number, Time, Captured, Length, Name, Direction, QP string }

// matrixFields are those of tshark for seen.
var matrixFields = []string{"frame.number", "frame.time_epoch", "frame.cap_len", "frame.len", "frame.interface_name", "frame.packet_flags_direction", "infiniband.bth.destqp"}

// tsharkSees returns the packets of a file as tshark reads them.
func tsharkSees(t *testing.T, name string) (all []seen) {
	t.Helper()
	rows, err := capturegen.Tshark(t, name, matrixFields...)
	if err != nil {
		t.Fatalf("tshark of %s: %v, %d packets", name, err, len(rows))
	}
	for _, r := range rows {
		if r[6] == "" { // a custom block, which has a number and is no packet
			continue
		}
		s := seen{r[0], r[1], r[2], r[3], r[4], r[5], r[6]}
		if d, err := strconv.ParseUint(s.Direction, 0, 32); err != nil || d != 2 {
			s.Direction = "" // in, or unknown
		}
		all = append(all, s)
	}
	return all
}

// sluiceSees returns them as Sluice reads them.
func sluiceSees(t *testing.T, name string) (all []seen) {
	t.Helper()
	r, err := Open(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		in, out := f.Ports()
		s := seen{Number: strconv.Itoa(f.Number), Captured: strconv.Itoa(len(f.Data)), Length: strconv.Itoa(f.Length), Name: in + out}
		if !f.Time.IsZero() {
			s.Time = fmt.Sprintf("%d.%09d", f.Time.Unix(), f.Time.Nanosecond())
		}
		if out != "" {
			s.Direction = "0x00000002"
		}
		var p roce.Packet
		if err := f.Parse(&p, roce.LookLink); err == nil {
			s.QP = fmt.Sprintf("0x%06x", p.DestQP())
		}
		all = append(all, s)
	}
}

// compare compares all packets of a file field by field, and returns how many there are.
func compare(t *testing.T, name string, same func(got, want *seen)) int {
	t.Helper()
	want, got := tsharkSees(t, name), sluiceSees(t, name)
	differ := 0
	for i := range min(len(want), len(got)) {
		same(&got[i], &want[i])
		if got[i] != want[i] {
			if differ++; differ < 10 {
				t.Errorf("%s: packet %d: %+v, tshark has %+v", filepath.Base(name), i+1, got[i], want[i])
			}
		}
	}
	if len(want) != len(got) || len(got) == 0 {
		t.Errorf("%s: %d packets, tshark has %d", filepath.Base(name), len(got), len(want))
	}
	t.Logf("%s: %d packets, %d differ", filepath.Base(name), len(got), differ)
	return len(got)
}

// write writes a file of the test, and returns its name.
func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPcapngMatrix: every form of block, in both byte orders, with every resolution and
// offset, whole and cut, is read as tshark reads it, and a copy has every octet of it.
func TestPcapngMatrix(t *testing.T) {
	cases := 0
	for _, seconds := range []uint64{1_700_000_000, 5} {
		name := write(t, "matrix.pcapng", ngMatrix(newNumbered(t), seconds))
		cases += compare(t, name, func(got, want *seen) {
			if got.Time == "" { // a simple packet block: tshark shows the time of the packet before
				want.Time = ""
			}
			if seconds < 1000 && strings.HasPrefix(want.Time, "-") { // tshark shows the fraction of a time before 1970 in several ways
				got.Time, want.Time = "", ""
			}
		})
		out := filepath.Join(t.TempDir(), "copy.pcapng")
		copyFile(t, name, out)
		sameFile(t, name, out)
	}
	t.Logf("%d cases", cases)
}

// TestPcapMatrix is the same for pcap, with each magic and length.
func TestPcapMatrix(t *testing.T) {
	n, cases := newNumbered(t), 0
	for orderName, order := range orders {
		for _, magic := range []uint32{capturegen.Microseconds, capturegen.Nanoseconds, capturegen.Modified} {
			for _, minor := range []uint16{4, 3, 2} {
				for _, link := range []uint32{capturegen.Ethernet, capturegen.Ethernet | 0x24000000} {
					if link != capturegen.Ethernet && minor != 4 {
						continue
					}
					p := capturegen.Pcap{Order: order, Magic: magic, Minor: minor, Link: link, Snaplen: 96}
					for i, data := range [][]byte{n.next(), cut(n.next()), n.next(), n.next()} {
						of := capturegen.Packet{Seconds: 1_700_000_000 + uint32(i), Fraction: 999_999, Data: data, Length: uint32(len(n.frame))}
						if i == 2 && minor == 4 { // more was captured than there was
							of.Captured, of.Length = uint32(len(data)), uint32(len(data))-4
						}
						if minor == 2 { // the length on the wire comes first
							of.Captured, of.Length = of.Length, uint32(len(data))
						}
						p.Packets = append(p.Packets, of)
					}
					name := write(t, fmt.Sprintf("%s-%x-2.%d-%x.pcap", orderName, magic, minor, link), p.Bytes())
					cases += compare(t, name, func(got, want *seen) {
						if got.Captured > want.Length { // tshark leaves the smaller length
							want.Length = got.Length
						}
					})
					out := filepath.Join(t.TempDir(), "copy.pcap")
					copyFile(t, name, out)
					sameFile(t, name, out)
					if magic != capturegen.Modified && minor == 4 {
						tcpdumpReads(t, name, len(p.Packets))
					}
				}
			}
		}
	}
	t.Logf("%d cases", cases)
}

// sameFile compares two files octet by octet.
func sameFile(t *testing.T, name, other string) {
	t.Helper()
	want, err := os.ReadFile(name)
	got, otherErr := os.ReadFile(other)
	if errors.Join(err, otherErr) != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: the copy differs: %d octets of %d, %v", filepath.Base(name), len(got), len(want), errors.Join(err, otherErr))
	}
}

// tcpdumpReads lets tcpdump count the packets of a file and compare their times.
func tcpdumpReads(t *testing.T, name string, packets int) {
	t.Helper()
	path, err := exec.LookPath("tcpdump")
	if err != nil {
		t.Skip("tcpdump is not installed: make deps")
	}
	out, err := exec.Command(path, "--nano", "-tt", "-n", "-r", name).Output()
	var times []string
	for line := range strings.Lines(string(out)) {
		at, _, _ := strings.Cut(line, " ")
		times = append(times, at)
	}
	var want []string
	for _, s := range sluiceSees(t, name) {
		want = append(want, s.Time)
	}
	if err != nil || len(want) != packets || !slices.Equal(times, want) {
		t.Errorf("%s: tcpdump has %v, %v; want %v", filepath.Base(name), times, err, want)
	}
}
