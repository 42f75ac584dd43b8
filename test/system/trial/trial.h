// SPDX-License-Identifier: BSD-3-Clause
/*
 * A trial: one connection over which the requester runs the steps of a case, and after each of them
 * both ends look at completions and memory. Shared by the guest's program (linux_side.c) and ours
 * (our_side.c), which stand below it as one `side`; one thread.
 *
 * Protocol: the private data of REQ and REP hold a place. The responder prepares a step and tells
 * so with a SEND, which also says how the step before went; the requester runs the step, looks at
 * its own half and sends "over"; the responder looks at the other half, and so on.
 */
#ifndef PMV_TEST_TRIAL_TRIAL_H
#define PMV_TEST_TRIAL_TRIAL_H

#include "test/system/trial/table.h"

/* The buffer of a side, one region: data with blank bytes around it, then messages. */
#define PMV_TRIAL_DATA_BYTES  (PMV_TRIAL_BYTES_MAX + 4096)
#define PMV_TRIAL_SEND_AT     PMV_TRIAL_DATA_BYTES
#define PMV_TRIAL_RECV_AT     (PMV_TRIAL_DATA_BYTES + 64)
#define PMV_TRIAL_BUF_BYTES   (PMV_TRIAL_DATA_BYTES + 4096)
#define PMV_TRIAL_PLACE_BYTES 32u
#define PMV_TRIAL_INLINE_MAX  64u
#define PMV_TRIAL_WR_MAX      16u
#define PMV_TRIAL_RD_ATOMIC   4u
#define PMV_TRIAL_QKEY        0x11223344u
/* Eight bytes in the data, behind what any step uses: written through a window before SEND_INV. */
#define PMV_TRIAL_PROBE_AT (PMV_TRIAL_DATA_BYTES - 64)
/* 67 ms: a lost packet without followers costs so much, not the two seconds of the CM's proposal.
 */
#define PMV_TRIAL_ACK_TIMEOUT 14u
#define PMV_TRIAL_STASH_MAX   8u

/* What a side tells the other when they connect. */
struct pmv_trial_place {
	uint64_t addr;
	uint32_t rkey;
	uint32_t bytes;
	uint32_t qpn; /* UC, UD: the data queue pair */
	uint32_t psn;
};

enum pmv_trial_flags {
	PMV_TRIAL_SIGNALED = 1 << 1,
	PMV_TRIAL_SOLICITED = 1 << 2,
	PMV_TRIAL_INLINE = 1 << 3,
};

struct pmv_trial_wr {
	bool on_data; /* the data queue pair; RC: there is one queue pair for everything */
	uint64_t wr_id;
	enum pmv_trial_opcode opcode;
	uint32_t flags;
	uint32_t at;     /* offset in our buffer */
	uint32_t length; /* bytes */
	uint32_t split;  /* bytes of a first SGE; 0: all in one */
	uint32_t imm;    /* host order */
	uint64_t remote_addr;
	uint32_t rkey;
	uint64_t compare_add;
	uint64_t swap;
	uint32_t inv_key; /* SEND_INV */
};

struct pmv_trial_wc {
	uint64_t wr_id;
	uint32_t status;
	uint32_t opcode;
	uint32_t byte_len;
	uint32_t flags;
	uint32_t imm;     /* host order */
	uint32_t inv_key; /* with WC_WITH_INV, instead of imm */
	uint32_t src_qp;
	bool tells_solicited; /* this side's completions say whether the sender set the bit */
	bool solicited;
};

struct pmv_trial {
	const struct pmv_trial_case *c;
	bool is_client; /* it connects */
	bool is_requester;
	bool is_lossy;
	const char *address; /* the server's */
	uint16_t port;
	uint8_t *buf; /* PMV_TRIAL_BUF_BYTES, the side's */
	struct pmv_trial_place mine;
	struct pmv_trial_place peer;
	uint8_t grh_src[16]; /* UD: addresses that the network header of a message must show */
	uint8_t grh_dst[16];
	bool is_v6;
	bool is_gone;         /* the peer has disconnected */
	uint32_t nb_failures; /* said by say() */
	uint32_t nb_lost;     /* unreliable messages that did not arrive */
	bool has_recv;        /* unreliable: a receive is waiting */
	uint32_t key;         /* of the last window that was bound: the peer's, or ours */
	/* How a SEND longer than the receive ends: here as responder, and as requester of the peer.
	 * LOC_LEN_ERR and REM_INV_REQ_ERR (IBTA vol. 1, 9.9.3); with rxe as responder LOC_QP_OP_ERR
	 * and REM_OP_ERR (6.1, send_data_in). */
	uint32_t short_recv_status;
	uint32_t long_send_status;
	struct pmv_trial_wc stash[PMV_TRIAL_STASH_MAX];
	uint32_t nb_stash;
};

/* What a side offers. @return 0; a negative errno after it has said why. */
int pmv_trial_side_send(struct pmv_trial *t, const struct pmv_trial_wr *wr);
/* `on_data` as of a wr; the SRQ, if there is one, is the data queue pair's. */
int pmv_trial_side_recv(struct pmv_trial *t, bool on_data, uint64_t wr_id, uint32_t at,
	uint32_t length, uint32_t split);
/* Binds the window, which grants nothing now, to the data of the buffer, under a new key. */
int pmv_trial_side_bind(struct pmv_trial *t, uint64_t wr_id, uint32_t *ret_key);
/* Takes the key of the window back. */
int pmv_trial_side_invalidate(struct pmv_trial *t, uint64_t wr_id, uint32_t key);
/* @return 1 a completion; 0 none so far. Sets is_gone. */
int pmv_trial_side_poll(struct pmv_trial *t, struct pmv_trial_wc *ret_wc);

/* Counts a failure and prints it: one line. */
void pmv_trial_say(struct pmv_trial *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Reads the command line. @return 0; -EINVAL after it has said why. */
int pmv_trial_parse(struct pmv_trial *t, int argc, char **argv);
void pmv_trial_place_build(const struct pmv_trial_place *place, uint8_t *bytes);
void pmv_trial_place_parse(const uint8_t *bytes, struct pmv_trial_place *ret_place);
/* The connection's path MTU, as a code, is that of the case. */
void pmv_trial_check_mtu(struct pmv_trial *t, uint32_t code);
uint64_t pmv_trial_now_ms(void);

/* Runs all steps over the established connection, either role. */
void pmv_trial_run(struct pmv_trial *t);
/* Prints the sum. @return the exit status: 0 only if everything was as expected. */
int pmv_trial_finish(struct pmv_trial *t);

#endif
