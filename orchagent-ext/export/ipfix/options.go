// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"math"
	"slices"
)

// Options of the exporter: records about its records.
const (
	typeOption = iota // an element's name and type, RFC 5610
	// countOption: how packets are sampled, RFC 5476 section 6.5.2, elements of RFC 5477:
	// every n-th
	countOption
	chanceOption   // the same: each with one probability
	exportedOption // exported, RFC 7011 section 4.1
	ignoredOption  // unmetered, RFC 7011 section 4.2
	notSentOption  // unexported, RFC 7011 section 4.3
	keysOption     // which elements are flow keys, RFC 7011 section 4.4
	numOptions
)

// optionElements is the elements of an options template, the scope first.
var optionElements = [numOptions]struct {
	scope    int
	elements []Element
}{
	typeOption: {2, []Element{
		ianaElement("privateEnterpriseNumber", 346, Unsigned32), ianaElement("informationElementId", 303, Unsigned16),
		ianaElement("informationElementDataType", 339, Unsigned8), ianaElement("informationElementSemantics", 344, Unsigned8),
		ianaElement("informationElementUnits", 345, Unsigned16), ianaElement("informationElementRangeBegin", 342, Unsigned64),
		ianaElement("informationElementRangeEnd", 343, Unsigned64), ianaElement("informationElementName", 341, String),
		ianaElement("informationElementDescription", 340, String),
	}},
	countOption: {1, []Element{
		selectorID, selectorAlgorithm,
		ianaElement("samplingPacketInterval", 305, Unsigned32), ianaElement("samplingPacketSpace", 306, Unsigned32),
	}},
	chanceOption: {1, []Element{selectorID, selectorAlgorithm, ianaElement("samplingProbability", 311, Float64)}},
	exportedOption: {1, []Element{
		ianaElement("observationDomainId", 149, Unsigned32), ianaElement("exportedMessageTotalCount", 41, Unsigned64),
		ianaElement("exportedFlowRecordTotalCount", 42, Unsigned64), ianaElement("exportedOctetTotalCount", 40, Unsigned64),
	}},
	ignoredOption: {2, []Element{
		ianaElement("observationDomainId", 149, Unsigned32), ianaElement("meteringProcessId", 143, Unsigned32),
		ianaElement("ignoredPacketTotalCount", 164, Unsigned64), ianaElement("ignoredOctetTotalCount", 165, Unsigned64),
		flowStartMilliseconds, flowEndMilliseconds,
	}},
	keysOption: {1, []Element{ianaElement("templateId", 145, Unsigned16), ianaElement("flowKeyIndicator", 173, Unsigned64)}},
	notSentOption: {1, []Element{
		ianaElement("exportingProcessId", 144, Unsigned32), ianaElement("notSentFlowTotalCount", 166, Unsigned64),
		ianaElement("notSentPacketTotalCount", 167, Unsigned64), ianaElement("notSentOctetTotalCount", 168, Unsigned64),
	}},
}

// Ids of the exporting and of the metering process: each process has one.
const exportingProcess, meteringProcess = 1, 1

// selectorAlgorithm, by IANA's registry of PSAMP parameters.
const (
	countBased    = 1 // systematic count-based sampling
	probabilistic = 4 // uniform probabilistic sampling
)

// selectorAlgorithm is the algorithm of a selector (RFC 5477).
var selectorAlgorithm = ianaElement("selectorAlgorithm", 304, Unsigned16)

// optionsTemplates returns the templates of all options records, in the
// registry's numbers.
func optionsTemplates(r Registry) []template {
	all := make([]template, numOptions)
	for i, o := range optionElements {
		t := template{id: firstOptions + uint16(i), options: true}
		b := be.AppendUint16(be.AppendUint16(nil, t.id), uint16(len(o.elements)))
		t.definition = appendSpecifiers(be.AppendUint16(b, uint16(o.scope)), r, o.elements)
		all[i] = t
	}
	return all
}

// typeRecords returns an RFC 5610 record of each element that has an enterprise
// number of the registry, those of health where they are sent, the shortest
// first: nfacctd 1.7.7 leaves out the last record of a set that is shorter than
// the one before, and then misreads the rest.
func typeRecords(r Registry, health bool) [][]byte {
	var all [][]byte
	elements := RDMA
	if health {
		elements = slices.Concat(RDMA, HealthElements)
	}
	for _, e := range elements {
		pen, id, ok := r.ID(e)
		if !ok || pen == 0 {
			continue
		}
		b := be.AppendUint16(be.AppendUint32(nil, pen), id)
		b = append(b, byte(e.Type), byte(e.Semantics))
		b = be.AppendUint16(b, e.units)
		// both 0: no range
		b = be.AppendUint64(be.AppendUint64(b, 0), rangeEnd(e))
		b = appendString(appendString(b, e.Name), e.Description)
		all = append(all, b)
	}
	slices.SortStableFunc(all, func(a, b []byte) int { return len(a) - len(b) })
	return all
}

// rangeEnd returns the largest value of an element that is narrower than its
// type.
func rangeEnd(e *Element) uint64 {
	switch e.Name {
	case rdmaDestinationQP.Name, rdmaSourceQP.Name, rdmaPacketSequenceNumber.Name:
		return 1<<24 - 1
	}
	return 0
}

// appendString appends a string of less than 255 octets in the form of RFC 7011
// section 7.
func appendString(b []byte, s string) []byte { return append(append(b, byte(len(s))), s...) }

// selectorRecord returns the record of how one packet of SamplingRate is chosen.
func selectorRecord(p Process) (option int, record []byte) {
	b := be.AppendUint64(nil, selectorNumber)
	if p.Systematic {
		b = be.AppendUint16(b, countBased)
		return countOption, be.AppendUint32(be.AppendUint32(b, 1), p.SamplingRate-1)
	}
	b = be.AppendUint16(b, probabilistic)
	return chanceOption, be.AppendUint64(b, math.Float64bits(1/float64(p.SamplingRate)))
}

// ignoredRecord returns the record of packets that were left out of the metering
// (RFC 7011 section 4.2).
func ignoredRecord(domain uint32, i *Ignored) []byte {
	packets, octets, first, last := i.counts()
	b := be.AppendUint32(be.AppendUint32(nil, domain), meteringProcess)
	b = be.AppendUint64(be.AppendUint64(b, packets), octets)
	return appendMilliseconds(appendMilliseconds(b, first), last)
}

// keysRecord returns the record of a template's flow keys (RFC 7011 section 4.4).
func keysRecord(t *template) []byte { return be.AppendUint64(be.AppendUint16(nil, t.id), t.keys) }

// exportedRecord returns the record of totals that were exported (RFC 7011
// section 4.1).
func exportedRecord(domain uint32, messages, records, octets uint64) []byte {
	b := be.AppendUint32(nil, domain)
	return be.AppendUint64(be.AppendUint64(be.AppendUint64(b, messages), records), octets)
}

// notSentRecord returns the record of totals that were dropped (RFC 7011 section
// 4.3).
func notSentRecord(records, packets, octets uint64) []byte {
	b := be.AppendUint32(nil, exportingProcess)
	return be.AppendUint64(be.AppendUint64(be.AppendUint64(b, records), packets), octets)
}
