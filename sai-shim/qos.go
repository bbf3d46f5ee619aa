// SPDX-License-Identifier: Apache-2.0

package sai

/*
#include "shim.h"
*/
import "C"

import (
	"unsafe"

	"sluice/sai-shim/saiattr"
)

// QoSPair is an entry of a map.
type QoSPair struct{ From, To uint8 }

// QoSMap reads a map of DSCP to traffic classes, or of traffic classes to queues.
func (l *Library) QoSMap(id ObjectID, toQueue bool) ([]QoSPair, error) {
	k, a := saiattr.QoSMap, saiattr.QoSMapPairs
	l.argue(saiattr.Value{Attr: a})
	if err := l.avoided("get", k.Name); err != nil {
		return nil, err
	}
	if err := l.begin(); err != nil {
		return nil, l.dropped(err)
	}
	defer l.end()
	l.enter("get", k.Name, id)
	list, status, detail := grow(l, func(list []C.sai_qos_map_t, n *C.uint32_t) C.sai_status_t {
		return C.shim_get_list(l.shim, C.int32_t(k.Number), C.uint64_t(id), l.id(a), unsafe.Pointer(&list[0]), n)
	})
	pairs := make([]QoSPair, len(list))
	for i := range list {
		pairs[i] = QoSPair{uint8(list[i].key.dscp), uint8(list[i].value.tc)}
		if toQueue {
			pairs[i] = QoSPair{uint8(list[i].key.tc), uint8(list[i].value.queue_index)}
		}
	}
	return pairs, l.checkAnswer(Status(status), detail)
}
