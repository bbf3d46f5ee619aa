/* SPDX-License-Identifier: Apache-2.0 */
#include "ends.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Where it is noted how the process ends; NULL: nowhere. */
static volatile int32_t *note;
static size_t note_octets;	   /* of the mapping that begins there */
static volatile sig_atomic_t lost; /* its file */

static struct sigaction before[NSIG];

/* Puts memory in place of the mapping, if that is what the access failed in. */
static int replaced(int signal, const siginfo_t *info)
{
	uintptr_t at = (uintptr_t)info->si_addr, from = (uintptr_t)note;

	if (signal != SIGBUS || info->si_code <= 0 || at < from || at - from >= note_octets)
		return 0;
	if (mmap((void *)from, note_octets, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	    MAP_FAILED)
		return 0;
	lost = 1;
	return 1;
}

static void ended(int signal, siginfo_t *info, void *context)
{
	const struct sigaction *next = &before[signal];
	sigset_t bus;

	if (replaced(signal, info))
		return; /* the access is made again */
	sigemptyset(&bus);
	sigaddset(&bus, SIGBUS);
	pthread_sigmask(SIG_UNBLOCK, &bus, NULL); /* of the next line */
	*note = signal;
	if (next->sa_flags & SA_SIGINFO) { /* Go's, which prints the place and ends the process */
		next->sa_sigaction(signal, info, context);
		return;
	}
	sigaction(signal, next, NULL);
	raise(signal);
}

static void left(void)
{
	if (note)
		*note = ENDS_EXIT;
}

int ends_lost(void)
{
	return lost;
}

int ends_note(int32_t *where, size_t octets)
{
	static const int signals[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	volatile int32_t *was = note;

	note = where;
	note_octets = octets;
	lost = 0;
	if (was)
		return 0;
	if (atexit(left))
		return -1;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction is;

		if (sigaction(signals[i], NULL, &before[signals[i]]))
			return -1;
		is = before[signals[i]];
		is.sa_flags |= SA_SIGINFO | SA_ONSTACK;
		is.sa_sigaction = ended;
		if (sigaction(signals[i], &is, NULL))
			return -1;
	}
	return 0;
}
