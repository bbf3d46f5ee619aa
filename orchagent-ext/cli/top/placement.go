// SPDX-License-Identifier: Apache-2.0

package top

import "fmt"

// Fabric is the state that leaves share whose placement has scope fabric.
type Fabric struct {
	Scope  string `json:"scope"`            // in force: fabric or local
	Reason string `json:"reason,omitempty"` // why it is local
	// Planner: leaf that is elected to plan; empty: none is
	Planner string `json:"planner"`
	// Plan: number of the plan in force for the fabric
	Plan   Number `json:"plan"`
	Leaves Number `json:"leaves"` // whose loads are known
	// Aside: rows of leaves that cannot be used
	Aside Number `json:"rows_rejected"`
}

// newFabric returns the state of placement in scope fabric, nil without a row.
func newFabric(fields map[string]string) *Fabric {
	if fields == nil {
		return nil
	}
	n := numbers(fields)
	return &Fabric{fields["scope"], fields["reason"], fields["planner"], total(n, "plan"), total(n, "leaves"), total(n, "rows_rejected")}
}

// line returns the scope in force and the leaf that plans.
func (f *Fabric) line() string {
	planner := "no planner"
	if f.Planner != "" {
		planner = "planner " + f.Planner
	}
	plan := "no plan"
	if f.Plan.known {
		plan = fmt.Sprintf("plan %.0f", f.Plan.value)
	}
	line := fmt.Sprintf("placement: scope %s, %s, %s, leaves %s", f.Scope, plan, planner, f.Leaves)
	if f.Aside.known && f.Aside.value > 0 {
		line += fmt.Sprintf(", rows aside %s", f.Aside)
	}
	if f.Reason != "" {
		line += ": " + f.Reason
	}
	return line
}
