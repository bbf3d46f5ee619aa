// SPDX-License-Identifier: Apache-2.0

package ipfix_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/netsampler/goflow2/v2/decoders/netflow"
	"github.com/netsampler/goflow2/v2/producer"
	protoproducer "github.com/netsampler/goflow2/v2/producer/proto"
	"go.yaml.in/yaml/v3"
)

// goflow2 reads by the mapping file what sluice export sends of a capture, and writes what the
// recipe for ClickHouse has as columns.
func TestGoflow2ReadsByTheMappingFile(t *testing.T) {
	const program = "../../../bin/sluice"
	if _, err := os.Stat(program); err != nil {
		t.Skipf("needs what make build makes: %v", err)
	}
	text, err := os.ReadFile("../../../docs/ipfix/goflow2-mapping.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config protoproducer.ProducerConfig
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&config); err != nil {
		t.Fatal(err)
	}
	recipe, err := os.ReadFile("../../../docs/ipfix/clickhouse.md")
	if err != nil {
		t.Fatal(err)
	}
	columns := regexp.MustCompile(`(?m)^    ([a-z0-9_]+) (?:UInt\d+|String)`).FindAllSubmatch(recipe, -1)
	for _, c := range columns {
		if !slices.Contains(config.Formatter.Fields, string(c[1])) {
			t.Errorf("docs/ipfix/clickhouse.md has the column %s, which goflow2 does not write", c[1])
		}
	}
	if len(columns) < 20 {
		t.Errorf("%d columns: are they read right?", len(columns))
	}
	compiled, err := config.Compile()
	if err != nil {
		t.Fatal(err)
	}
	p, err := protoproducer.CreateProtoProducer(compiled, protoproducer.CreateSamplingSystem)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()

	file := filepath.Join(t.TempDir(), "flows.ipfix")
	if out, err := exec.CommandContext(t.Context(), program, "export", "../../../tests/captures/rc-send-ipv4.pcap", "--file", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	messages, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	type record struct {
		Opcode uint64 `json:"rdma_opcode"`
		DestQP uint64 `json:"rdma_destination_qp"`
		SrcQP  uint64 `json:"rdma_source_qp"`
		Bytes  uint64 `json:"bytes"`
		Sends  uint64 `json:"rdma_send_packets"`
	}
	var got []record
	for system := netflow.CreateTemplateSystem(); len(messages) > 4; {
		one := messages[:binary.BigEndian.Uint16(messages[2:])]
		messages = messages[len(one):]
		var packet netflow.IPFIXPacket
		packet.Version = 10
		if err := netflow.DecodeMessageIPFIX(bytes.NewBuffer(one[2:]), system, &packet); err != nil {
			t.Fatal(err)
		}
		flows, err := p.Produce(&packet, &producer.ProduceArgs{TimeReceived: time.Now(), Src: netip.MustParseAddrPort("[::1]:4739")})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range flows {
			line, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			var r record
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if r.DestQP != 0 {
				got = append(got, r)
			}
		}
	}
	// As ipfixDump shows it on docs/ipfix: the answers of the receiver, and what it answers.
	if len(got) != 2 || got[0] == got[1] {
		t.Fatalf("%+v", got)
	}
	for _, r := range got {
		switch {
		case r.Opcode == 17 && r.DestQP == 72 && r.SrcQP == 69 && r.Bytes == 1920:
		case r.Opcode != 17 && r.DestQP == 69 && r.SrcQP == 72 && r.Sends > 0:
		default:
			t.Errorf("%+v", r)
		}
	}
}
