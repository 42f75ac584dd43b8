// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as an ARP or ND frame. The ND checksum is made right first. What is accepted is built
 * again and must be read the same; it is judged, answered, and told to a small neighbour cache that
 * lives through all inputs.
 */
#include <stdlib.h>
#include <string.h>

#include "cm/inet_sum.h"
#include "cm/neigh_proto.h"
#include "lib/wire/eth_ip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NB_ENTRIES 16

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static void
checksum_repair(uint8_t *frame, size_t len)
{
	size_t l3 = 14, bytes;

	if (len >= 18 && pmv_be16_load(frame + 12) == PMV_ETHERTYPE_VLAN)
		l3 = 18;
	if (len < l3 + 44 || pmv_be16_load(frame + l3 - 2) != PMV_ETHERTYPE_IPV6)
		return;
	bytes = pmv_be16_load(frame + l3 + 4);
	if (bytes < 4 || bytes > len - l3 - 40)
		return;
	pmv_be16_store(frame + l3 + 42, 0);
	pmv_be16_store(frame + l3 + 42,
		pmv_cm_inet_sum_fold(pmv_cm_inet_sum_add(
			pmv_cm_inet_sum_pseudo6(frame + l3 + 8, (uint16_t)bytes, 58),
			frame + l3 + 40, bytes)));
}

static void
rebuild(const struct pmv_cm_neigh_msg *m)
{
	uint8_t frame[PMV_CM_NEIGH_FRAME_MAX];
	struct pmv_cm_neigh_msg again;
	int len = pmv_cm_neigh_proto_build(m, frame, sizeof(frame));

	must(len >= (int)PMV_CM_NEIGH_FRAME_MIN && len <= (int)PMV_CM_NEIGH_FRAME_MAX);
	must(pmv_cm_neigh_proto_parse(frame, (size_t)len, &again) == PMV_CM_NEIGH_OK);
	must(again.kind == m->kind && again.vlan == m->vlan && again.has_mac == m->has_mac);
	must(again.solicited == m->solicited && again.override == m->override);
	must(memcmp(again.sender_ip, m->sender_ip, 16) == 0);
	must(memcmp(again.target_ip, m->target_ip, 16) == 0);
	must(memcmp(again.sender_mac, m->sender_mac, 6) == 0);
}

static void
answer(const struct pmv_cm_neigh_msg *m)
{
	struct pmv_cm_neigh_self self = { .mac = { 2, 0, 0, 0, 0, 1 } };
	struct pmv_cm_neigh_msg reply, again;
	uint8_t frame[PMV_CM_NEIGH_FRAME_MAX];
	int len;

	memcpy(self.ip, m->target_ip, 16);
	pmv_cm_neigh_proto_answer(&self, m, &reply);
	len = pmv_cm_neigh_proto_build(&reply, frame, sizeof(frame));
	must(len > 0);
	/* An answer of ours is one that we would take ourselves. */
	must(pmv_cm_neigh_proto_parse(frame, (size_t)len, &again) == PMV_CM_NEIGH_OK);
}

static void
cache(const struct pmv_cm_neigh_msg *m, const struct pmv_cm_neigh_judgement *j)
{
	static uint64_t mem[1024];
	static struct pmv_cm_neigh n;
	static uint64_t now;
	static const struct pmv_cm_hash_key secret = { { 3, 4 } };
	struct pmv_cm_neigh_key key = { .vlan = m->vlan };
	struct pmv_cm_neigh_out out;

	if (n.nb_max == 0)
		must(pmv_cm_neigh_init(&n, mem, sizeof(mem), NB_ENTRIES, 1, &secret) == 0);
	memcpy(key.ip, m->sender_ip, 16);
	now += 100000;
	if (j->learn)
		pmv_cm_neigh_packet(&n, &key, m->sender_mac, j->seen, now, &out);
	while (pmv_cm_neigh_step(&n, now, &out))
		;
	must(n.nb <= NB_ENTRIES);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct pmv_cm_neigh_self self = { .mac = { 2, 0, 0, 0, 0, 1 },
		.ip = { [10] = 0xff, [11] = 0xff, 10, 9, 0, 1 } };
	struct pmv_cm_neigh_judgement j;
	struct pmv_cm_neigh_msg m;
	uint8_t *frame;

	if (size == 0 || size > 2048)
		return 0;
	frame = malloc(size); /* its end is guarded */
	must(frame != NULL);
	memcpy(frame, data, size);
	checksum_repair(frame, size);
	if (pmv_cm_neigh_proto_parse(frame, size, &m) == PMV_CM_NEIGH_OK) {
		rebuild(&m);
		if (m.kind == PMV_CM_ARP_REQUEST || m.kind == PMV_CM_ND_SOLICIT)
			answer(&m);
		j = pmv_cm_neigh_proto_judge(&self, &m);
		cache(&m, &j);
	}
	free(frame);
	return 0;
}
