// SPDX-License-Identifier: BSD-3-Clause
/*
 * The neighbour cache (states and rules: cm/neigh.h). Called through cm/neigh.h on the control
 * lcore. Pure: no clock, no frame, no memory of its own. It does not build or read ARP and ND
 * frames.
 */
#include "cm/neigh.h"

#include <errno.h>
#include <string.h>

#include "cm/limits.h"
#include "cm/neigh_table.h"
#include "lib/wire/gid.h"

/* One step of one entry makes at most this many actions. */
#define STEP_ACTIONS_MAX 2u

/* ---- Time and actions ---- */

static uint64_t
ticks(const struct pmv_cm_neigh *n, uint64_t us)
{
	return us * n->ticks_per_us;
}

static void
due_set(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, uint64_t due)
{
	e->due = due;
	pmv_cm_neigh_table_due_note(n, due);
}

static void
act(const struct pmv_cm_neigh *n, const struct pmv_cm_neigh_entry *e, enum pmv_cm_neigh_do what,
	const uint8_t *mac, struct pmv_cm_neigh_out *out)
{
	struct pmv_cm_neigh_action *a = &out->action[out->nb++];

	a->what = (uint8_t)what;
	a->entry = pmv_cm_neigh_table_index(n, e);
	a->key = e->key;
	if (mac != NULL)
		memcpy(a->mac, mac, sizeof(a->mac));
	else
		memset(a->mac, 0, sizeof(a->mac));
}

/* ---- Waiters ---- */

void
pmv_cm_neigh_cancel(struct pmv_cm_neigh *n, struct pmv_cm_neigh_waiter *w, uint64_t now)
{
	if (w->prev == NULL)
		return;
	pmv_cm_neigh_waiter_unlink(n, w);
	if (w->err == 0)
		pmv_cm_neigh_unpin(n, w->entry, now);
}

/* ---- States ---- */

static void
to_reachable(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, uint64_t now)
{
	e->state = PMV_CM_NEIGH_REACHABLE;
	e->nb_sent = 0;
	due_set(n, e, now + ticks(n, PMV_CM_NEIGH_REACHABLE_US));
	pmv_cm_neigh_waiters_finish(n, e, 0);
}

static void
to_stale(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e)
{
	e->state = PMV_CM_NEIGH_STALE;
	e->nb_sent = 0;
	due_set(n, e, e->touched + ticks(n, PMV_CM_NEIGH_UNUSED_US));
}

static void
to_probe(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, uint64_t now,
	struct pmv_cm_neigh_out *out)
{
	e->state = PMV_CM_NEIGH_PROBE;
	e->nb_sent = 1;
	act(n, e, PMV_CM_NEIGH_DO_UNICAST, e->mac, out);
	due_set(n, e, now + ticks(n, PMV_CM_NEIGH_PROBE_INTERVAL_US));
}

/* A MAC is known, but nobody confirmed it: ask if somebody depends on it. */
static void
to_unconfirmed(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, uint64_t now,
	struct pmv_cm_neigh_out *out)
{
	pmv_cm_neigh_waiters_finish(n, e, 0);
	if (e->refs > 0)
		to_probe(n, e, now, out);
	else
		to_stale(n, e);
}

static void
to_challenge(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, const uint8_t *candidate,
	bool old_is_silent, uint64_t now, struct pmv_cm_neigh_out *out)
{
	uint64_t wait = old_is_silent ? PMV_CM_NEIGH_PROBE_INTERVAL_US : PMV_CM_NEIGH_CHALLENGE_US;

	memcpy(e->candidate, candidate, sizeof(e->candidate));
	e->state = PMV_CM_NEIGH_CHALLENGE;
	e->challenge_new = old_is_silent;
	e->nb_sent = 1;
	act(n, e, PMV_CM_NEIGH_DO_UNICAST, old_is_silent ? e->candidate : e->mac, out);
	due_set(n, e, now + ticks(n, wait));
}

static void
to_failed(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, uint64_t now,
	struct pmv_cm_neigh_out *out)
{
	e->state = PMV_CM_NEIGH_FAILED;
	e->touched = now; /* start of the hold-off */
	pmv_cm_neigh_waiters_finish(n, e, -ETIMEDOUT);
	act(n, e, PMV_CM_NEIGH_DO_LOST, NULL, out);
	due_set(n, e,
		now + ticks(n, e->refs > 0 ? PMV_CM_NEIGH_FAILED_RETRY_US
					   : PMV_CM_NEIGH_HOLD_OFF_US));
}

static void
mac_set(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, const uint8_t *mac,
	struct pmv_cm_neigh_out *out)
{
	if (e->has_mac && memcmp(e->mac, mac, sizeof(e->mac)) == 0)
		return;
	memcpy(e->mac, mac, sizeof(e->mac));
	e->has_mac = true;
	if (e->refs > 0)
		act(n, e, PMV_CM_NEIGH_DO_CHANGED, mac, out);
}

static bool
entry_usable(const struct pmv_cm_neigh_entry *e)
{
	return e->has_mac && e->state != PMV_CM_NEIGH_INCOMPLETE && e->state != PMV_CM_NEIGH_FAILED;
}

/* ---- Asking ---- */

/* The next broadcast of an INCOMPLETE entry: waits double from the first to the last interval. */
static void
incomplete_ask(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, uint64_t now,
	struct pmv_cm_neigh_out *out)
{
	uint64_t wait = PMV_CM_NEIGH_RETRY_MAX_US;

	act(n, e, PMV_CM_NEIGH_DO_BROADCAST, NULL, out);
	if (e->nb_sent < 2)
		wait = PMV_CM_NEIGH_RETRY_FIRST_US << e->nb_sent;
	if (e->nb_sent < UINT8_MAX)
		e->nb_sent++;
	due_set(n, e, now + ticks(n, wait));
}

/* From FREE or FAILED. After a failure the hold-off comes first. */
static void
incomplete_start(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, uint64_t now,
	struct pmv_cm_neigh_out *out)
{
	uint64_t hold_off = e->touched + ticks(n, PMV_CM_NEIGH_HOLD_OFF_US);
	bool wait = e->state == PMV_CM_NEIGH_FAILED && now < hold_off;

	e->state = PMV_CM_NEIGH_INCOMPLETE;
	e->nb_sent = 0;
	if (wait)
		due_set(n, e, hold_off);
	else
		incomplete_ask(n, e, now, out);
}

static bool
key_is_unicast(const struct pmv_cm_neigh_key *key)
{
	if (pmv_gid_is_zero(key->ip) || pmv_gid_is_multicast(key->ip))
		return false;
	return !pmv_gid_is_v4(key->ip) ||
	       (pmv_gid_ipv4(key->ip) != 0 && pmv_gid_ipv4(key->ip) != UINT32_MAX);
}

int
pmv_cm_neigh_resolve(struct pmv_cm_neigh *n, const struct pmv_cm_neigh_key *key, uint64_t now,
	uint64_t deadline, struct pmv_cm_neigh_waiter *w, struct pmv_cm_neigh_out *out)
{
	struct pmv_cm_neigh_entry *e;
	uint32_t index;

	out->nb = 0;
	if (!key_is_unicast(key))
		return -EINVAL;
	index = pmv_cm_neigh_find(n, key);
	e = index != PMV_CM_NEIGH_NONE ? &n->entries[index]
				       : pmv_cm_neigh_table_alloc(n, key, false, now);
	if (e == NULL)
		return -ENOSPC;
	e->learned = false;
	if (entry_usable(e)) {
		e->refs++;
		e->touched = now;
		if (e->state == PMV_CM_NEIGH_STALE)
			to_probe(n, e, now, out);
		w->entry = index;
		w->err = 0;
		return 0;
	}
	if (e->state != PMV_CM_NEIGH_INCOMPLETE)
		incomplete_start(n, e, now, out);
	e->touched = now;
	pmv_cm_neigh_waiter_push(n, e, w, deadline);
	return -EINPROGRESS;
}

void
pmv_cm_neigh_pin(struct pmv_cm_neigh *n, uint32_t entry)
{
	n->entries[entry].refs++;
}

void
pmv_cm_neigh_unpin(struct pmv_cm_neigh *n, uint32_t entry, uint64_t now)
{
	struct pmv_cm_neigh_entry *e = &n->entries[entry];

	e->refs--;
	if (e->state != PMV_CM_NEIGH_FAILED)
		e->touched = now;
}

/* ---- Hearing ---- */

static void
packet_unknown_mac(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, const uint8_t *mac,
	bool is_answer, uint64_t now, struct pmv_cm_neigh_out *out)
{
	bool other = e->has_mac && memcmp(e->mac, mac, sizeof(e->mac)) != 0;

	/* Somebody depends on the last MAC we had: an unasked claim must answer a probe of ours
	 * first. */
	if (!is_answer && other && e->refs > 0) {
		to_challenge(n, e, mac, true, now, out);
		return;
	}
	mac_set(n, e, mac, out);
	if (is_answer)
		to_reachable(n, e, now);
	else
		to_unconfirmed(n, e, now, out);
}

static void
packet_other_mac(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, const uint8_t *mac,
	enum pmv_cm_neigh_seen seen, uint64_t now, struct pmv_cm_neigh_out *out)
{
	bool asked_all = e->state == PMV_CM_NEIGH_PROBE && e->nb_sent > PMV_CM_NEIGH_PROBE_MAX;

	if (seen == PMV_CM_NEIGH_SEEN_ANSWER_WEAK || seen == PMV_CM_NEIGH_SEEN_ANNOUNCE_WEAK) {
		/* RFC 4861 7.2.5, I: without override the known MAC stays, but is not trusted any
		 * more. */
		if (e->state == PMV_CM_NEIGH_REACHABLE)
			to_unconfirmed(n, e, now, out);
		return;
	}
	if (asked_all && seen == PMV_CM_NEIGH_SEEN_ANSWER) {
		mac_set(n, e, mac, out);
		to_reachable(n, e, now);
	} else if (e->state == PMV_CM_NEIGH_STALE && e->refs == 0) {
		/* Unconfirmed and unused: the last word counts. It is probed before anybody relies
		 * on it. */
		mac_set(n, e, mac, out);
	} else {
		to_challenge(n, e, mac, asked_all, now, out);
	}
}

static void
packet_challenge(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, const uint8_t *mac,
	bool is_answer, uint64_t now, struct pmv_cm_neigh_out *out)
{
	if (!is_answer)
		return;
	if (memcmp(e->mac, mac, sizeof(e->mac)) == 0) {
		to_reachable(n, e, now);
	} else if (e->challenge_new && memcmp(e->candidate, mac, sizeof(e->candidate)) == 0) {
		mac_set(n, e, mac, out);
		to_reachable(n, e, now);
	}
}

static void
packet_learn(struct pmv_cm_neigh *n, const struct pmv_cm_neigh_key *key, const uint8_t *mac,
	uint64_t now)
{
	struct pmv_cm_neigh_entry *e = pmv_cm_neigh_table_alloc(n, key, true, now);

	if (e == NULL)
		return;
	memcpy(e->mac, mac, sizeof(e->mac));
	e->has_mac = true;
	to_stale(n, e);
}

void
pmv_cm_neigh_packet(struct pmv_cm_neigh *n, const struct pmv_cm_neigh_key *key,
	const uint8_t mac[6], enum pmv_cm_neigh_seen seen, uint64_t now,
	struct pmv_cm_neigh_out *out)
{
	bool is_answer = seen == PMV_CM_NEIGH_SEEN_ANSWER || seen == PMV_CM_NEIGH_SEEN_ANSWER_WEAK;
	uint32_t index = pmv_cm_neigh_find(n, key);
	struct pmv_cm_neigh_entry *e;

	out->nb = 0;
	if (index == PMV_CM_NEIGH_NONE) {
		if (seen == PMV_CM_NEIGH_SEEN_REQUEST && key_is_unicast(key))
			packet_learn(n, key, mac, now);
		return;
	}
	e = &n->entries[index];
	if (e->learned)
		e->touched = now;
	switch (e->state) {
	case PMV_CM_NEIGH_INCOMPLETE:
	case PMV_CM_NEIGH_FAILED:
		packet_unknown_mac(n, e, mac, is_answer, now, out);
		break;
	case PMV_CM_NEIGH_REACHABLE:
	case PMV_CM_NEIGH_STALE:
	case PMV_CM_NEIGH_PROBE:
		if (memcmp(e->mac, mac, sizeof(e->mac)) != 0)
			packet_other_mac(n, e, mac, seen, now, out);
		else if (is_answer)
			to_reachable(n, e, now);
		break;
	case PMV_CM_NEIGH_CHALLENGE:
		packet_challenge(n, e, mac, is_answer, now, out);
		break;
	default: /* PERMANENT */
		break;
	}
}

void
pmv_cm_neigh_confirm(struct pmv_cm_neigh *n, uint32_t entry, const uint8_t mac[6], uint64_t now)
{
	struct pmv_cm_neigh_entry *e = &n->entries[entry];

	if (e->state != PMV_CM_NEIGH_FREE && e->state != PMV_CM_NEIGH_PERMANENT && e->has_mac &&
		memcmp(e->mac, mac, sizeof(e->mac)) == 0)
		to_reachable(n, e, now);
}

/* ---- Time passes ---- */

static void
probe_step(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, uint64_t now,
	struct pmv_cm_neigh_out *out)
{
	if (e->nb_sent > PMV_CM_NEIGH_PROBE_MAX) {
		to_failed(n, e, now, out);
		return;
	}
	if (e->nb_sent < PMV_CM_NEIGH_PROBE_MAX)
		act(n, e, PMV_CM_NEIGH_DO_UNICAST, e->mac, out);
	else
		act(n, e, PMV_CM_NEIGH_DO_BROADCAST, NULL, out);
	e->nb_sent++;
	due_set(n, e, now + ticks(n, PMV_CM_NEIGH_PROBE_INTERVAL_US));
}

static void
challenge_step(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, uint64_t now,
	struct pmv_cm_neigh_out *out)
{
	if (!e->challenge_new) {
		e->challenge_new = true;
		e->nb_sent = 0;
	}
	if (e->nb_sent < PMV_CM_NEIGH_PROBE_MAX) {
		act(n, e, PMV_CM_NEIGH_DO_UNICAST, e->candidate, out);
		e->nb_sent++;
		due_set(n, e, now + ticks(n, PMV_CM_NEIGH_PROBE_INTERVAL_US));
		return;
	}
	/* Both silent: the last probe is a broadcast. */
	e->state = PMV_CM_NEIGH_PROBE;
	e->nb_sent = PMV_CM_NEIGH_PROBE_MAX;
	probe_step(n, e, now, out);
}

static void
stale_step(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, uint64_t now,
	struct pmv_cm_neigh_out *out)
{
	if (e->refs > 0)
		to_probe(n, e, now, out);
	else if (now - e->touched >= ticks(n, PMV_CM_NEIGH_UNUSED_US))
		pmv_cm_neigh_table_free(n, e);
	else
		to_stale(n, e);
}

static void
failed_step(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, uint64_t now,
	struct pmv_cm_neigh_out *out)
{
	if (e->refs == 0) {
		pmv_cm_neigh_table_free(n, e);
		return;
	}
	act(n, e, PMV_CM_NEIGH_DO_BROADCAST, NULL, out);
	e->touched = now;
	due_set(n, e, now + ticks(n, PMV_CM_NEIGH_FAILED_RETRY_US));
}

static void
entry_step(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, uint64_t now,
	struct pmv_cm_neigh_out *out)
{
	pmv_cm_neigh_waiters_expire(n, e, now);
	if (e->state == PMV_CM_NEIGH_INCOMPLETE && e->waiters == NULL) {
		to_failed(n, e, now, out);
		return;
	}
	if (now < e->due)
		return;
	switch (e->state) {
	case PMV_CM_NEIGH_INCOMPLETE:
		incomplete_ask(n, e, now, out);
		break;
	case PMV_CM_NEIGH_REACHABLE:
		to_unconfirmed(n, e, now, out);
		break;
	case PMV_CM_NEIGH_STALE:
		stale_step(n, e, now, out);
		break;
	case PMV_CM_NEIGH_PROBE:
		probe_step(n, e, now, out);
		break;
	case PMV_CM_NEIGH_CHALLENGE:
		challenge_step(n, e, now, out);
		break;
	case PMV_CM_NEIGH_FAILED:
		failed_step(n, e, now, out);
		break;
	default: /* PERMANENT has no due time */
		break;
	}
}

bool
pmv_cm_neigh_step(struct pmv_cm_neigh *n, uint64_t now, struct pmv_cm_neigh_out *out)
{
	out->nb = 0;
	if (now < n->next_due)
		return false;
	if (n->cursor == 0)
		n->round_due = PMV_CM_NEIGH_NEVER;
	for (; n->cursor < n->nb_max; n->cursor++) {
		struct pmv_cm_neigh_entry *e = &n->entries[n->cursor];

		if (e->state == PMV_CM_NEIGH_FREE)
			continue;
		if (out->nb + STEP_ACTIONS_MAX > PMV_CM_NEIGH_OUT_MAX)
			return true;
		entry_step(n, e, now, out);
		if (e->state == PMV_CM_NEIGH_FREE)
			continue;
		pmv_cm_neigh_table_due_note(n, e->due);
		pmv_cm_neigh_table_due_note(n, e->waiters_due);
	}
	n->cursor = 0;
	n->next_due = n->round_due;
	return false;
}

uint64_t
pmv_cm_neigh_next_due(const struct pmv_cm_neigh *n)
{
	return n->next_due;
}

/* ---- The application's own entries ---- */

int
pmv_cm_neigh_set(struct pmv_cm_neigh *n, const struct pmv_cm_neigh_key *key, const uint8_t mac[6],
	uint64_t now, struct pmv_cm_neigh_out *out)
{
	struct pmv_cm_neigh_entry *e;
	uint32_t index;

	out->nb = 0;
	if (!key_is_unicast(key))
		return -EINVAL;
	index = pmv_cm_neigh_find(n, key);
	e = index != PMV_CM_NEIGH_NONE ? &n->entries[index]
				       : pmv_cm_neigh_table_alloc(n, key, false, now);
	if (e == NULL)
		return -ENOSPC;
	mac_set(n, e, mac, out);
	e->state = PMV_CM_NEIGH_PERMANENT;
	e->learned = false;
	e->due = PMV_CM_NEIGH_NEVER;
	pmv_cm_neigh_waiters_finish(n, e, 0);
	return 0;
}

int
pmv_cm_neigh_clear(struct pmv_cm_neigh *n, const struct pmv_cm_neigh_key *key, uint64_t now)
{
	uint32_t index = pmv_cm_neigh_find(n, key);
	struct pmv_cm_neigh_entry *e;

	if (index == PMV_CM_NEIGH_NONE || n->entries[index].state != PMV_CM_NEIGH_PERMANENT)
		return -ENOENT;
	e = &n->entries[index];
	e->touched = now;
	to_stale(n, e);
	if (e->refs > 0)
		due_set(n, e, now); /* somebody depends on it: the next step asks */
	return 0;
}

const char *
pmv_cm_neigh_state_name(enum pmv_cm_neigh_state state)
{
	static const char *const names[] = {
		[PMV_CM_NEIGH_FREE] = "free",
		[PMV_CM_NEIGH_INCOMPLETE] = "incomplete",
		[PMV_CM_NEIGH_REACHABLE] = "reachable",
		[PMV_CM_NEIGH_STALE] = "stale",
		[PMV_CM_NEIGH_PROBE] = "probe",
		[PMV_CM_NEIGH_CHALLENGE] = "challenge",
		[PMV_CM_NEIGH_FAILED] = "failed",
		[PMV_CM_NEIGH_PERMANENT] = "permanent",
	};

	return (unsigned int)state < PMV_CM_NEIGH_STATE_MAX ? names[state] : "invalid";
}
