// SPDX-License-Identifier: Apache-2.0

package sai

// #include <malloc.h>
// #include "shim.h"
import "C"

// arenaEnd is how many octets may be free at the end of an arena of malloc.
const arenaEnd = 128 << 10

// keepArenasSmall has malloc give the ends of arenas back to the system as they are freed. Calls
// come from any thread of Go, so that the library's objects are in the arenas of many, and each
// would keep its pages.
func keepArenasSmall() { C.mallopt(C.M_TRIM_THRESHOLD, arenaEnd) }

// closeShim closes a library, and gives the rest of the memory that it freed back to the system:
// the next opening takes that of another arena.
func closeShim(s *C.struct_shim) {
	C.shim_close(s)
	C.malloc_trim(0)
}
