// SPDX-License-Identifier: Apache-2.0

package asic

import (
	"fmt"

	sai "sluice/sai-shim"
)

// Flows returns the library where it watches and holds single flows; nil and the
// reason where it does not. What is set by it is no object of the engine: the caller
// that sets it takes it back.
func (d *SAI) Flows() (lib *sai.Library, why string) {
	switch v := d.lib.Extension(); {
	case v >= sai.ExtensionFlows:
		return d.lib, ""
	case v == 0:
		return nil, "the SAI library does not have the extension of sai_sluice_ext.h"
	default:
		return nil, fmt.Sprintf("the SAI library has version %d of the extension of sai_sluice_ext.h: single flows came with %d", v, sai.ExtensionFlows)
	}
}

// PortID is the library's object of a port; Null: it has none.
func (d *SAI) PortID(name string) sai.ObjectID { return d.ports[name] }

// QueueIDs are the library's egress queues of a port, by number.
func (d *SAI) QueueIDs(name string) ([]sai.ObjectID, error) {
	port, err := d.port(name)
	if err != nil {
		return nil, err
	}
	ids, err := d.lib.Queues(port)
	return ids, refusal(err)
}
