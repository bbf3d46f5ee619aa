// SPDX-License-Identifier: Apache-2.0
/*
 * How long the classes of a port obey PFC frames without a break, as SONiC's watchdog (pfcwd)
 * bounds it: a neighbor that pauses a class for longer is out of order, and the class goes on. All
 * times are ns, the time now is given.
 */
#ifndef SOFTSAI_STORM_H
#define SOFTSAI_STORM_H

#include <stdbool.h>
#include <stdint.h>

#define STORM_LIMIT 400000000ULL /* of a pause without a resume; for as long again frames are ignored */

/* Of a class of a port; all 0 at first. */
struct storm {
	uint64_t since;	  /* begin of the pause */
	uint64_t until;	  /* its end, if no frame follows */
	uint64_t ignored; /* until when frames are ignored; 0: they are not */
};

/*
 * A frame asks for a pause of so many ns, 0 for a resume. Returns whether it is obeyed, and how: for
 * *pause ns.
 */
bool storm_obeys(struct storm *s, uint64_t now, uint64_t asked, uint64_t *pause);

#endif
