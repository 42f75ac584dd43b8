// SPDX-License-Identifier: BSD-3-Clause
/*
 * A witness of drivers/mlx5's barriers (W1) to (W4), as the compiler left them. Memory of a test is
 * cacheable, so nothing goes wrong here without a fence; so the driver is stepped through one
 * instruction after the other, and what each one changed is written down:
 *
 *   E  a byte of the queue entry       R  the doorbell record
 *   F  a store fence was executed      U  a byte of the doorbell register
 *
 * The register is plain memory (no trap). (W4) has no letter: the moment the completion queue's
 * record moves, all entries are overwritten, as the HCA may then do; what was polled must not
 * suffer. Built a second time without fences (no_fence.h), where the test must find them missing.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <rte_common.h>

#include <cmocka.h>

#include "drivers/mlx5/device.h"
#include "drivers/mlx5/driver.h"
#include "test/mlx5/driver_lab.h"

#define LETTERS_MAX 200
#define HALVES      512u /* bytes of a register */

struct watched {
	const uint8_t *at;
	uint32_t bytes;
	char letter;
	uint8_t before[HALVES];
};

static struct {
	struct watched watched[3];
	uint32_t nb_watched;
	const uint8_t *executed; /* the instruction that the next step ends */
	char letters[LETTERS_MAX + 1];
	uint32_t nb_letters;
	struct pmv_mlx5_cqe *overwrite; /* once the record moves; NULL: nothing */
	uint32_t nb_overwrite;
} witness;

static void
write_down(char letter)
{
	if (witness.nb_letters < LETTERS_MAX &&
		(witness.nb_letters == 0 || witness.letters[witness.nb_letters - 1] != letter))
		witness.letters[witness.nb_letters++] = letter;
}

static void
on_step(int signo, siginfo_t *info, void *context)
{
	static const uint8_t sfence[] = { 0x0f, 0xae, 0xf8 };
	const ucontext_t *uc = context;

	if (witness.executed != NULL && memcmp(witness.executed, sfence, sizeof(sfence)) == 0)
		write_down('F');
	for (uint32_t i = 0; i < witness.nb_watched; i++) {
		struct watched *w = &witness.watched[i];

		if (memcmp(w->before, w->at, w->bytes) == 0)
			continue;
		memcpy(w->before, w->at, w->bytes);
		write_down(w->letter);
		if (w->letter == 'R' && witness.overwrite != NULL)
			memset(witness.overwrite, 0xff,
				witness.nb_overwrite * sizeof(*witness.overwrite));
	}
	witness.executed = (const uint8_t *)(uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
}

static void
watch(char letter, const void *at, uint32_t bytes)
{
	struct watched *w = &witness.watched[witness.nb_watched++];

	assert_true(bytes <= HALVES);
	*w = (struct watched){ .at = at, .bytes = bytes, .letter = letter };
	memcpy(w->before, at, bytes);
}

/* Functions of their own: the flags go through the stack, below which a caller may keep things. */
static __rte_noinline void
steps_begin(void)
{
	__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static __rte_noinline void
steps_end(void)
{
	__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static void
clear(void)
{
	memset(&witness, 0, sizeof(witness));
}

/* What is wrong with the order of a send; NULL: nothing. */
static const char *
send_problem(const char *s)
{
	const char *record = strchr(s, 'R');
	const char *ring = strchr(s, 'U');

	if (s[0] != 'E' || record == NULL || ring == NULL || strchr(record + 1, 'R') != NULL)
		return "not an entry, one record and a ring";
	if (strchr(record, 'E') != NULL)
		return "(W1) the entry is not whole when the record tells of it";
	if (ring < record || memchr(record, 'F', (size_t)(ring - record)) == NULL)
		return "(W2) no fence between record and ring";
	if (strchr(strrchr(s, 'U'), 'F') == NULL)
		return "(W3) no fence behind the ring";
	return NULL;
}

static const char *
receive_problem(const char *s)
{
	return strcmp(s, "ER") == 0 ? NULL : "(W1) the record does not follow the entry";
}

/* The judge himself: each of them is refused for the right reason. */
static void
judge__sees_what_is_missing(void **state)
{
	assert_null(send_problem("ERFUF"));
	assert_null(send_problem("ERFUFUF"));
	assert_string_equal(send_problem("REFUF"), "not an entry, one record and a ring");
	assert_non_null(strstr(send_problem("EREFUF"), "W1"));
	assert_non_null(strstr(send_problem("ERFEUF"), "W1"));
	assert_non_null(strstr(send_problem("ERUF"), "W2"));
	assert_non_null(strstr(send_problem("EFRUF"), "W2"));
	assert_non_null(strstr(send_problem("EFUFR"), "W2"));
	assert_non_null(strstr(send_problem("ERFU"), "W3"));
	assert_non_null(strstr(send_problem("ERFUFU"), "W3"));
	assert_non_null(send_problem("ERF"));
	assert_non_null(send_problem("EFUF"));
	assert_null(receive_problem("ER"));
	assert_non_null(receive_problem("RE"));
	assert_non_null(receive_problem("ERE"));
}

static void
expect(const char *problem)
{
#ifdef PMV_MLX5_TEST_NO_FENCE
	/* The first one that is missed. */
	if (problem == NULL || strstr(problem, "W2") == NULL)
		fail_msg("%s: a driver without fences passes", witness.letters);
#else
	if (problem != NULL)
		fail_msg("%s: %s", witness.letters, problem);
#endif
}

/* Steps through a post, and the turn that rings where the post does not. */
static void
send_watched(uint32_t flags, uint32_t length, uint32_t nb)
{
	struct pmv_send_wr wr[4];
	struct pmv_sge sge;
	struct pmv_wc wc[4];
	struct pmv_mlx5_sq *sq;
	struct lab lab;

	lab_open(&lab);
	sge = (struct pmv_sge){ (uintptr_t)lab.end[0].buf, length, pmv_mr_lkey(lab.end[0].mr) };
	memset(lab.end[0].buf, 0x5a, length);
	for (uint32_t i = 0; i < nb; i++)
		wr[i] = (struct pmv_send_wr){ .sg_list = &sge,
			.num_sge = 1,
			.opcode = PMV_WR_RDMA_WRITE,
			.send_flags = PMV_SEND_SIGNALED | flags,
			.wr.rdma = { (uintptr_t)lab.end[1].buf, pmv_mr_rkey(lab.end[1].mr) } };
	sq = &pmv_mlx5_qp(lab.end[0].qp)->sq;
	clear();
	watch('E', sq->buf, nb * PMV_MLX5_BLOCK_BYTES);
	watch('R', sq->record, sizeof(*sq->record));
	watch('U', sq->uar->reg, HALVES);
	steps_begin();
	pmv_post_send(lab.end[0].qp, wr, nb);
	pmv_worker_flush(lab.end[0].worker);
	steps_end();
	expect(send_problem(witness.letters));
	pmv_mlx5m_run();
	assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, wc, 4), nb);
	assert_int_equal(lab.end[1].buf[length - 1], 0x5a);
	lab_close(&lab);
}

static void
send__entry(void **state)
{
	send_watched(0, 64, 1);
}

static void
send__inline_entry(void **state)
{
	send_watched(PMV_SEND_INLINE, 27, 1);
}

static void
send__list(void **state)
{
	send_watched(0, 64, 3);
}

static void
send__word(void **state)
{
	send_watched(PMV_SEND_INLINE, 8, 1);
}

static void
send__word_at_once(void **state)
{
	send_watched(PMV_SEND_INLINE | PMV_SEND_FLUSH, 8, 1);
}

static void
receive__entry(void **state)
{
	const char *problem;
	struct pmv_mlx5_rq *rq;
	struct lab lab;

	lab_open(&lab);
	rq = &pmv_mlx5_qp(lab.end[0].qp)->rq;
	clear();
	watch('E', rq->buf, rq->stride);
	watch('R', rq->record, sizeof(*rq->record));
	steps_begin();
	lab_recv(&lab.end[0], lab.end[0].qp, 1, 64, 64);
	steps_end();
	problem = receive_problem(witness.letters);
	if (problem != NULL)
		fail_msg("%s: %s", witness.letters, problem);
	lab_close(&lab);
}

/* (W4), on the run and on the single entry. */
static void
poll__reads_before_the_record(void **state)
{
	static struct pmv_mlx5_cqe kept[4 * LAB_DEPTH];
	struct pmv_send_wr wr = { .opcode = PMV_WR_RDMA_WRITE, .send_flags = PMV_SEND_SIGNALED };
	struct pmv_mlx5_cq *cq;
	struct pmv_wc wc[5];
	uint32_t nb;
	struct lab lab;

	lab_open(&lab);
	cq = (struct pmv_mlx5_cq *)lab.end[0].send_cq;
	assert_true(cq->mask < RTE_DIM(kept));
	wr.wr.rdma.remote_addr = (uintptr_t)lab.end[1].buf;
	wr.wr.rdma.rkey = pmv_mr_rkey(lab.end[1].mr);
	for (uint32_t i = 0; i < 5; i++) {
		wr.wr_id = 100 + i;
		lab_send(&lab.end[0], lab.end[0].qp, &wr, 0, 8);
	}
	lab_run(&lab, 0);
	memcpy(kept, cq->buf, (cq->mask + 1) * sizeof(kept[0]));
	clear();
	watch('R', cq->record, sizeof(*cq->record));
	witness.overwrite = cq->buf;
	witness.nb_overwrite = cq->mask + 1;
	steps_begin();
	nb = pmv_poll_cq(lab.end[0].send_cq, wc, 5);
	steps_end();
	assert_string_equal(witness.letters, "R");
	assert_int_equal(nb, 5);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(wc[i].wr_id, 100 + i);
		assert_int_equal(wc[i].status, PMV_WC_SUCCESS);
		assert_int_equal(wc[i].opcode, PMV_WC_RDMA_WRITE);
		assert_int_equal(wc[i].qp_num, pmv_qp_num(lab.end[0].qp));
	}
	memcpy(cq->buf, kept, (cq->mask + 1) * sizeof(kept[0]));
	lab_close(&lab);
}

static int
start(void **state)
{
	struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	/* Where the archive is not linked whole, this names the driver. */
	if (strcmp(pmv_mlx5_driver.name, "mlx5") != 0 || setenv("PMV_MLX5M_TRAP", "0", 1) != 0)
		return -1;
	return sigaction(SIGTRAP, &action, NULL) != 0 ? -1 : lab_start(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(judge__sees_what_is_missing),
		cmocka_unit_test(send__entry),
		cmocka_unit_test(send__inline_entry),
		cmocka_unit_test(send__list),
		cmocka_unit_test(send__word),
		cmocka_unit_test(send__word_at_once),
		cmocka_unit_test(receive__entry),
		cmocka_unit_test(poll__reads_before_the_record),
	};

	return cmocka_run_group_tests(tests, start, lab_stop);
}
