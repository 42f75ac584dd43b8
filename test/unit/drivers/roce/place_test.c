// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/place: bytes arrive where they belong and nowhere else, for every length and
 * alignment, from one segment and from chains. That they arrive in order and untorn is
 * sim/vis_order's to show.
 */
#include "drivers/roce/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/util/random.h"
#include "test/harness/guard_page.h"

#define LEN_MAX   1024u
#define ALIGN_MAX 128u
#define ROOM      (LEN_MAX + 3 * ALIGN_MAX)

struct rig {
	uint8_t src[ROOM];
	uint8_t want[ROOM] __attribute__((aligned(128)));
	uint8_t got[ROOM] __attribute__((aligned(128)));
	struct pmv_guard_page guard;
};

static struct rig *
rig_open(void)
{
	static struct rig rig;
	struct pmv_random rnd;

	pmv_random_init(&rnd, 3);
	for (uint32_t i = 0; i < ROOM; i++)
		rig.src[i] = (uint8_t)(pmv_random_next64(&rnd) % 255); /* never 0xff */
	pmv_guard_page_init(&rig.guard, 8192);
	return &rig;
}

/* Everything outside is 0xff still. */
static void
check(struct rig *r, uint32_t at, const uint8_t *src, uint32_t len)
{
	memset(r->want, 0xff, ROOM);
	memcpy(r->want + at, src, len);
	assert_memory_equal(r->got, r->want, ROOM);
}

static void
place_bytes__every_length_and_alignment(void **state)
{
	struct rig *r = rig_open();

	for (uint32_t len = 0; len <= LEN_MAX; len++)
		for (uint32_t align = 0; align < ALIGN_MAX; align++) {
			/* each alignment of the source too, in the course of the lengths */
			const uint8_t *src = r->src + (len * 7 + align * 3) % ALIGN_MAX;

			memset(r->got, 0xff, ROOM);
			pmv_roce_place_bytes(r->got + ALIGN_MAX + align, src, len);
			check(r, ALIGN_MAX + align, src, len);
		}
}

/* Neither a byte behind the source is read, nor one behind the destination written. */
static void
place_bytes__ends_at_a_page(void **state)
{
	struct rig *r = rig_open();
	struct pmv_guard_page to;

	pmv_guard_page_init(&to, 8192);
	for (uint32_t len = 0; len <= LEN_MAX; len++) {
		const uint8_t *src = pmv_guard_page_copy(&r->guard, r->src, len);

		memset(to.end - len, 0xff, len);
		pmv_roce_place_bytes(to.end - len, src, len);
		assert_memory_equal(to.end - len, r->src, len);
	}
}

/* Frames of one segment: the short way for one word, the long one for the rest. */
static void
place__one_segment(void **state)
{
	struct rig *r = rig_open();

	for (uint32_t len = 0; len <= 40; len++)
		for (uint32_t align = 0; align < ALIGN_MAX; align++)
			for (uint32_t off = 50; off < 60; off++) {
				struct rte_mbuf m = { .data_len = (uint16_t)(off + len + 4),
					.nb_segs = 1 };

				m.pkt_len = m.data_len;
				m.buf_addr = pmv_guard_page_copy(&r->guard, r->src, m.data_len);
				memset(r->got, 0xff, ROOM);
				pmv_roce_place(r->got + ALIGN_MAX + align, &m, off, len);
				check(r, ALIGN_MAX + align, r->src + off, len);
			}
}

/* Chains cut everywhere, an empty segment among them, each ending at a page that cannot be read. */
static void
place__chains(void **state)
{
	struct rig *r = rig_open();
	struct pmv_guard_page page[3];

	for (int i = 0; i < 3; i++)
		pmv_guard_page_init(&page[i], 4096);
	for (uint32_t len = 0; len <= 80; len += len < 20 ? 1 : 7)
		for (uint32_t align = 0; align < 17; align++)
			for (uint32_t cut = 7; cut <= 10 + len; cut++) {
				uint32_t cut2 = cut + (cut * 5 + align) % (11 + len - cut);
				const uint32_t at[5] = { 0, cut, cut, cut2, 10 + len };
				struct rte_mbuf m[4] = { { .nb_segs = 4 } };

				for (int i = 0; i < 4; i++) {
					m[i].data_len = (uint16_t)(at[i + 1] - at[i]);
					m[i].buf_addr =
						i == 1 ? page[0].end
						       : pmv_guard_page_copy(
								 &page[i > 1 ? i - 1 : 0],
								 r->src + at[i], m[i].data_len);
					m[i].next = i < 3 ? &m[i + 1] : NULL;
				}
				m[0].pkt_len = 10 + len;
				memset(r->got, 0xff, ROOM);
				pmv_roce_place(r->got + ALIGN_MAX + align, m, 10, len);
				check(r, ALIGN_MAX + align, r->src + 10, len);
			}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(place_bytes__every_length_and_alignment),
		cmocka_unit_test(place_bytes__ends_at_a_page),
		cmocka_unit_test(place__one_segment),
		cmocka_unit_test(place__chains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
