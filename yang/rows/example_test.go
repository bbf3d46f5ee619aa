// SPDX-License-Identifier: Apache-2.0

package rows_test

import (
	"fmt"

	"sluice/yang/model"
	"sluice/yang/rows"
)

func ExampleDecode() {
	s, err := rows.Decode(rows.Row{Table: "SLUICE_THRESHOLD", Key: "gold", Fields: map[string]string{"high_bytes": "200000", "queues@": "3,4"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	rows.Fill(s)
	t := s.(*model.SonicSluice_SonicSluice_SLUICE_THRESHOLD_SLUICE_THRESHOLD_LIST)
	fmt.Println(*t.Name, *t.HighBytes, len(t.Queues), t.Action, *t.DurationUs)

	_, err = rows.Decode(rows.Row{Table: "SLUICE_THRESHOLD", Key: "gold", Fields: map[string]string{"high_bytes": "200000", "low_bytes": "300000"}})
	fmt.Println(err)
	// Output:
	// gold 200000 2 pause 40000
	// SLUICE_THRESHOLD|gold: low_bytes "300000": low_bytes must be less than high_bytes
}
