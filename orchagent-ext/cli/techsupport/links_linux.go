// SPDX-License-Identifier: Apache-2.0

package techsupport

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vishvananda/netlink"
)

// ourProgram begins the name of a filter that the software switch attached.
const ourProgram = "softsai_"

// links asks the kernel by netlink, which every user may do.
func links(ctx context.Context, _ *Config) ([]Item, error) {
	all, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list netdevs: %w", err)
	}
	qdiscs, qdiscErr := netlink.QdiscList(nil)
	if qdiscErr != nil {
		qdiscErr = fmt.Errorf("list qdiscs: %w", qdiscErr)
	}
	clsact := map[int]bool{}
	kinds := map[int][]string{}
	for _, q := range qdiscs {
		i := q.Attrs().LinkIndex
		clsact[i] = clsact[i] || q.Attrs().Parent == netlink.HANDLE_CLSACT
		kinds[i] = append(kinds[i], q.Type())
	}
	var items []Item
	errs := []error{qdiscErr}
	for _, link := range all {
		if ctx.Err() != nil {
			return items, errors.Join(append(errs, ctx.Err())...)
		}
		a := link.Attrs()
		fields := map[string]string{
			"index": fmt.Sprint(a.Index), "type": link.Type(), "mtu": fmt.Sprint(a.MTU), "state": a.OperState.String(), "flags": a.Flags.String(),
			"qdiscs": strings.Join(kinds[a.Index], " "), "sluice_filter": "no",
		}
		if s := a.Statistics; s != nil {
			fields["rx"] = fmt.Sprintf("%d packets, %d bytes, %d dropped, %d errors", s.RxPackets, s.RxBytes, s.RxDropped, s.RxErrors)
			fields["tx"] = fmt.Sprintf("%d packets, %d bytes, %d dropped, %d errors", s.TxPackets, s.TxBytes, s.TxDropped, s.TxErrors)
		}
		if clsact[a.Index] {
			filters, err := netlink.FilterList(link, netlink.HANDLE_MIN_INGRESS)
			if err != nil {
				errs = append(errs, fmt.Errorf("list filters of %s: %w", a.Name, err))
			}
			var said []string
			for _, f := range filters {
				text := fmt.Sprintf("%s priority %d", f.Type(), f.Attrs().Priority)
				if bpf, ok := f.(*netlink.BpfFilter); ok {
					text += fmt.Sprintf(" %s id %d tag %s", bpf.Name, bpf.Id, bpf.Tag)
					if strings.HasPrefix(bpf.Name, ourProgram) {
						fields["sluice_filter"] = "yes"
					}
				}
				said = append(said, text)
			}
			fields["ingress_filters"] = strings.Join(said, "; ")
		}
		items = append(items, Item{Name: a.Name, Fields: fields})
	}
	return items, errors.Join(errs...)
}
