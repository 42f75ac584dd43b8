// SPDX-License-Identifier: BSD-3-Clause
/*
 * CM-120 with the whole stack: random calls on random ids of both nodes over a link that loses,
 * copies and swaps; every id keeps its promises about events, and nothing is left in the end. The
 * seed is printed; PMV_TEST_ROUNDS asks for more rounds.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cm/cm.h"
#include "cm/id.h"
#include "test/harness/eal.h"
#include "test/sim/cm_lab.h"

#define NB_SLOTS 24
#define NB_TURNS 400

/* What the application knows of one id. */
struct slot {
	struct pmv_cm_id *id;
	int side;
	bool passive;
	uint32_t nb_established;
	uint32_t nb_ended; /* REJECTED, UNREACHABLE, CONNECT_ERROR, DISCONNECTED */
	uint32_t nb_disconnected;
	uint32_t nb_timewait;
	bool wants_answer; /* CONNECT_REQUEST came */
};

static struct cm_lab lab;
static struct slot slots[NB_SLOTS];
static struct pmv_random rnd;
static uint32_t nb_established, nb_rejected, nb_disconnected, nb_other;

static bool
chance(uint32_t percent)
{
	return pmv_random_below(&rnd, 100) < percent;
}

static struct slot *
free_slot(void)
{
	for (int i = 0; i < NB_SLOTS; i++)
		if (slots[i].id == NULL)
			return &slots[i];
	return NULL;
}

static void
ending(struct slot *s)
{
	s->nb_ended++;
	assert_int_equal(s->nb_ended, 1);
}

static void
count(struct slot *s, const struct pmv_cm_event *e)
{
	switch (e->event) {
	case PMV_CM_EVENT_ESTABLISHED:
		assert_int_equal(++s->nb_established, 1);
		assert_int_equal(s->nb_ended, 0);
		nb_established++;
		break;
	case PMV_CM_EVENT_REJECTED:
		assert_int_equal(s->nb_established, 0);
		ending(s);
		nb_rejected++;
		break;
	case PMV_CM_EVENT_UNREACHABLE:
	case PMV_CM_EVENT_CONNECT_ERROR:
		assert_int_equal(s->nb_established, 0);
		ending(s);
		nb_other++;
		break;
	case PMV_CM_EVENT_DISCONNECTED:
		ending(s);
		s->nb_disconnected++;
		nb_disconnected++;
		break;
	case PMV_CM_EVENT_TIMEWAIT_EXIT:
		assert_int_equal(s->nb_disconnected, 1);
		assert_int_equal(++s->nb_timewait, 1);
		break;
	default:
		break;
	}
}

static int
soak_handler(struct pmv_cm_id *id, const struct pmv_cm_event *e)
{
	struct slot *s = pmv_cm_id_context(id);
	int side = pmv_cm_id_device(e->listen_id != NULL ? id : s->id) == lab.pair.node[1].dev;

	switch (e->event) {
	case PMV_CM_EVENT_ADDR_RESOLVED:
		assert_int_equal(pmv_cm_resolve_route(id, 0), 0);
		return 0;
	case PMV_CM_EVENT_ROUTE_RESOLVED:
		cm_lab_qp(&lab, id);
		assert_int_equal(pmv_cm_connect(id, NULL), 0);
		return 0;
	case PMV_CM_EVENT_CONNECT_REQUEST:
		s = free_slot();
		if (s == NULL)
			return -1;
		*s = (struct slot){ .id = id, .side = side, .passive = true, .wants_answer = true };
		pmv_cm_id_set_context(id, s);
		return 0;
	default:
		assert_ptr_equal(s->id, id);
		count(s, e);
		return 0;
	}
}

static void
start_one(int side)
{
	struct slot *s = free_slot();

	if (s == NULL)
		return;
	*s = (struct slot){ .side = side };
	assert_int_equal(
		pmv_cm_create_id(lab.s[side].cm, soak_handler, s, PMV_PS_TCP, PMV_QPT_RC, &s->id),
		0);
	assert_int_equal(pmv_cm_resolve_addr(s->id, NULL,
				 cm_lab_addr(side == 0 ? "192.168.10.2" : "192.168.10.1",
					 chance(90) ? CM_LAB_PORT : 1),
				 1 + (uint32_t)pmv_random_below(&rnd, 5000)),
		0);
}

static void
answer(struct slot *s)
{
	s->wants_answer = false;
	if (s->nb_ended != 0)
		return;
	if (chance(15)) {
		assert_int_equal(pmv_cm_reject(s->id, "x", 2, 28), 0);
	} else if (s->id->conn.state == PMV_CM_ST_MRA_REQ_SENT) {
		cm_lab_qp(&lab, s->id);
		assert_int_equal(pmv_cm_accept(s->id, NULL), 0);
	}
}

static void
destroy_one(struct slot *s)
{
	cm_lab_destroy(&lab, s->side, s->id);
	s->id = NULL;
}

static void
act_on(struct slot *s)
{
	if (s->id == NULL)
		return;
	if (s->wants_answer && chance(40))
		answer(s);
	else if (chance(8))
		pmv_cm_disconnect(s->id); /* -EINVAL where it is too early */
	else if (chance(s->nb_ended != 0 ? 20 : 2))
		destroy_one(s);
}

static void
round_of(uint64_t seed)
{
	struct pmv_cm_id *listener[2];

	pmv_random_init(&rnd, seed);
	memset(slots, 0, sizeof(slots));
	cm_lab_open(&lab, &(struct cm_lab_param){ .id_max = 64, .seed = seed });
	for (int side = 0; side < 2; side++) {
		struct pmv_test_dir *out = &lab.pair.link->end[side].out;

		out->hook = NULL;
		out->drop = (double)pmv_random_below(&rnd, 30) / 100;
		out->dup = (double)pmv_random_below(&rnd, 20) / 100;
		out->swap = (double)pmv_random_below(&rnd, 20) / 100;
		assert_int_equal(pmv_cm_create_id(lab.s[side].cm, soak_handler, NULL, PMV_PS_TCP,
					 PMV_QPT_RC, &listener[side]),
			0);
		assert_int_equal(
			pmv_cm_bind_addr(listener[side], cm_lab_addr("0.0.0.0", CM_LAB_PORT)), 0);
		assert_int_equal(pmv_cm_listen(listener[side], 8), 0);
	}
	for (int turn = 0; turn < NB_TURNS; turn++) {
		if (chance(30))
			start_one((int)pmv_random_below(&rnd, 2));
		for (int i = 0; i < NB_SLOTS; i++)
			act_on(&slots[i]);
		pmv_test_pair_run(&lab.pair, 1 + pmv_random_below(&rnd, 60000), 500);
	}
	for (int i = 0; i < NB_SLOTS; i++)
		if (slots[i].id != NULL)
			destroy_one(&slots[i]);
	for (int side = 0; side < 2; side++) {
		assert_int_equal(lab.s[side].cm->nb_ids, 1);
		lab.pair.link->end[side].out.drop = 0;
	}
	cm_lab_close(&lab);
}

static void
cm_soak__random_calls_on_a_bad_link(void **state)
{
	const char *more = getenv("PMV_TEST_ROUNDS");
	uint32_t nb = more != NULL ? (uint32_t)atoi(more) : 6;

	for (uint32_t i = 0; i < nb; i++) {
		print_message("seed %u\n", 1000 + i);
		round_of(1000 + i);
	}
	print_message("established %u, rejected %u, disconnected %u, unreachable or error %u\n",
		nb_established, nb_rejected, nb_disconnected, nb_other);
	assert_true(nb_established > 10 * nb && nb_rejected > nb && nb_disconnected > 5 * nb);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cm_soak__random_calls_on_a_bad_link),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
