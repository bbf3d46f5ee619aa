// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"sluice/yang/rows"
	"sluice/yang/text"
)

// Tables of STATE_DB.
const (
	TableState       = "SLUICE_STATE"
	TableCapability  = "SLUICE_CAPABILITY"
	TableConfigError = "SLUICE_CONFIG_ERROR"
	TableObject      = "SLUICE_ASIC_OBJECT"
	TableFlow        = "SLUICE_FLOW"
	TableHold        = "SLUICE_HOLD"
)

// Tables of COUNTERS_DB.
const (
	TableStats      = "SLUICE_STATS"
	TablePortStats  = "SLUICE_PORT_STATS"
	TableQueueStats = "SLUICE_QUEUE_STATS"
	TableIPFIXStats = "SLUICE_IPFIX_STATS"
	TableNotify     = "SLUICE_NOTIFY_STATS"
)

// What the daemon is doing.
const (
	Starting = "starting" // the switch or the configuration is not there yet
	Running  = "running"  // the switch is as configured
	Degraded = "degraded" // the switch is as configured in part: the warnings say what is not
	Disabled = "disabled" // SLUICE|global admin_state=disabled: no object of Sluice is on the switch
)

// Off is a feature that is not enabled; Active and Failed are as with flow labels.
const Off = "disabled"

// What became of flow labels.
const (
	Active   = "active"   // written, or ECMP hashes the queue pair
	Inactive = "inactive" // not enabled
	Failed   = "failed"   // enabled, and the switch has no method
)

// State is SLUICE_STATE|global.
type State struct {
	State, Driver, Version string
	FlowLabel              string
	Method                 string
	Objects, Flows         int
	StreamIDs              string // scope that gives them; "": off
	ConfigErrors           int
	Warnings               []string
	LastError              string
	LastErrorAt            time.Time
	LastFault              string // why the loop was started again; "": it was not
	LastFaultAt            time.Time
	Since                  time.Time // start of the daemon

	PFCM, PPFC, RateAdvice                   string // Active, Off or Failed
	PFCMReason, PPFCReason, RateAdviceReason string // why it failed; "": it did not
	Holds                                    int
}

// Row is the row.
func (s State) Row() rows.Row {
	fields := map[string]string{
		"state":             s.State,
		"driver":            s.Driver,
		"version":           s.Version,
		"flow_label":        s.FlowLabel,
		"flow_label_method": s.Method,
		"objects":           fmt.Sprint(s.Objects),
		"flows":             fmt.Sprint(s.Flows),
		"config_errors":     fmt.Sprint(s.ConfigErrors),
		"since":             stamp(s.Since),
		"pfcm":              cmp.Or(s.PFCM, Off),
		"ppfc":              cmp.Or(s.PPFC, Off),
		"rate_advice":       cmp.Or(s.RateAdvice, Off),
		"holds":             fmt.Sprint(s.Holds),
	}
	for name, why := range map[string]string{"pfcm_reason": s.PFCMReason, "ppfc_reason": s.PPFCReason, "rate_advice_reason": s.RateAdviceReason} {
		if why != "" {
			fields[name] = why
		}
	}
	if s.StreamIDs != "" {
		fields["stream_ids"] = s.StreamIDs
	}
	if len(s.Warnings) > 0 {
		fields["warnings"] = strings.Join(s.Warnings, "; ")
	}
	if s.LastError != "" {
		fields["last_error"] = s.LastError
		fields["last_error_time"] = stamp(s.LastErrorAt)
	}
	if s.LastFault != "" {
		fields["last_fault"] = s.LastFault
		fields["last_fault_time"] = stamp(s.LastFaultAt)
	}
	return rows.Row{Table: TableState, Key: "global", Fields: fields}
}

// Capability is SLUICE_CAPABILITY|switch.
type Capability struct {
	Needs    []Need // empty: the switch has not been asked yet
	IPv4     string // what spreads flows over IPv4
	Queues   uint8  // egress queues of a port that the switch tells of
	NoQueues string // why the switch has no queues; "" with 0 queues: unknown
}

// Need is by which method the switch meets a need.
type Need struct {
	Leaf                  string // as the need begins its leaves
	Method, Reason, State string
}

// Row is the row.
func (c Capability) Row() rows.Row {
	fields := map[string]string{"flow_label_ipv4": c.IPv4}
	for _, n := range c.Needs {
		if n.Method != "" {
			fields[n.Leaf+"_method"], fields[n.Leaf+"_reason"], fields[n.Leaf+"_state"] = n.Method, n.Reason, n.State
		}
	}
	if c.Queues != 0 || c.NoQueues != "" {
		fields["queues"] = fmt.Sprint(c.Queues)
	}
	if c.NoQueues != "" {
		fields["queues_reason"] = c.NoQueues
	}
	return rows.Row{Table: TableCapability, Key: "switch", Fields: fields}
}

// ConfigError is the row that says why a row of CONFIG_DB is not in force. good is
// its last good version, which is; nil: there is none.
func ConfigError(e *rows.Error, at time.Time, good *rows.Row) rows.Row {
	fields := map[string]string{"reason": e.Reason, "time": stamp(at)}
	if e.Field != "" {
		fields["field"] = e.Field
		fields["value"] = e.Value
	}
	if good != nil {
		text, _ := json.Marshal(good.Fields) // strings always can
		fields["in_force"] = string(text)
	}
	key := e.Key
	if good == nil { // else it is read back by LastGood
		key = text.Cut(key, rows.LongestQuote)
	}
	return rows.Row{Table: TableConfigError, Key: e.Table + "|" + key, Fields: fields}
}

// LastGood returns the rows that rows of [ConfigError] say are in force.
func LastGood(errs []rows.Row) []rows.Row {
	var good []rows.Row
	for _, e := range errs {
		table, key, _ := strings.Cut(e.Key, "|")
		r := rows.Row{Table: table, Key: key}
		if json.Unmarshal([]byte(e.Fields["in_force"]), &r.Fields) == nil {
			good = append(good, r)
		}
	}
	return good
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
