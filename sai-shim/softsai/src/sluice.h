// SPDX-License-Identifier: Apache-2.0
/*
 * The API of the extension (sai_sluice_ext.h). Its calls take no lock that others hold for
 * long: they come beside all others, from any thread.
 */
#ifndef SOFTSAI_SLUICE_H
#define SOFTSAI_SLUICE_H

#include "sai_abi.h"
#include "sai_sluice_ext.h"

extern sai_sluice_api_t sluice_api;

#endif
