// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"bytes"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"pgregory.net/rapid"

	"sluice/orchagent-ext/wire/roce"
)

func base() Config {
	return Config{Pairs: 2, QPs: 5, Packets: 103, Payload: 64, Seed: 3, Start: time.Unix(1e9, 0)}
}

// generate returns the frames of a configuration, and checks each one.
func generate(t rapid.TB, c Config) [][]byte {
	t.Helper()
	var frames [][]byte
	last := c.Start.Add(-1)
	err := Generate(c, func(at time.Time, frame []byte) error {
		if !at.After(last) {
			t.Fatalf("time %v does not follow %v", at, last)
		}
		last = at
		checkFrame(t, frame)
		frames = append(frames, bytes.Clone(frame))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return frames
}

// checkFrame checks ICRC and, by gopacket's decoder, the UDP checksum.
func checkFrame(t rapid.TB, frame []byte) {
	t.Helper()
	var p roce.Packet
	if err := p.Parse(frame, len(frame)); err != nil {
		t.Fatal(err)
	}
	if got, want, ok := p.ICRC(); !ok || got != want {
		t.Fatalf("ICRC %08x, want %08x", got, want)
	}
	decoded := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
	udp := decoded.Layer(layers.LayerTypeUDP).(*layers.UDP)
	if err := udp.SetNetworkLayerForChecksum(decoded.NetworkLayer()); err != nil {
		t.Fatal(err)
	}
	if _, result := udp.VerifyChecksum(); !result.Valid {
		t.Fatalf("UDP checksum %04x, want %04x", result.Actual, result.Correct)
	}
}

func TestGenerateCounts(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Config)
		data   roce.Opcode // an opcode of which there must be some
		cm     int
		acks   bool
	}{
		"rc":        {func(*Config) {}, roce.RCWriteMiddle, 0, true},
		"ud":        {func(c *Config) { c.Datagram = true }, roce.UDSendOnly, 0, false},
		"cm":        {func(c *Config) { c.CM = true; c.RandomPSN = true }, roce.RCWriteFirst, 5 * 10, true},
		"one":       {func(c *Config) { c.Packets = 1 }, roce.RCWriteOnly, 0, true},
		"no octets": {func(c *Config) { c.Payload = 0 }, roce.RCWriteLast, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := base()
			tt.change(&c)
			counts := map[roce.Opcode]int{}
			data, cms := 0, 0
			for _, frame := range generate(t, c) {
				var p roce.Packet
				_ = p.Parse(frame, len(frame))
				counts[p.Opcode()]++
				if _, ok := p.CM(); ok {
					cms++
				} else if p.Opcode().CarriesData() {
					data++
				}
			}
			if data != c.Packets || cms != tt.cm || counts[tt.data] == 0 || (counts[roce.RCAck] > 0) != tt.acks {
				t.Errorf("data %d (want %d), CM %d (want %d), opcodes %v", data, c.Packets, cms, tt.cm, counts)
			}
		})
	}
}

func TestGeneratePSNsAreInOrder(t *testing.T) {
	c := base()
	c.RandomPSN = true
	next := map[uint32]uint32{}
	for _, frame := range generate(t, c) {
		var p roce.Packet
		_ = p.Parse(frame, len(frame))
		if p.Opcode() == roce.RCAck {
			continue
		}
		if want, seen := next[p.DestQP()]; seen && p.PSN() != want {
			t.Fatalf("QP %#x: PSN %d, want %d", p.DestQP(), p.PSN(), want)
		}
		next[p.DestQP()] = (p.PSN() + 1) & 0xffffff
	}
	if len(next) != c.Pairs*c.QPs {
		t.Errorf("%d queue pairs, want %d", len(next), c.Pairs*c.QPs)
	}
}

func TestGenerateSports(t *testing.T) {
	for _, perQP := range []bool{false, true} {
		c := base()
		c.SportPerQP = perQP
		sports := map[uint16]bool{}
		for _, frame := range generate(t, c) {
			var p roce.Packet
			_ = p.Parse(frame, len(frame))
			if sports[p.SrcPort()] = true; p.SrcPort() < 0xc000 {
				t.Errorf("source port %d is below 49152", p.SrcPort())
			}
		}
		if perQP != (len(sports) > 1) {
			t.Errorf("per QP %v: %d source ports", perQP, len(sports))
		}
	}
}

func TestGenerateIsDeterministic(t *testing.T) {
	c := base()
	one, two := generate(t, c), generate(t, c)
	c.Seed++
	other := generate(t, c)
	if !bytes.Equal(bytes.Join(one, nil), bytes.Join(two, nil)) || bytes.Equal(bytes.Join(one, nil), bytes.Join(other, nil)) {
		t.Error("the seed does not decide the traffic")
	}
}

func TestGenerateAnyConfiguration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{
			Pairs: rapid.IntRange(1, 300).Draw(t, "pairs"), QPs: rapid.IntRange(1, 20).Draw(t, "qps"),
			Packets: rapid.IntRange(1, 60).Draw(t, "packets"), Payload: 4 * rapid.IntRange(0, 20).Draw(t, "payload"),
			Datagram: rapid.Bool().Draw(t, "ud"), SportPerQP: rapid.Bool().Draw(t, "sport"), RandomPSN: rapid.Bool().Draw(t, "psn"),
			Seed: rapid.Uint64().Draw(t, "seed"), Start: time.Unix(0, 0),
		}
		generate(t, c)
	})
}

func TestBadTrafficIsRefused(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no pairs":      func(c *Config) { c.Pairs = 0 },
		"many pairs":    func(c *Config) { c.Pairs = 1 << 16 },
		"no QPs":        func(c *Config) { c.QPs = 0 },
		"many QPs":      func(c *Config) { c.QPs = 1<<20 + 1 },
		"no packets":    func(c *Config) { c.Packets = 0 },
		"odd payload":   func(c *Config) { c.Payload = 3 },
		"large payload": func(c *Config) { c.Payload = 4100 },
		"CM with UD":    func(c *Config) { c.Datagram, c.CM = true, true },
	} {
		c := base()
		change(&c)
		if err := Generate(c, nil); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
