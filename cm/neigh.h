// SPDX-License-Identifier: BSD-3-Clause
/* The list below is laid out by hand. */
/* clang-format off */
/*
 * The neighbour cache of one device: which MAC belongs to an on-link IP address (as GID) in a VLAN.
 * One machine for ARP and ND (RFC 826, RFC 4861 7.3), pure: calls and packets in, frames to send
 * and changes out, `now` in ticks of the caller.
 *
 * Called by cm/route (resolve, pin) and cm/loop (packets, step), control lcore. Memory is the
 * caller's, nothing is allocated. Frames are built and read by cm/neigh_proto; next-hop choice
 * (gateway) is cm/route's.
 *
 *   INCOMPLETE  no MAC yet; broadcasts at 0, 0.25, 0.75 s, then each second, until the last
 *               waiter's deadline -> FAILED
 *   REACHABLE   confirmed within 30 s by an answer to our own request or by valid traffic of a
 *               connection
 *   STALE       a MAC is known (usable at once), nobody confirmed it lately; asked by unicast when
 *               used or pinned
 *   PROBE       MAC usable; unicast each second x 3, then one broadcast -> FAILED
 *   CHALLENGE   another MAC claims the address: the known one is asked first, and only if it stays
 *               silent the new one, by unicast; who answers that wins. Until then the known MAC
 *               stays in use.
 *   FAILED      no answer. The last MAC is kept (RC retries decide about connections, not we);
 *               pinned entries are asked again every 5 s, others are forgotten after the hold-off
 *   PERMANENT   set by the application; never asked, changed or evicted
 *
 * Only an entry that nobody waits for and nobody has pinned is ever evicted; entries that were made
 * from other hosts' requests ("learned") never push out entries that we asked for.
 */
/* clang-format on */
#ifndef PMV_CM_NEIGH_H
#define PMV_CM_NEIGH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cm/hash.h"

#define PMV_CM_NEIGH_NONE UINT32_MAX

enum pmv_cm_neigh_state {
	PMV_CM_NEIGH_FREE,
	PMV_CM_NEIGH_INCOMPLETE,
	PMV_CM_NEIGH_REACHABLE,
	PMV_CM_NEIGH_STALE,
	PMV_CM_NEIGH_PROBE,
	PMV_CM_NEIGH_CHALLENGE,
	PMV_CM_NEIGH_FAILED,
	PMV_CM_NEIGH_PERMANENT,
	PMV_CM_NEIGH_STATE_MAX,
};

struct pmv_cm_neigh_key {
	uint8_t ip[16]; /* GID form, never multicast */
	uint16_t vlan;  /* 0 = untagged */
};

/*
 * Somebody who waits for an answer; embed it in your record. Owned by the cache from a resolve that
 * returns -EINPROGRESS until pmv_cm_neigh_done_pop() returns it or pmv_cm_neigh_cancel(). Zero it
 * before its first use.
 */
struct pmv_cm_neigh_waiter {
	struct pmv_cm_neigh_waiter *next;  /* the cache's */
	struct pmv_cm_neigh_waiter **prev; /* the cache's; NULL = not queued */
	uint64_t deadline;                 /* the cache's, ticks */
	uint32_t entry; /* result: with err 0 the entry, holding one reference for the waiter */
	int err;        /* result: 0, or -ETIMEDOUT; -EINPROGRESS while it waits */
};

struct pmv_cm_neigh_entry {
	struct pmv_cm_neigh_key key;
	uint8_t mac[6];       /* valid if has_mac */
	uint8_t candidate[6]; /* CHALLENGE: who claims the address */
	uint8_t state;        /* enum pmv_cm_neigh_state */
	uint8_t nb_sent;      /* requests of the running round */
	bool has_mac;
	bool challenge_new; /* CHALLENGE: the old MAC was silent, the new one is being asked */
	bool learned;       /* made from a request of the peer, never asked for by us */
	uint32_t refs;
	uint32_t hash_next;
	uint64_t due;         /* next request or change of state; UINT64_MAX = none */
	uint64_t waiters_due; /* earliest deadline of a waiter; UINT64_MAX = none */
	uint64_t touched;     /* last use or packet: order of eviction */
	struct pmv_cm_neigh_waiter *waiters;
};

/* What the shell has to do after a call. */
enum pmv_cm_neigh_do {
	PMV_CM_NEIGH_DO_BROADCAST, /* ARP request to ff:ff..., NS to the solicited-node group */
	PMV_CM_NEIGH_DO_UNICAST,   /* the same to `mac` */
	PMV_CM_NEIGH_DO_CHANGED,   /* a pinned entry has a (new) MAC: tell next hops */
	PMV_CM_NEIGH_DO_LOST,      /* no answer; next hops keep the last MAC if there was one */
};

struct pmv_cm_neigh_action {
	uint8_t what;   /* enum pmv_cm_neigh_do */
	uint8_t mac[6]; /* UNICAST: destination; CHANGED: the MAC */
	uint32_t entry;
	struct pmv_cm_neigh_key key;
};

#define PMV_CM_NEIGH_OUT_MAX 32u

/* Filled anew by each call that takes it. */
struct pmv_cm_neigh_out {
	uint32_t nb;
	struct pmv_cm_neigh_action action[PMV_CM_NEIGH_OUT_MAX];
};

/* Holds pointers into itself: do not copy or move it after init. */
struct pmv_cm_neigh {
	struct pmv_cm_neigh_entry *entries;
	uint32_t *buckets; /* first entry, PMV_CM_NEIGH_NONE */
	uint32_t bucket_mask;
	uint32_t nb_max;
	uint32_t nb;         /* entries in use */
	uint32_t free_first; /* chained through hash_next */
	uint32_t cursor;     /* step(): where the running round over the table is */
	uint64_t next_due;   /* no entry is due before; may be too early, never too late */
	uint64_t round_due;  /* the same for what the running round has passed */
	uint64_t ticks_per_us;
	struct pmv_cm_hash_key hash_key;
	struct pmv_cm_neigh_waiter *done; /* results to be fetched */
	struct pmv_cm_neigh_waiter **done_tail;
};

/* What a packet says about its sender (pmv_cm_neigh_proto tells). */
enum pmv_cm_neigh_seen {
	PMV_CM_NEIGH_SEEN_REQUEST,       /* it asks for an address of ours: may create an entry */
	PMV_CM_NEIGH_SEEN_ANSWER,        /* unicast ARP reply, NA with S: answers our request */
	PMV_CM_NEIGH_SEEN_ANNOUNCE,      /* gratuitous ARP, broadcast reply, NA without S */
	PMV_CM_NEIGH_SEEN_ANSWER_WEAK,   /* NA with S but without O: confirms, never replaces */
	PMV_CM_NEIGH_SEEN_ANNOUNCE_WEAK, /* NA without S and O */
};

/* Bytes for nb_max entries (1..65536); 0 for a number out of range. */
size_t pmv_cm_neigh_bytes(uint32_t nb_max);

/* @param mem  aligned to 8, the caller's. @return 0; -EINVAL a number out of range or too little
 * memory. */
int pmv_cm_neigh_init(struct pmv_cm_neigh *n, void *mem, size_t mem_bytes, uint32_t nb_max,
	uint64_t ticks_per_us, const struct pmv_cm_hash_key *key);

/*
 * Asks for an address.
 * @param deadline  ticks; @param w  not queued.
 * @return 0: known, w->entry holds one reference of the caller (drop it with unpin), its MAC is to
 * be used, w is not queued; -EINPROGRESS: w waits, its result comes by pmv_cm_neigh_done_pop();
 * -ENOSPC: the table is full of entries in use; -EINVAL: not a unicast address.
 */
int pmv_cm_neigh_resolve(struct pmv_cm_neigh *n, const struct pmv_cm_neigh_key *key, uint64_t now,
	uint64_t deadline, struct pmv_cm_neigh_waiter *w, struct pmv_cm_neigh_out *out);

/* Stops waiting. If w was resolved but not yet fetched, its reference is dropped. Harmless if w is
 * not queued. */
void pmv_cm_neigh_cancel(struct pmv_cm_neigh *n, struct pmv_cm_neigh_waiter *w, uint64_t now);

/* @return the next waiter with a result, NULL. Call it after every call that takes `out`. */
struct pmv_cm_neigh_waiter *pmv_cm_neigh_done_pop(struct pmv_cm_neigh *n);

/* One more, one less reference (a QP, an AH, a route). A pinned entry keeps its index and is never
 * evicted. */
void pmv_cm_neigh_pin(struct pmv_cm_neigh *n, uint32_t entry);
void pmv_cm_neigh_unpin(struct pmv_cm_neigh *n, uint32_t entry, uint64_t now);

/* A packet told (key.ip, mac). mac: the sender's link address out of the message, unicast, not
 * ours. */
void pmv_cm_neigh_packet(struct pmv_cm_neigh *n, const struct pmv_cm_neigh_key *key,
	const uint8_t mac[6], enum pmv_cm_neigh_seen seen, uint64_t now,
	struct pmv_cm_neigh_out *out);

/* Valid traffic of a connection came from this entry's MAC: the confirmation that a kernel does not
 * have. */
void pmv_cm_neigh_confirm(
	struct pmv_cm_neigh *n, uint32_t entry, const uint8_t mac[6], uint64_t now);

/*
 * Time passed. Does at most PMV_CM_NEIGH_OUT_MAX actions. @return true: call again at once, there
 * is more.
 */
bool pmv_cm_neigh_step(struct pmv_cm_neigh *n, uint64_t now, struct pmv_cm_neigh_out *out);

/* Ticks before which step() has nothing to do; UINT64_MAX: nothing at all. */
uint64_t pmv_cm_neigh_next_due(const struct pmv_cm_neigh *n);

/* The application's own entry, PERMANENT. @return 0; -ENOSPC; -EINVAL not unicast. */
int pmv_cm_neigh_set(struct pmv_cm_neigh *n, const struct pmv_cm_neigh_key *key,
	const uint8_t mac[6], uint64_t now, struct pmv_cm_neigh_out *out);
/* Makes it an ordinary one again (STALE). @return 0; -ENOENT no permanent entry. */
int pmv_cm_neigh_clear(struct pmv_cm_neigh *n, const struct pmv_cm_neigh_key *key, uint64_t now);

/* @return the entry's index, PMV_CM_NEIGH_NONE. Valid until the next call unless pinned. */
uint32_t pmv_cm_neigh_find(const struct pmv_cm_neigh *n, const struct pmv_cm_neigh_key *key);

const char *pmv_cm_neigh_state_name(enum pmv_cm_neigh_state state);

#endif
