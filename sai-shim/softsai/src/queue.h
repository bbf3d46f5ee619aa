/* Queues. This switch has none yet: a port's queue list is empty. */
#ifndef SOFTSAI_QUEUE_H
#define SOFTSAI_QUEUE_H

#include "object.h"

#endif
