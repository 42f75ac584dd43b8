// SPDX-License-Identifier: BSD-3-Clause
/*
 * What requester and responder share: messages, completions, expectations, the layout of a step in
 * the buffer. Called by requester.c and responder.c; one thread.
 */
#ifndef PMV_TEST_TRIAL_TALK_H
#define PMV_TEST_TRIAL_TALK_H

#include "test/system/trial/trial.h"

/* wr_ids: 0.. are the operations of a step. */
#define PMV_TRIAL_ID_SEND 100u
#define PMV_TRIAL_ID_RECV 101u
#define PMV_TRIAL_ID_DATA 102u
#define PMV_TRIAL_ID_KEY  103u

#define PMV_TRIAL_MESSAGE   16u /* bytes */
#define PMV_TRIAL_GRH       40u
#define PMV_TRIAL_GUARD     32u
#define PMV_TRIAL_BLANK     0xee
#define PMV_TRIAL_ATOMIC_AT 64u
#define PMV_TRIAL_RESULT_AT 128u
#define PMV_TRIAL_NEVER_MS  60000u

struct pmv_trial_message {
	uint32_t step;
	uint32_t nb_failures; /* of the responder, so far */
	uint32_t key;         /* of the responder's window for this step; 0: none */
};

/* Where the first message of a step lies, at both ends. */
uint32_t pmv_trial_data_at(const struct pmv_trial *t, const struct pmv_trial_step *s);
/* Bytes of a first SGE: every other step has two. */
uint32_t pmv_trial_split(const struct pmv_trial_step *s, uint32_t length);
void pmv_trial_blank(struct pmv_trial *t, const struct pmv_trial_step *s);
/* Says if the messages of a step, or the blank bytes around them, are not as they must be. */
void pmv_trial_check_data(struct pmv_trial *t, const struct pmv_trial_step *s);

/* Counts and says a difference. */
void pmv_trial_expect(struct pmv_trial *t, const struct pmv_trial_step *s, const char *what,
	uint64_t expected, uint64_t seen);

/* Waits for a completion; others are kept for later. @return 0; -ETIMEDOUT, said unless `ms` is
 * shorter than for ever; -ECONNRESET, said: the queue pair is in error. */
int pmv_trial_wait(struct pmv_trial *t, uint64_t wr_id, uint32_t ms, struct pmv_trial_wc *ret_wc);

/* Messages over the connection. @return 0; a negative errno after it has said why. */
/* The message tells t->key if the case has windows. */
int pmv_trial_message_expect(struct pmv_trial *t);
int pmv_trial_message_send(struct pmv_trial *t, uint32_t step);
/* Waits until the peer has acknowledged it. */
int pmv_trial_message_sent(struct pmv_trial *t, uint32_t step);
int pmv_trial_message_wait(struct pmv_trial *t, uint32_t step, struct pmv_trial_message *ret_msg);

/* Atomics: what is there before, what request k brings home and what is there in the end. */
void pmv_trial_atomic_operands(const struct pmv_trial_step *s, struct pmv_trial_wr *wr);
uint64_t pmv_trial_atomic_value(const struct pmv_trial_step *s, uint32_t k);

/* Not when packets are lost: rxe says no once only, and its requester asks for ever (retry_cnt 7).
 */
bool pmv_trial_ends_in_fault(const struct pmv_trial *t);

void pmv_trial_requester_run(struct pmv_trial *t);
void pmv_trial_responder_run(struct pmv_trial *t);

#endif
