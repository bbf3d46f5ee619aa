// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"fmt"
	"time"
)

// rejections are the reasons of REJ (IBTA volume 1 section 12.6.7.2); "" where the
// specification reserves the number.
var rejections = [...]string{
	1: "no queue pair available", 2: "no EE context available", 3: "no resources available", 4: "timeout", 5: "unsupported request",
	6: "invalid communication ID", 7: "invalid communication instance", 8: "invalid service ID", 9: "invalid transport service type",
	10: "stale connection", 11: "RD channel does not exist", 12: "primary GID rejected", 13: "primary LID rejected",
	14: "invalid primary SL", 15: "invalid primary traffic class", 16: "invalid primary hop limit", 17: "invalid primary packet rate",
	18: "alternate GID rejected", 19: "alternate LID rejected", 20: "invalid alternate SL", 21: "invalid alternate traffic class",
	22: "invalid alternate hop limit", 23: "invalid alternate packet rate", 24: "port and CM redirection", 25: "port redirection",
	26: "invalid path MTU", 27: "insufficient responder resources", 28: "consumer reject", 29: "RNR retry count rejected",
	30: "duplicate local communication ID", 31: "invalid class version", 32: "invalid flow label", 33: "invalid alternate flow label",
	35: "vendor option not supported",
}

// resolutions are the status values of SIDR_REP (section 12.11.2), loads those of APR
// (section 12.8.2).
var (
	resolutions = [...]string{"valid queue pair", "invalid service ID", "rejected by the service provider", "no queue pair available", "redirected", "unsupported version"}
	loads       = [...]string{
		"path loaded", "invalid communication instance", "alternate paths not supported", "alternate path rejected", "redirected", "path is the current one",
		"queue pair differs", "LID rejected", "GID rejected", "invalid flow label", "invalid traffic class", "invalid hop limit", "invalid packet rate", "invalid SL",
	}
)

// Reason returns the reason of a REJ, or the status of a SIDR_REP or APR, in words, or its
// number; "" of other messages.
func (m CM) Reason() string {
	var names []string
	switch m.Attribute {
	case CMRej:
		names = rejections[:]
	case CMSidrRep:
		names = resolutions[:]
	case CMApr:
		names = loads[:]
	default:
		return ""
	}
	if int(m.Code) < len(names) && names[m.Code] != "" {
		return names[m.Code]
	}
	return fmt.Sprint("code ", m.Code)
}

// rnrTimers are the waits that an RNR NAK asks for, by its timer code (section 9.7.5.2.8,
// table 45), in units of 10 us.
var rnrTimers = [32]time.Duration{
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
}

// RNRTimer returns how long an RNR NAK asks the requester to wait; 0 for other syndromes.
func (h AETH) RNRTimer() time.Duration {
	if h.NAK() != NAKRNR {
		return 0
	}
	return rnrTimers[h.Syndrome&0x1f] * 10 * time.Microsecond
}
