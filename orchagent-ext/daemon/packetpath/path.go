// SPDX-License-Identifier: Apache-2.0

package packetpath

import (
	"log/slog"
	"time"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/switch/engine"
)

// Environment is the part of the machine that a path works with.
type Environment struct {
	Source  packetio.Source
	Learned func(packetio.Pair) // receives source queue pairs, on the packet path
	// receives each packet there, where flows in queues are estimated
	Watched func(packetio.Pair)
	Read    func(leaf, path string) ([]byte, error)
	Log     *slog.Logger
	Now     func() time.Time
}

// Path is the packet path, in use while packets are wanted of the CPU, and the exporter, in use
// with a collector. In the zero value both are off. It is for one
// goroutine.
type Path struct {
	reader    task.Part[readerSettings, *packetio.Report, *reader]
	exporter  task.Part[Exporter, []ipfix.Stats, *exporter]
	exportErr error // why the exporter is off although one is configured
}

// Settings are the settings of a path. With the zero value reader and exporter are off.
type Settings struct {
	Learns  bool    // flows and their source queue pairs are learned
	Library bool    // the switch is behind a SAI library
	Export  *Export // nil: no flow is exported
}

// Inputs are the values of a path beside its settings.
type Inputs struct {
	Policy  engine.Policy  // in force, with the rate of samples that the switch has
	Choices engine.Choices // methods in force
	Chance  uint32         // one of so many packets comes to the CPU by chance, see [engine.Outcome]
	Opened  engine.CPU     // how many packets the switch was to give to the CPU when it was opened
}

// exporter returns the settings of the exporter.
func (s *Settings) exporter(in Inputs) Exporter {
	if s.Export == nil || in.Policy.Export == nil || in.Choices.Method(engine.NeedExport) == engine.None {
		return Exporter{}
	}
	e := s.Export.Exporter
	e.rate = in.Policy.Export.Rate
	return e
}

// Reconcile brings the path to its settings. The reader ends before the exporter that it
// fills.
func (p *Path) Reconcile(g task.Group, want *Settings, in Inputs, env *Environment) {
	export, read := want.exporter(in), want.reader(in)
	if !p.exporter.Has(export) {
		p.StopReading()
	}
	p.exportErr = p.exporter.Reconcile(g, export, func() (*exporter, error) { return newExporter(&export, env) })
	if !p.exporter.Runs() {
		read = read.withoutExport()
	}
	_ = p.reader.Reconcile(g, read, func() (*reader, error) {
		return newReader(&read, p.exporter.Worker(), env), nil
	})
}

// StopReading ends the reader, which gives the exporter the flows that it has.
func (p *Path) StopReading() { p.reader.Stop() }

// Stop ends the reader and the exporter, whose last records go out first.
func (p *Path) Stop() {
	p.StopReading()
	p.exporter.Stop()
}

// NewFlows returns the channel of new flows; nil while the reader is off.
func (p *Path) NewFlows() <-chan packetio.NewFlow {
	if !p.reader.Runs() {
		return nil
	}
	return p.reader.Worker().News()
}

// Samples returns the channel of packets for placement; nil while the reader is off or no flow is
// redirected.
func (p *Path) Samples() <-chan packetio.Sample {
	if !p.reader.Runs() {
		return nil
	}
	return p.reader.Worker().Samples()
}

// Stats returns the counters of the reader that runs; zeros while it is off.
func (p *Path) Stats() packetio.Stats {
	if !p.reader.Runs() {
		return packetio.Stats{}
	}
	return p.reader.Worker().Stats()
}

// RoundTrips returns the round-trip times to hosts, and their counts, valid until the next
// call; empty while the reader is off.
func (p *Path) RoundTrips() *packetio.RoundTrips {
	if p.reader.Runs() {
		if r := p.reader.Worker().RoundTrips(); r != nil {
			return r
		}
	}
	return &packetio.RoundTrips{}
}

// Describe adds the warnings of the path to a report.
func (p *Path) Describe(r *status.Report) {
	if p.exportErr != nil {
		r.Warn("cannot export flows: " + p.exportErr.Error())
	}
	if p.Stats().Datagrams > 0 {
		r.Warn("datagrams (UD) stay at their label (cpu_datagrams): the method rewrite cannot match their source queue pair, which compute reads")
	}
}

// Collectors returns the rows of SLUICE_IPFIX_STATS.
func (p *Path) Collectors() (all []ygot.GoStruct) {
	for _, c := range p.exporter.Report() {
		all = append(all, &telemetry.IPFIXStats{
			Collector: &c.Name, Connected: &c.Connected, Records: &c.Records, Messages: &c.Messages, Bytes: &c.Octets,
			Waiting: telemetry.Count(c.Waiting), Dropped: &c.Dropped, Connects: &c.Connects, Refused: &c.Refused, LastError: telemetry.Text(c.Error),
		})
	}
	return all
}

// Health adds the health of connections to the rows of flows, and rows of the heaviest flows
// that lack one. port returns the name of a port by its number in frames.
func (p *Path) Health(known []*telemetry.Flow, port func(number uint64) string) []*telemetry.Flow {
	if !p.reader.Runs() {
		return known
	}
	return p.reader.Worker().health(known, port)
}
