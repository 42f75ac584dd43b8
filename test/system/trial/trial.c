// SPDX-License-Identifier: BSD-3-Clause
/*
 * Command line, place and sum of a trial. Called by main of either side; one thread.
 */
#include "test/system/trial/trial.h"

#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test/system/trial/talk.h"

/* More lines than these say nothing new. */
#define LINES_MAX 20u

uint64_t
pmv_trial_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void
pmv_trial_say(struct pmv_trial *t, const char *fmt, ...)
{
	va_list args;

	if (t->nb_failures++ >= LINES_MAX)
		return;
	printf("trial: ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

/* CASE connect|listen request|respond clean|lossy ADDRESS PORT */
int
pmv_trial_parse(struct pmv_trial *t, int argc, char **argv)
{
	*t = (struct pmv_trial){ 0 };
	if (argc == 7) {
		t->c = pmv_trial_case_find(argv[1]);
		t->is_client = strcmp(argv[2], "connect") == 0;
		t->is_requester = strcmp(argv[3], "request") == 0;
		t->is_lossy = strcmp(argv[4], "lossy") == 0;
		t->address = argv[5];
		t->is_v6 = strchr(argv[5], ':') != NULL;
		t->port = (uint16_t)atoi(argv[6]);
	}
	if (t->c != NULL)
		return 0;
	printf("usage: CASE connect|listen request|respond clean|lossy ADDRESS PORT\n");
	return -EINVAL;
}

void
pmv_trial_place_build(const struct pmv_trial_place *place, uint8_t *bytes)
{
	uint64_t addr = htobe64(place->addr);
	uint32_t rest[6] = { htobe32(place->rkey), htobe32(place->bytes), htobe32(place->qpn),
		htobe32(place->psn) };

	memcpy(bytes, &addr, sizeof(addr));
	memcpy(bytes + sizeof(addr), rest, sizeof(rest));
}

void
pmv_trial_place_parse(const uint8_t *bytes, struct pmv_trial_place *ret_place)
{
	uint64_t addr;
	uint32_t rest[4];

	memcpy(&addr, bytes, sizeof(addr));
	memcpy(rest, bytes + sizeof(addr), sizeof(rest));
	*ret_place = (struct pmv_trial_place){ be64toh(addr), be32toh(rest[0]), be32toh(rest[1]),
		be32toh(rest[2]), be32toh(rest[3]) };
}

void
pmv_trial_check_mtu(struct pmv_trial *t, uint32_t code)
{
	if (128u << code != t->c->mtu)
		pmv_trial_say(t, "the path MTU is %u, not %u", 128u << code, t->c->mtu);
}

void
pmv_trial_run(struct pmv_trial *t)
{
	if (t->peer.bytes < PMV_TRIAL_DATA_BYTES)
		pmv_trial_say(t, "the peer offers %u bytes", t->peer.bytes);
	else if (t->is_requester)
		pmv_trial_requester_run(t);
	else
		pmv_trial_responder_run(t);
}

int
pmv_trial_finish(struct pmv_trial *t)
{
	uint32_t nb = pmv_trial_case_steps(t->c);

	/* At 2 % two thirds must pass: everything of one packet, and more. */
	if (t->nb_lost > (t->is_lossy ? nb * 2 / 3 : 0))
		pmv_trial_say(t, "%u of %u messages were lost", t->nb_lost, nb);
	printf("trial: %s: %u steps, %u lost, %u failures\n", t->c->name, nb, t->nb_lost,
		t->nb_failures);
	return t->nb_failures == 0 ? 0 : 1;
}
