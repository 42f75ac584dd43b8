// SPDX-License-Identifier: BSD-3-Clause
/*
 * Messages, completions and expectations; see talk.h. One thread; it polls, it never sleeps.
 */
#include "test/system/trial/talk.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define MAGIC      0x7472696cu
#define FIRST_BYTE 64u
#define ADD_WRAPS  0xffffffffffffff01ull

uint32_t
pmv_trial_data_at(const struct pmv_trial *t, const struct pmv_trial_step *s)
{
	/* Unreliable: a receive that was not used by one step serves the next. */
	return t->c->transport == PMV_TRIAL_RC ? FIRST_BYTE + s->number % 13 : FIRST_BYTE;
}

uint32_t
pmv_trial_split(const struct pmv_trial_step *s, uint32_t length)
{
	return s->number % 2 == 1 && length > 1 ? length / 3 + 1 : 0;
}

void
pmv_trial_blank(struct pmv_trial *t, const struct pmv_trial_step *s)
{
	memset(t->buf, PMV_TRIAL_BLANK,
		pmv_trial_data_at(t, s) + s->length * s->count + PMV_TRIAL_GUARD);
}

void
pmv_trial_expect(struct pmv_trial *t, const struct pmv_trial_step *s, const char *what,
	uint64_t expected, uint64_t seen)
{
	if (expected != seen)
		pmv_trial_say(t, "step %u, %s of %u bytes: %s 0x%llx expected, 0x%llx seen",
			s->number, pmv_trial_opcode_name(s->opcode), s->length, what,
			(unsigned long long)expected, (unsigned long long)seen);
}

static void
expect_blank(struct pmv_trial *t, const struct pmv_trial_step *s, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (t->buf[i] != PMV_TRIAL_BLANK) {
			pmv_trial_say(t,
				"step %u, %s of %u bytes: byte %u of the buffer was written",
				s->number, pmv_trial_opcode_name(s->opcode), s->length, i);
			return;
		}
}

void
pmv_trial_check_data(struct pmv_trial *t, const struct pmv_trial_step *s)
{
	uint32_t at = pmv_trial_data_at(t, s);
	uint32_t end = at + s->length * s->count;
	uint32_t head = t->c->transport == PMV_TRIAL_UD ? PMV_TRIAL_GRH : 0;

	expect_blank(t, s, 0, at - head);
	expect_blank(t, s, end, end + PMV_TRIAL_GUARD);
	for (uint32_t k = 0; k < s->count; k++)
		for (uint32_t i = 0; i < s->length; i++) {
			uint8_t expected = pmv_trial_byte(s->number, k, i);
			uint8_t seen = t->buf[at + k * s->length + i];

			if (seen == expected)
				continue;
			pmv_trial_say(t,
				"step %u, %s of %u bytes: byte %u of message %u is 0x%02x, "
				"0x%02x expected",
				s->number, pmv_trial_opcode_name(s->opcode), s->length, i, k, seen,
				expected);
			return;
		}
}

static bool
take_from_stash(struct pmv_trial *t, uint64_t wr_id, struct pmv_trial_wc *ret_wc)
{
	for (uint32_t i = 0; i < t->nb_stash; i++) {
		if (t->stash[i].wr_id != wr_id)
			continue;
		*ret_wc = t->stash[i];
		t->nb_stash--;
		memmove(&t->stash[i], &t->stash[i + 1], (t->nb_stash - i) * sizeof(t->stash[0]));
		return true;
	}
	return false;
}

int
pmv_trial_wait(struct pmv_trial *t, uint64_t wr_id, uint32_t ms, struct pmv_trial_wc *ret_wc)
{
	uint64_t end = pmv_trial_now_ms() + ms;
	struct pmv_trial_wc wc;

	if (take_from_stash(t, wr_id, ret_wc))
		return 0;
	do {
		if (pmv_trial_side_poll(t, &wc) == 0)
			continue;
		if (wc.wr_id == wr_id) {
			*ret_wc = wc;
			return 0;
		}
		if (wc.status != 0 || t->nb_stash == PMV_TRIAL_STASH_MAX) {
			pmv_trial_say(t, "request %llu ended with status %u while waiting for %llu",
				(unsigned long long)wc.wr_id, wc.status, (unsigned long long)wr_id);
			return -ECONNRESET;
		}
		t->stash[t->nb_stash++] = wc;
	} while (pmv_trial_now_ms() < end && !t->is_gone);
	if (ms == PMV_TRIAL_NEVER_MS || t->is_gone)
		pmv_trial_say(t, "no completion of request %llu%s", (unsigned long long)wr_id,
			t->is_gone ? ": the peer has disconnected" : "");
	return -ETIMEDOUT;
}

int
pmv_trial_message_expect(struct pmv_trial *t)
{
	return pmv_trial_side_recv(
		t, false, PMV_TRIAL_ID_RECV, PMV_TRIAL_RECV_AT, PMV_TRIAL_MESSAGE, 0);
}

int
pmv_trial_message_send(struct pmv_trial *t, uint32_t step)
{
	uint32_t words[4] = { htobe32(MAGIC), htobe32(step), htobe32(t->nb_failures),
		htobe32(t->key) };
	struct pmv_trial_wr wr = {
		.wr_id = PMV_TRIAL_ID_SEND,
		.opcode = PMV_TRIAL_SEND,
		.flags = PMV_TRIAL_SIGNALED,
		.at = PMV_TRIAL_SEND_AT,
		.length = PMV_TRIAL_MESSAGE,
	};

	memcpy(t->buf + PMV_TRIAL_SEND_AT, words, sizeof(words));
	return pmv_trial_side_send(t, &wr);
}

int
pmv_trial_message_sent(struct pmv_trial *t, uint32_t step)
{
	struct pmv_trial_wc wc;
	int ret = pmv_trial_wait(t, PMV_TRIAL_ID_SEND, PMV_TRIAL_NEVER_MS, &wc);

	if (ret != 0 || wc.status == 0)
		return ret;
	pmv_trial_say(t, "the message about step %u was not sent: status %u", step, wc.status);
	return -ECONNRESET;
}

int
pmv_trial_message_wait(struct pmv_trial *t, uint32_t step, struct pmv_trial_message *ret_msg)
{
	struct pmv_trial_wc wc;
	uint32_t words[4];
	int ret = pmv_trial_wait(t, PMV_TRIAL_ID_RECV, PMV_TRIAL_NEVER_MS, &wc);

	if (ret != 0)
		return ret;
	memcpy(words, t->buf + PMV_TRIAL_RECV_AT, sizeof(words));
	if (wc.status != 0 || wc.byte_len != PMV_TRIAL_MESSAGE || be32toh(words[0]) != MAGIC ||
		be32toh(words[1]) != step) {
		pmv_trial_say(t, "the message about step %u: status %u, %u bytes, step %u", step,
			wc.status, wc.byte_len, be32toh(words[1]));
		return -EPROTO;
	}
	*ret_msg = (struct pmv_trial_message){ be32toh(words[1]), be32toh(words[2]),
		be32toh(words[3]) };
	return 0;
}

static uint64_t
atomic_start(const struct pmv_trial_step *s)
{
	return 0xfedcba9876543210ull + s->number;
}

void
pmv_trial_atomic_operands(const struct pmv_trial_step *s, struct pmv_trial_wr *wr)
{
	if (s->opcode == PMV_TRIAL_FETCH_ADD) {
		wr->compare_add = s->variant == 0 ? PMV_TRIAL_ATOMIC_ADD : ADD_WRAPS;
		return;
	}
	wr->compare_add = atomic_start(s) + s->variant;
	wr->swap = ~atomic_start(s);
}

/* After k requests. Of several that compare and swap the first one swaps; the rest find it. */
uint64_t
pmv_trial_atomic_value(const struct pmv_trial_step *s, uint32_t k)
{
	if (s->opcode == PMV_TRIAL_FETCH_ADD)
		return atomic_start(s) + k * (s->variant == 0 ? PMV_TRIAL_ATOMIC_ADD : ADD_WRAPS);
	return s->variant == 0 && k > 0 ? ~atomic_start(s) : atomic_start(s);
}

bool
pmv_trial_ends_in_fault(const struct pmv_trial *t)
{
	return t->c->fault != PMV_TRIAL_NO_FAULT && !t->is_lossy;
}
