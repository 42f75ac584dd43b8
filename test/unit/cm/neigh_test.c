// SPDX-License-Identifier: BSD-3-Clause
/*
 * Neighbour cache: times of requests, who wins when two MACs claim an address, what may be evicted,
 * and a long random run against its rules. Pure; virtual clock, one tick = 1 us.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "cm/limits.h"
#include "cm/neigh.h"
#include "lib/util/random.h"
#include "lib/wire/gid.h"

#define MS    1000ull
#define S     1000000ull
#define START (1000 * S)

static const struct pmv_cm_hash_key key_secret = { { 1, 2 } };
static const uint8_t mac_a[6] = { 2, 0, 0, 0, 0, 0xa };
static const uint8_t mac_b[6] = { 2, 0, 0, 0, 0, 0xb };
static const uint8_t mac_c[6] = { 2, 0, 0, 0, 0, 0xc };

struct lab {
	struct pmv_cm_neigh n;
	struct pmv_cm_neigh_out out;
	uint64_t now;
	void *mem;
};

static struct pmv_cm_neigh_key
ip(uint32_t last)
{
	struct pmv_cm_neigh_key k = { .vlan = 0 };

	pmv_gid_from_ipv4(k.ip, 0x0a090000u + last);
	return k;
}

static int
lab_new(void **state)
{
	struct lab *l = calloc(1, sizeof(*l));
	size_t bytes = pmv_cm_neigh_bytes(8);

	l->mem = malloc(bytes);
	l->now = START;
	*state = l;
	return pmv_cm_neigh_init(&l->n, l->mem, bytes, 8, 1, &key_secret);
}

static int
lab_free(void **state)
{
	struct lab *l = *state;

	free(l->mem);
	free(l);
	return 0;
}

/* The actions of the last call as letters: B, U and the MAC's last digit, C and the new MAC's, L.
 */
static void
expect_out(struct lab *l, const char *want)
{
	char text[3 * PMV_CM_NEIGH_OUT_MAX + 1] = "";
	uint32_t i, pos = 0;

	for (i = 0; i < l->out.nb; i++) {
		const struct pmv_cm_neigh_action *a = &l->out.action[i];

		text[pos++] = "BUCL"[a->what];
		if (a->what == PMV_CM_NEIGH_DO_UNICAST || a->what == PMV_CM_NEIGH_DO_CHANGED)
			text[pos++] = "0123456789abcdef"[a->mac[5] & 15];
	}
	assert_string_equal(text, want);
}

/* Steps at `at`, not earlier: until then nothing is due. */
static void
step_at(struct lab *l, uint64_t at, const char *want)
{
	assert_true(pmv_cm_neigh_next_due(&l->n) >= l->now);
	assert_true(pmv_cm_neigh_next_due(&l->n) <= at);
	l->now = at - 1;
	while (pmv_cm_neigh_step(&l->n, l->now, &l->out))
		;
	expect_out(l, "");
	l->now = at;
	assert_false(pmv_cm_neigh_step(&l->n, l->now, &l->out));
	expect_out(l, want);
}

static enum pmv_cm_neigh_state
state_of(struct lab *l, uint32_t last)
{
	struct pmv_cm_neigh_key k = ip(last);
	uint32_t i = pmv_cm_neigh_find(&l->n, &k);

	return i == PMV_CM_NEIGH_NONE ? PMV_CM_NEIGH_FREE : l->n.entries[i].state;
}

static int
resolve(struct lab *l, uint32_t last, uint64_t timeout, struct pmv_cm_neigh_waiter *w,
	uint32_t *entry)
{
	struct pmv_cm_neigh_key k = ip(last);

	int rc = pmv_cm_neigh_resolve(&l->n, &k, l->now, l->now + timeout, w, &l->out);

	if (rc == 0)
		*entry = w->entry;
	return rc;
}

static void
heard(struct lab *l, uint32_t last, const uint8_t *mac, enum pmv_cm_neigh_seen seen,
	const char *want)
{
	struct pmv_cm_neigh_key k = ip(last);

	pmv_cm_neigh_packet(&l->n, &k, mac, seen, l->now, &l->out);
	expect_out(l, want);
}

/* An entry that is pinned once and confirmed with mac_a now. */
static uint32_t
reachable(struct lab *l, uint32_t last)
{
	struct pmv_cm_neigh_waiter w = { 0 };
	uint32_t entry;

	assert_int_equal(resolve(l, last, 3 * S, &w, &entry), -EINPROGRESS);
	heard(l, last, mac_a, PMV_CM_NEIGH_SEEN_ANSWER, "");
	assert_ptr_equal(pmv_cm_neigh_done_pop(&l->n), &w);
	assert_int_equal(w.err, 0);
	assert_int_equal(state_of(l, last), PMV_CM_NEIGH_REACHABLE);
	return w.entry;
}

static void
init__refuses(void **state)
{
	struct lab *l = *state;

	assert_int_equal(pmv_cm_neigh_bytes(0), 0);
	assert_int_equal(pmv_cm_neigh_bytes(65537), 0);
	assert_int_equal(
		pmv_cm_neigh_init(&l->n, l->mem, pmv_cm_neigh_bytes(8) - 1, 8, 1, &key_secret),
		-EINVAL);
	assert_int_equal(pmv_cm_neigh_init(&l->n, l->mem, pmv_cm_neigh_bytes(8), 8, 0, &key_secret),
		-EINVAL);
}

static void
resolve__first_answer(void **state)
{
	struct pmv_cm_neigh_waiter w = { 0 };
	struct lab *l = *state;
	uint32_t entry;

	assert_int_equal(resolve(l, 1, 3 * S, &w, &entry), -EINPROGRESS);
	expect_out(l, "B");
	assert_null(pmv_cm_neigh_done_pop(&l->n));
	l->now += 100;
	heard(l, 1, mac_a, PMV_CM_NEIGH_SEEN_ANSWER, "");
	assert_ptr_equal(pmv_cm_neigh_done_pop(&l->n), &w);
	assert_null(pmv_cm_neigh_done_pop(&l->n));
	assert_int_equal(w.err, 0);
	assert_memory_equal(l->n.entries[w.entry].mac, mac_a, 6);
	assert_int_equal(l->n.entries[w.entry].refs, 1);
	/* Known: at once, with a reference of its own. */
	assert_int_equal(resolve(l, 1, 3 * S, &w, &entry), 0);
	expect_out(l, "");
	assert_int_equal(entry, w.entry);
	assert_int_equal(l->n.entries[entry].refs, 2);
}

/* PK-709: requests at 0, 0.25, 0.75 s, then each second, until the caller's timeout; then
 * -ETIMEDOUT once. */
static void
resolve__nobody_answers(void **state)
{
	struct pmv_cm_neigh_waiter w = { 0 };
	struct lab *l = *state;
	uint32_t entry;

	assert_int_equal(resolve(l, 1, 3500 * MS, &w, &entry), -EINPROGRESS);
	expect_out(l, "B");
	step_at(l, START + 250 * MS, "B");
	step_at(l, START + 750 * MS, "B");
	step_at(l, START + 1750 * MS, "B");
	step_at(l, START + 2750 * MS, "B");
	step_at(l, START + 3500 * MS, "L");
	assert_ptr_equal(pmv_cm_neigh_done_pop(&l->n), &w);
	assert_int_equal(w.err, -ETIMEDOUT);
	assert_int_equal(state_of(l, 1), PMV_CM_NEIGH_FAILED);
	/* Forgotten after the hold-off. */
	step_at(l, START + 4500 * MS, "");
	assert_int_equal(state_of(l, 1), PMV_CM_NEIGH_FREE);
	assert_int_equal(l->n.nb, 0);
	assert_true(pmv_cm_neigh_next_due(&l->n) == UINT64_MAX);
}

/* Each caller has its own timeout; the requests go on for the last one. */
static void
resolve__two_timeouts(void **state)
{
	struct pmv_cm_neigh_waiter w1 = { 0 }, w2 = { 0 };
	struct lab *l = *state;
	uint32_t entry;

	assert_int_equal(resolve(l, 1, 2 * S, &w2, &entry), -EINPROGRESS);
	assert_int_equal(resolve(l, 1, 500 * MS, &w1, &entry), -EINPROGRESS);
	expect_out(l, ""); /* one request serves both */
	step_at(l, START + 250 * MS, "B");
	step_at(l, START + 500 * MS, "");
	assert_ptr_equal(pmv_cm_neigh_done_pop(&l->n), &w1);
	assert_int_equal(w1.err, -ETIMEDOUT);
	assert_null(pmv_cm_neigh_done_pop(&l->n));
	step_at(l, START + 750 * MS, "B");
	heard(l, 1, mac_a, PMV_CM_NEIGH_SEEN_ANSWER, "");
	assert_ptr_equal(pmv_cm_neigh_done_pop(&l->n), &w2);
	assert_int_equal(w2.err, 0);
}

/* After a failure the next caller waits out the hold-off before anything is sent. */
static void
resolve__hold_off(void **state)
{
	struct pmv_cm_neigh_waiter w = { 0 };
	struct lab *l = *state;
	uint32_t entry;

	assert_int_equal(resolve(l, 1, 100 * MS, &w, &entry), -EINPROGRESS);
	step_at(l, START + 100 * MS, "L");
	assert_ptr_equal(pmv_cm_neigh_done_pop(&l->n), &w);
	l->now += 10 * MS;
	assert_int_equal(resolve(l, 1, 5 * S, &w, &entry), -EINPROGRESS);
	expect_out(l, "");
	step_at(l, START + 1100 * MS, "B");
	heard(l, 1, mac_a, PMV_CM_NEIGH_SEEN_ANSWER, "");
	assert_ptr_equal(pmv_cm_neigh_done_pop(&l->n), &w);
	assert_int_equal(w.err, 0);
}

static void
resolve__not_unicast(void **state)
{
	static const uint32_t v4[] = { 0, 0xffffffff, 0xe0000001, 0xefffffff };
	struct pmv_cm_neigh_waiter w = { 0 };
	struct pmv_cm_neigh_key k = { .vlan = 0 };
	struct lab *l = *state;
	uint32_t i;

	assert_int_equal(pmv_cm_neigh_resolve(&l->n, &k, l->now, l->now + S, &w, &l->out), -EINVAL);
	k.ip[0] = 0xff;
	assert_int_equal(pmv_cm_neigh_resolve(&l->n, &k, l->now, l->now + S, &w, &l->out), -EINVAL);
	for (i = 0; i < 4; i++) {
		pmv_gid_from_ipv4(k.ip, v4[i]);
		assert_int_equal(
			pmv_cm_neigh_resolve(&l->n, &k, l->now, l->now + S, &w, &l->out), -EINVAL);
	}
	assert_int_equal(l->n.nb, 0);
}

/* The same address in two VLANs is two neighbours. */
static void
resolve__vlans_apart(void **state)
{
	struct pmv_cm_neigh_key k = ip(1);
	struct lab *l = *state;

	reachable(l, 1);
	k.vlan = 7;
	assert_int_equal(pmv_cm_neigh_find(&l->n, &k), PMV_CM_NEIGH_NONE);
}

static void
cancel__before_and_after_the_result(void **state)
{
	struct pmv_cm_neigh_waiter w1 = { 0 }, w2 = { 0 }, w3 = { 0 };
	struct lab *l = *state;
	uint32_t entry;

	pmv_cm_neigh_cancel(&l->n, &w1, l->now); /* never queued: harmless */
	assert_int_equal(resolve(l, 1, S, &w1, &entry), -EINPROGRESS);
	assert_int_equal(resolve(l, 1, S, &w2, &entry), -EINPROGRESS);
	assert_int_equal(resolve(l, 1, S, &w3, &entry), -EINPROGRESS);
	pmv_cm_neigh_cancel(&l->n, &w2, l->now);
	heard(l, 1, mac_a, PMV_CM_NEIGH_SEEN_ANSWER, "");
	assert_int_equal(l->n.entries[0].refs, 2);
	pmv_cm_neigh_cancel(&l->n, &w1, l->now); /* in the list of results: its reference goes */
	assert_int_equal(l->n.entries[0].refs, 1);
	assert_ptr_equal(pmv_cm_neigh_done_pop(&l->n), &w3);
	assert_null(pmv_cm_neigh_done_pop(&l->n));
	/* The list still works after its tail was taken out. */
	assert_int_equal(resolve(l, 2, S, &w2, &entry), -EINPROGRESS);
	heard(l, 2, mac_b, PMV_CM_NEIGH_SEEN_ANSWER, "");
	assert_ptr_equal(pmv_cm_neigh_done_pop(&l->n), &w2);
}

/* Nobody waits any more: no further request. */
static void
cancel__stops_asking(void **state)
{
	struct pmv_cm_neigh_waiter w = { 0 };
	struct lab *l = *state;
	uint32_t entry;

	assert_int_equal(resolve(l, 1, 60 * S, &w, &entry), -EINPROGRESS);
	pmv_cm_neigh_cancel(&l->n, &w, l->now);
	l->now += 250 * MS;
	assert_false(pmv_cm_neigh_step(&l->n, l->now, &l->out));
	expect_out(l, "L");
	assert_null(pmv_cm_neigh_done_pop(&l->n));
}

/* A pinned entry is asked by unicast after 30 s, three times, then once by broadcast; then it is
 * lost, its MAC kept. */
static void
step__refresh_then_failure(void **state)
{
	struct lab *l = *state;
	uint32_t e = reachable(l, 1);

	step_at(l, START + 30 * S, "Ua");
	step_at(l, START + 31 * S, "Ua");
	step_at(l, START + 32 * S, "Ua");
	step_at(l, START + 33 * S, "B");
	step_at(l, START + 34 * S, "L");
	assert_int_equal(state_of(l, 1), PMV_CM_NEIGH_FAILED);
	assert_true(l->n.entries[e].has_mac);
	/* In use: tried again each 5 s, and back as soon as it answers. */
	step_at(l, START + 39 * S, "B");
	step_at(l, START + 44 * S, "B");
	heard(l, 1, mac_a, PMV_CM_NEIGH_SEEN_ANSWER, "");
	assert_int_equal(state_of(l, 1), PMV_CM_NEIGH_REACHABLE);
	pmv_cm_neigh_unpin(&l->n, e, l->now);
	step_at(l, START + 74 * S, "");
	assert_int_equal(state_of(l, 1), PMV_CM_NEIGH_STALE);
	step_at(l, START + 104 * S, ""); /* 60 s after its last use */
	assert_int_equal(state_of(l, 1), PMV_CM_NEIGH_FREE);
}

/* Traffic of a connection keeps the entry fresh without any request. */
static void
confirm__replaces_probes(void **state)
{
	struct lab *l = *state;
	uint32_t e = reachable(l, 1);
	int i;

	for (i = 0; i < 100; i++) {
		l->now += 20 * S;
		pmv_cm_neigh_confirm(&l->n, e, mac_a, l->now);
		assert_false(pmv_cm_neigh_step(&l->n, l->now, &l->out));
		expect_out(l, "");
	}
	pmv_cm_neigh_confirm(&l->n, e, mac_b, l->now); /* not from its MAC: no confirmation */
	l->now += 30 * S;
	assert_false(pmv_cm_neigh_step(&l->n, l->now, &l->out));
	expect_out(l, "Ua");
	pmv_cm_neigh_confirm(&l->n, e, mac_a, l->now);
	assert_int_equal(state_of(l, 1), PMV_CM_NEIGH_REACHABLE);
}

/* Another MAC claims a live address; the known one answers: nothing changes. */
static void
packet__claim_refuted(void **state)
{
	static const enum pmv_cm_neigh_seen seen[] = { PMV_CM_NEIGH_SEEN_REQUEST,
		PMV_CM_NEIGH_SEEN_ANSWER, PMV_CM_NEIGH_SEEN_ANNOUNCE };
	struct lab *l = *state;
	uint32_t e = reachable(l, 1), i;

	for (i = 0; i < 3; i++) {
		l->now += S;
		heard(l, 1, mac_b, seen[i], "Ua");
		assert_int_equal(state_of(l, 1), PMV_CM_NEIGH_CHALLENGE);
		assert_memory_equal(l->n.entries[e].mac, mac_a, 6);
		heard(l, 1, mac_b, seen[i],
			""); /* louder does not help, nor an answer nobody asked for */
		heard(l, 1, mac_c, PMV_CM_NEIGH_SEEN_ANSWER, "");
		heard(l, 1, mac_a, PMV_CM_NEIGH_SEEN_ANSWER, "");
		assert_int_equal(state_of(l, 1), PMV_CM_NEIGH_REACHABLE);
		assert_memory_equal(l->n.entries[e].mac, mac_a, 6);
	}
}

/* The peer's card was replaced: the old MAC is silent, the new one answers our own probe. */
static void
packet__claim_confirmed(void **state)
{
	struct lab *l = *state;
	uint32_t e = reachable(l, 1);

	heard(l, 1, mac_b, PMV_CM_NEIGH_SEEN_ANNOUNCE, "Ua");
	step_at(l, START + 500 * MS, "Ub");
	assert_memory_equal(l->n.entries[e].mac, mac_a, 6);
	heard(l, 1, mac_b, PMV_CM_NEIGH_SEEN_ANNOUNCE, ""); /* only an answer counts */
	heard(l, 1, mac_b, PMV_CM_NEIGH_SEEN_ANSWER, "Cb");
	assert_int_equal(state_of(l, 1), PMV_CM_NEIGH_REACHABLE);
	assert_memory_equal(l->n.entries[e].mac, mac_b, 6);
}

/* Both silent: the known MAC stays, one broadcast, then failed. */
static void
packet__claim_and_nobody_answers(void **state)
{
	struct lab *l = *state;
	uint32_t e = reachable(l, 1);

	heard(l, 1, mac_b, PMV_CM_NEIGH_SEEN_ANNOUNCE, "Ua");
	step_at(l, START + 500 * MS, "Ub");
	step_at(l, START + 1500 * MS, "Ub");
	step_at(l, START + 2500 * MS, "Ub");
	step_at(l, START + 3500 * MS, "B");
	step_at(l, START + 4500 * MS, "L");
	assert_memory_equal(l->n.entries[e].mac, mac_a, 6);
	/* Failed and pinned: an unasked claim is probed, an answer to the broadcast is taken. */
	heard(l, 1, mac_b, PMV_CM_NEIGH_SEEN_ANNOUNCE, "Ub");
	heard(l, 1, mac_b, PMV_CM_NEIGH_SEEN_ANSWER, "Cb");
}

static void
packet__failed_takes_an_answer(void **state)
{
	struct lab *l = *state;

	reachable(l, 1);
	step_at(l, START + 30 * S, "Ua");
	step_at(l, START + 31 * S, "Ua");
	step_at(l, START + 32 * S, "Ua");
	step_at(l, START + 33 * S, "B");
	/* The broadcast asked everybody. */
	heard(l, 1, mac_c, PMV_CM_NEIGH_SEEN_ANSWER, "Cc");
	assert_int_equal(state_of(l, 1), PMV_CM_NEIGH_REACHABLE);
}

/* RFC 4861 7.2.5: without the override flag another MAC is not taken, but the entry is asked again.
 */
static void
packet__weak_claims(void **state)
{
	struct lab *l = *state;
	uint32_t e = reachable(l, 1);

	heard(l, 1, mac_b, PMV_CM_NEIGH_SEEN_ANNOUNCE_WEAK, "Ua");
	assert_int_equal(state_of(l, 1), PMV_CM_NEIGH_PROBE);
	heard(l, 1, mac_b, PMV_CM_NEIGH_SEEN_ANSWER_WEAK, "");
	assert_memory_equal(l->n.entries[e].mac, mac_a, 6);
	heard(l, 1, mac_a, PMV_CM_NEIGH_SEEN_ANSWER_WEAK, "");
	assert_int_equal(state_of(l, 1), PMV_CM_NEIGH_REACHABLE);
}

/* A request for our address makes an entry: usable at once, probed when used. Others make none. */
static void
packet__learns_from_requests_only(void **state)
{
	struct pmv_cm_neigh_waiter w = { 0 };
	struct lab *l = *state;
	uint32_t entry;

	heard(l, 1, mac_a, PMV_CM_NEIGH_SEEN_ANNOUNCE, "");
	heard(l, 1, mac_a, PMV_CM_NEIGH_SEEN_ANSWER, "");
	assert_int_equal(l->n.nb, 0);
	heard(l, 1, mac_a, PMV_CM_NEIGH_SEEN_REQUEST, "");
	assert_int_equal(state_of(l, 1), PMV_CM_NEIGH_STALE);
	heard(l, 1, mac_b, PMV_CM_NEIGH_SEEN_REQUEST,
		""); /* unused and unconfirmed: the last word counts */
	assert_int_equal(resolve(l, 1, S, &w, &entry), 0);
	expect_out(l, "Ub");
	assert_memory_equal(l->n.entries[entry].mac, mac_b, 6);
	assert_int_equal(state_of(l, 1), PMV_CM_NEIGH_PROBE);
}

/* While we ask, a request of the peer's own tells enough to send; it is confirmed by a probe. */
static void
packet__request_while_incomplete(void **state)
{
	struct pmv_cm_neigh_waiter w = { 0 };
	struct lab *l = *state;
	uint32_t entry;

	assert_int_equal(resolve(l, 1, S, &w, &entry), -EINPROGRESS);
	heard(l, 1, mac_a, PMV_CM_NEIGH_SEEN_REQUEST, "Ua");
	assert_ptr_equal(pmv_cm_neigh_done_pop(&l->n), &w);
	assert_int_equal(w.err, 0);
	assert_int_equal(state_of(l, 1), PMV_CM_NEIGH_PROBE);
}

/* Strangers cannot push out what is in use or was asked for; ours push out strangers. */
static void
evict__order(void **state)
{
	struct pmv_cm_neigh_waiter w = { 0 };
	struct lab *l = *state;
	uint32_t entry, i;

	for (i = 1; i <= 4; i++)
		reachable(l, i); /* pinned */
	for (i = 5; i <= 8; i++) {
		l->now += 1;
		heard(l, i, mac_b, PMV_CM_NEIGH_SEEN_REQUEST, "");
	}
	assert_int_equal(l->n.nb, 8);
	l->now += 1;
	heard(l, 20, mac_c, PMV_CM_NEIGH_SEEN_REQUEST,
		""); /* takes the place of the oldest stranger */
	assert_int_equal(l->n.nb, 8);
	assert_int_equal(state_of(l, 5), PMV_CM_NEIGH_FREE);
	assert_int_equal(state_of(l, 20), PMV_CM_NEIGH_STALE);
	for (i = 30; i < 34; i++)
		reachable(l, i); /* four of our own push out the four strangers */
	for (i = 1; i <= 4; i++)
		assert_int_equal(state_of(l, i), PMV_CM_NEIGH_REACHABLE);
	assert_int_equal(resolve(l, 40, S, &w, &entry), -ENOSPC);
	expect_out(l, "");
	heard(l, 41, mac_c, PMV_CM_NEIGH_SEEN_REQUEST, "");
	assert_int_equal(state_of(l, 41), PMV_CM_NEIGH_FREE);
	/* An unpinned one may go. */
	pmv_cm_neigh_unpin(&l->n, 0, l->now);
	heard(l, 41, mac_c, PMV_CM_NEIGH_SEEN_REQUEST, ""); /* still not for a stranger */
	assert_int_equal(state_of(l, 41), PMV_CM_NEIGH_FREE);
	assert_int_equal(resolve(l, 40, S, &w, &entry), -EINPROGRESS);
}

/* A second reference keeps the entry when the first one goes. */
static void
pin__counts(void **state)
{
	struct lab *l = *state;
	uint32_t e = reachable(l, 1);

	pmv_cm_neigh_pin(&l->n, e);
	pmv_cm_neigh_unpin(&l->n, e, l->now);
	step_at(l, START + 30 * S, "Ua"); /* still in use: refreshed */
	heard(l, 1, mac_a, PMV_CM_NEIGH_SEEN_ANSWER, "");
	pmv_cm_neigh_unpin(&l->n, e, l->now);
	step_at(l, START + 60 * S, "");
	assert_int_equal(state_of(l, 1), PMV_CM_NEIGH_STALE);
}

/* Permanent entries fill the table: neither strangers nor a further one get in, and nothing is ever
 * due. */
static void
set__full(void **state)
{
	struct lab *l = *state;
	struct pmv_cm_neigh_key k;
	uint32_t i;

	for (i = 1; i <= 8; i++) {
		k = ip(i);
		assert_int_equal(pmv_cm_neigh_set(&l->n, &k, mac_c, l->now, &l->out), 0);
	}
	k = ip(9);
	assert_int_equal(pmv_cm_neigh_set(&l->n, &k, mac_c, l->now, &l->out), -ENOSPC);
	heard(l, 9, mac_a, PMV_CM_NEIGH_SEEN_REQUEST, "");
	assert_int_equal(state_of(l, 9), PMV_CM_NEIGH_FREE);
	assert_true(pmv_cm_neigh_next_due(&l->n) == UINT64_MAX);
}

static void
set__permanent(void **state)
{
	struct pmv_cm_neigh_waiter w = { 0 };
	struct pmv_cm_neigh_key k = ip(1);
	struct lab *l = *state;
	uint32_t entry;

	assert_int_equal(resolve(l, 1, S, &w, &entry), -EINPROGRESS);
	assert_int_equal(pmv_cm_neigh_clear(&l->n, &k, l->now), -ENOENT);
	assert_int_equal(pmv_cm_neigh_set(&l->n, &k, mac_c, l->now, &l->out), 0);
	assert_ptr_equal(pmv_cm_neigh_done_pop(&l->n), &w);
	assert_int_equal(w.err, 0);
	heard(l, 1, mac_a, PMV_CM_NEIGH_SEEN_ANSWER, "");
	assert_memory_equal(l->n.entries[w.entry].mac, mac_c, 6);
	l->now += 1000 * S;
	assert_false(pmv_cm_neigh_step(&l->n, l->now, &l->out));
	expect_out(l, "");
	assert_int_equal(pmv_cm_neigh_set(&l->n, &k, mac_b, l->now, &l->out), 0);
	expect_out(l, "Cb");
	assert_int_equal(pmv_cm_neigh_clear(&l->n, &k, l->now), 0);
	assert_false(pmv_cm_neigh_step(&l->n, l->now, &l->out));
	expect_out(l, "Ub"); /* pinned: asked at once */
	k.ip[0] = 0xff;
	assert_int_equal(pmv_cm_neigh_set(&l->n, &k, mac_b, l->now, &l->out), -EINVAL);
}

/* More due entries than one call's actions: step says so, and none is forgotten. */
static void
step__many_at_once(void **state)
{
	enum { NB = 200 };
	size_t bytes = pmv_cm_neigh_bytes(NB);
	struct pmv_cm_neigh_waiter w[NB];
	struct lab *l = *state;
	uint32_t i, entry, nb = 0, calls = 0;
	void *mem = malloc(bytes);
	bool more;

	memset(w, 0, sizeof(w));
	assert_int_equal(pmv_cm_neigh_init(&l->n, mem, bytes, NB, 1, &key_secret), 0);
	for (i = 0; i < NB; i++)
		assert_int_equal(resolve(l, i + 1, 10 * S, &w[i], &entry), -EINPROGRESS);
	l->now += 250 * MS;
	do {
		more = pmv_cm_neigh_step(&l->n, l->now, &l->out);
		assert_in_range(l->out.nb, 0, PMV_CM_NEIGH_OUT_MAX);
		nb += l->out.nb;
		calls++;
	} while (more);
	assert_int_equal(nb, NB);
	assert_in_range(calls, NB / PMV_CM_NEIGH_OUT_MAX, NB);
	assert_true(pmv_cm_neigh_next_due(&l->n) == START + 750 * MS);
	free(mem);
}

enum { NB_W = 64, NB_IP = 14 };

/* Waiters of the random run: 1 waits, 2 holds a reference. */
struct crowd {
	struct pmv_cm_neigh_waiter w[NB_W];
	uint32_t held[NB_W];
	uint8_t busy[NB_W];
	struct pmv_random rnd;
};

/* One call of the many, with waiter j. */
static void
random_call(struct lab *l, struct crowd *c)
{
	uint32_t j = (uint32_t)pmv_random_below(&c->rnd, NB_W);
	uint32_t last = 1 + (uint32_t)pmv_random_below(&c->rnd, NB_IP);
	struct pmv_cm_neigh_key key = ip(last);
	const uint8_t *mac = pmv_random_below(&c->rnd, 4) == 0 ? mac_b : mac_a;
	int rc;

	l->now += pmv_random_below(&c->rnd, 200 * MS);
	l->out.nb = 0;
	switch (pmv_random_below(&c->rnd, 6)) {
	case 0:
		if (c->busy[j] != 0)
			break;
		rc = resolve(l, last, pmv_random_below(&c->rnd, 4 * S), &c->w[j], &c->held[j]);
		c->busy[j] = rc == 0 ? 2 : rc == -EINPROGRESS ? 1 : 0;
		break;
	case 1:
		if (c->busy[j] == 2)
			pmv_cm_neigh_unpin(&l->n, c->held[j], l->now);
		else if (c->busy[j] == 1)
			pmv_cm_neigh_cancel(&l->n, &c->w[j], l->now);
		c->busy[j] = 0;
		break;
	case 2:
	case 3:
		pmv_cm_neigh_packet(&l->n, &key, mac,
			(enum pmv_cm_neigh_seen)pmv_random_below(&c->rnd, 5), l->now, &l->out);
		break;
	case 4:
		if (c->busy[j] == 2)
			pmv_cm_neigh_confirm(&l->n, c->held[j], mac, l->now);
		break;
	default:
		if (pmv_random_below(&c->rnd, 2) == 0)
			(void)pmv_cm_neigh_step(&l->n, l->now, &l->out);
		break;
	}
}

static void
take_results(struct lab *l, struct crowd *c)
{
	struct pmv_cm_neigh_waiter *done;

	while ((done = pmv_cm_neigh_done_pop(&l->n)) != NULL) {
		uint32_t k = (uint32_t)(done - c->w);

		assert_int_equal(c->busy[k], 1);
		assert_true(done->err == 0 || done->err == -ETIMEDOUT);
		c->busy[k] = done->err == 0 ? 2 : 0;
		c->held[k] = done->entry;
		if (done->err == 0)
			assert_true(l->n.entries[done->entry].has_mac);
	}
}

static void
check_references(const struct lab *l, const struct crowd *c)
{
	uint32_t refs = 0, want = 0;

	for (uint32_t k = 0; k < 8; k++) {
		assert_true(
			l->n.entries[k].refs == 0 || l->n.entries[k].state != PMV_CM_NEIGH_FREE);
		refs += l->n.entries[k].refs;
	}
	for (uint32_t k = 0; k < NB_W; k++)
		want += c->busy[k] == 2;
	assert_int_equal(refs, want);
}

/*
 * Random calls for a long time: references and waiters balance, no result is lost, the table stays
 * whole, and never more than a few frames a second go to one address.
 */
static void
all__random_run(void **state)
{
	static struct crowd c;
	struct lab *l = *state;
	uint64_t nb_frames = 0;
	uint32_t i, k;

	memset(&c, 0, sizeof(c));
	pmv_random_init(&c.rnd, 99);
	for (i = 0; i < 300000; i++) {
		random_call(l, &c);
		nb_frames += l->out.nb;
		take_results(l, &c);
		check_references(l, &c);
	}
	/* 8 entries, at most 4 actions a second each over the whole time. */
	assert_true(nb_frames < 8 * 4 * (l->now - START) / S);
	/* Everybody lets go: after a while the table is empty. */
	for (k = 0; k < NB_W; k++) {
		if (c.busy[k] == 2)
			pmv_cm_neigh_unpin(&l->n, c.held[k], l->now);
		else
			pmv_cm_neigh_cancel(&l->n, &c.w[k], l->now);
	}
	for (i = 0; i < 400; i++) {
		l->now += S;
		(void)pmv_cm_neigh_step(&l->n, l->now, &l->out);
	}
	assert_int_equal(l->n.nb, 0);
	assert_true(pmv_cm_neigh_next_due(&l->n) == UINT64_MAX);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, lab_new, lab_free)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(init__refuses),
		TEST(resolve__first_answer),
		TEST(resolve__nobody_answers),
		TEST(resolve__two_timeouts),
		TEST(resolve__hold_off),
		TEST(resolve__not_unicast),
		TEST(resolve__vlans_apart),
		TEST(cancel__before_and_after_the_result),
		TEST(cancel__stops_asking),
		TEST(step__refresh_then_failure),
		TEST(step__many_at_once),
		TEST(confirm__replaces_probes),
		TEST(packet__claim_refuted),
		TEST(packet__claim_confirmed),
		TEST(packet__claim_and_nobody_answers),
		TEST(packet__failed_takes_an_answer),
		TEST(packet__weak_claims),
		TEST(packet__learns_from_requests_only),
		TEST(packet__request_while_incomplete),
		TEST(evict__order),
		TEST(pin__counts),
		TEST(set__permanent),
		TEST(set__full),
		TEST(all__random_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
