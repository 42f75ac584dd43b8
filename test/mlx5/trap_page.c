// SPDX-License-Identifier: BSD-3-Clause
/*
 * The fault handler and the table of pages that it looks into. Runs on the thread that stores,
 * synchronously, inside library code that holds none of the model's locks; so it may take them.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "test/mlx5/trap_decode.h"
#include "test/mlx5/trap_page.h"
#include "test/mlx5/trap_signal.h"
#include "test/mlx5/trap_uar.h"

#define MAPPED_MAX 256

/* Intel SDM volume 1, 13.4: the standard XSAVE area, as the kernel puts it on the stack. */
#define XSAVE_SW_BYTES  464
#define XSAVE_SW_MAGIC  0x46505853u
#define XSAVE_XSTATE_BV 512
#define XSAVE_YMM_HIGH  576
#define XSAVE_YMM_BIT   4u

struct mapped {
	const uint8_t *user;
	struct pmv_mlx5m_page *page;
};

static struct mapped mapped[MAPPED_MAX];

/* Order of struct sigcontext against the numbers in instructions. */
static const int greg_of[16] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI,
	REG_RDI, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };

int
pmv_mlx5m_page_create(struct pmv_mlx5m_context *ctx, uint32_t index, uint64_t offset)
{
	struct pmv_mlx5m_page *page;
	uint32_t i;
	void *alias;

	if (index >= PMV_MLX5M_PAGES || ctx->page[index] != NULL)
		return -EINVAL;
	alias = mmap(NULL, PMV_MLX5M_UAR_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, ctx->fd,
		(off_t)offset);
	if (alias == MAP_FAILED)
		return -errno;
	page = calloc(1, sizeof(*page));
	if (page == NULL) {
		munmap(alias, PMV_MLX5M_UAR_BYTES);
		return -ENOMEM;
	}
	page->ctx = ctx;
	page->index = index;
	page->offset = offset;
	page->alias = alias;
	for (i = 0; i < PMV_MLX5M_BF_PER_PAGE; i++)
		page->bf[i].half = 2; /* of the ring before the first: none */
	ctx->page[index] = page;
	return 0;
}

void
pmv_mlx5m_page_destroy(struct pmv_mlx5m_page *page)
{
	unsigned int i;

	for (i = 0; i < MAPPED_MAX; i++) {
		if (mapped[i].page == page)
			mapped[i].user = NULL;
	}
	munmap(page->alias, PMV_MLX5M_UAR_BYTES);
	page->ctx->page[page->index] = NULL;
	free(page);
}

struct pmv_mlx5m_page *
pmv_mlx5m_page_find(const struct pmv_mlx5m_context *ctx, uint32_t index)
{
	return index < PMV_MLX5M_PAGES ? ctx->page[index] : NULL;
}

void
pmv_mlx5m_page_mapped(struct pmv_mlx5m_page *page, const uint8_t *user)
{
	unsigned int i;

	page->user = user;
	for (i = 0; i < MAPPED_MAX; i++) {
		if (mapped[i].user == NULL) {
			mapped[i].page = page;
			mapped[i].user = user;
			return;
		}
	}
	fprintf(stderr, "mlx5 model: more than %d UAR pages are mapped\n", MAPPED_MAX);
	abort();
}

void
pmv_mlx5m_page_unmapped(const void *address)
{
	unsigned int i;

	for (i = 0; i < MAPPED_MAX; i++) {
		if (mapped[i].user == address)
			mapped[i].user = NULL;
	}
}

static struct pmv_mlx5m_page *
find_mapped(uintptr_t address, uint32_t *ret_offset)
{
	unsigned int i;

	for (i = 0; i < MAPPED_MAX; i++) {
		uintptr_t offset = address - (uintptr_t)mapped[i].user;

		if (mapped[i].user != NULL && offset < PMV_MLX5M_UAR_BYTES) {
			*ret_offset = (uint32_t)offset;
			return mapped[i].page;
		}
	}
	return NULL;
}

static void
read_vector(const ucontext_t *uc, uint8_t number, uint8_t data[32])
{
	const uint8_t *area = (const uint8_t *)uc->uc_mcontext.fpregs;
	uint32_t magic;
	uint64_t present = 0;

	memset(data, 0, 32);
	memcpy(data, &uc->uc_mcontext.fpregs->_xmm[number], 16);
	memcpy(&magic, area + XSAVE_SW_BYTES, sizeof(magic));
	if (magic == XSAVE_SW_MAGIC)
		memcpy(&present, area + XSAVE_XSTATE_BV, sizeof(present));
	/* A part that is not present has its initial value, zero. */
	if (present & XSAVE_YMM_BIT)
		memcpy(data + 16, area + XSAVE_YMM_HIGH + 16u * number, 16);
}

static void
read_source(const ucontext_t *uc, const struct pmv_mlx5m_store *s, uint8_t data[32])
{
	uint64_t value = s->immediate;

	switch (s->source) {
	case PMV_MLX5M_FROM_VECTOR:
		read_vector(uc, s->number, data);
		return;
	case PMV_MLX5M_FROM_VECTOR_HIGH:
		read_vector(uc, s->number, data);
		memmove(data, data + 8, 8);
		return;
	case PMV_MLX5M_FROM_REGISTER:
		value = (uint64_t)uc->uc_mcontext.gregs[greg_of[s->number]];
		break;
	case PMV_MLX5M_FROM_HIGH_BYTE:
		value = (uint64_t)uc->uc_mcontext.gregs[greg_of[s->number]] >> 8;
		break;
	case PMV_MLX5M_FROM_IMMEDIATE:
		break;
	}
	memcpy(data, &value, sizeof(value));
}

/* Nothing can go on from here: the next store would not be known either. */
static void
refuse(const uint8_t *code, uint32_t offset)
{
	char text[160];
	int nb;

	nb = snprintf(text, sizeof(text),
		"mlx5 model: access to UAR offset %#x by an instruction that is no plain store:"
		" %02x %02x %02x %02x %02x %02x %02x %02x\n",
		offset, code[0], code[1], code[2], code[3], code[4], code[5], code[6], code[7]);
	if (write(STDERR_FILENO, text, (size_t)nb) < 0)
		_exit(127);
	abort();
}

static void
on_fault(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	const uint8_t *code = (const uint8_t *)(uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
	struct pmv_mlx5m_store store;
	struct pmv_mlx5m_page *page;
	uint8_t data[32];
	uint32_t offset;
	int saved = errno;

	/* A fault of the model itself: nobody could go on with its lock held. */
	if (pmv_mlx5m_locked()) {
		pmv_mlx5m_signal_give_up();
		return;
	}
	pmv_mlx5m_lock();
	page = find_mapped((uintptr_t)info->si_addr, &offset);
	if (page == NULL) {
		pmv_mlx5m_unlock();
		pmv_mlx5m_signal_hand_on(signo, info, context);
		return;
	}
	if (!pmv_mlx5m_trap_decode(code, &store))
		refuse(code, offset);
	read_source(uc, &store, data);
	pmv_mlx5m_uar_store(page, offset, data, store.bytes);
	pmv_mlx5m_unlock();
	uc->uc_mcontext.gregs[REG_RIP] += store.length;
	errno = saved;
}

int
pmv_mlx5m_trap_install(void)
{
	return pmv_mlx5m_signal_take(on_fault);
}

void
pmv_mlx5m_trap_remove(void)
{
	pmv_mlx5m_signal_release();
}
