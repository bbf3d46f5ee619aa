// SPDX-License-Identifier: Apache-2.0

package paths

import gpb "github.com/openconfig/gnmi/proto/gnmi"

// Models are the modules that define the tables. The schema in package model lacks
// revisions; a test compares them with the modules.
var Models = []*gpb.ModelData{
	{Name: "sonic-sluice", Organization: "Sluice", Version: "2026-11-21"},
	{Name: "sonic-sluice-state", Organization: "Sluice", Version: "2026-11-21"},
}
