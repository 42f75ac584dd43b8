// SPDX-License-Identifier: BSD-3-Clause
/*
 * The objects of the model and the one lock around them. Used by model_*, trap_*, wire_* and
 * shim_* files only; tests include model.h.
 */
#ifndef PMV_TEST_MLX5_MODEL_STATE_H
#define PMV_TEST_MLX5_MODEL_STATE_H

#include "test/mlx5/layout.h"
#include "test/mlx5/model.h"

#define PMV_MLX5M_SLOTS       1024 /* of each kind of object */
#define PMV_MLX5M_GIDS        2
#define PMV_MLX5M_QPN_BASE    0x4a0100u
#define PMV_MLX5M_PAGES       64 /* UAR pages of a context */
#define PMV_MLX5M_SGES_MAX    64
#define PMV_MLX5M_MESSAGE_MAX (1u << 30)

struct pmv_mlx5m_table {
	void *slot[PMV_MLX5M_SLOTS];
	uint32_t end; /* slots in use are below */
};

struct pmv_mlx5m_device {
	uint32_t index;
	uint8_t gid[PMV_MLX5M_GIDS][16];
	int sock; /* of the wire between processes, or -1 */
};

/* State of one blue flame register, as needed to judge the next store into it. */
struct pmv_mlx5m_bf {
	bool open; /* a ring came, a burst may follow */
	uint8_t half;
	uint8_t prev_half; /* of the ring before; 2: none yet */
	uint16_t pos;      /* bytes of the burst so far */
	uint16_t want;     /* length of a whole burst: ds rounded up to 64 bytes */
	uint16_t index;    /* of the entry rung */
	uint32_t qpn;
};

struct pmv_mlx5m_page {
	struct pmv_mlx5m_context *ctx;
	uint32_t index;      /* page id */
	uint64_t offset;     /* in the memfd */
	uint8_t *alias;      /* the model's own mapping of the same page */
	const uint8_t *user; /* what the application mapped last, trapped */
	struct pmv_mlx5m_bf bf[PMV_MLX5M_BF_PER_PAGE];
};

/* One open of a device. */
struct pmv_mlx5m_context {
	struct pmv_mlx5m_device *device;
	int fd;
	int pipe[2]; /* asynchronous events: the library owns and closes the first end */
	struct pmv_mlx5m_page *page[PMV_MLX5M_PAGES];
	uint32_t nb_bfregs_given; /* fixed UARs: QPs so far */
};

struct pmv_mlx5m_pd {
	struct pmv_mlx5m_context *ctx;
	uint32_t nb_users;
};

struct pmv_mlx5m_mr {
	struct pmv_mlx5m_context *ctx;
	struct pmv_mlx5m_pd *pd;
	uint32_t key;
	uint32_t access; /* IBV_ACCESS_* numbers */
	uint64_t va;     /* first address as queue entries name it */
	uint64_t length;
	uint8_t *memory;
};

struct pmv_mlx5m_cq {
	struct pmv_mlx5m_context *ctx;
	uint32_t cqn;
	uint32_t nb_users;
	uint8_t *buf;
	const uint32_t *record_be;
	uint32_t nb; /* entries, a power of two */
	uint32_t cqe_bytes;
	uint32_t pi;
	bool overrun;
};

struct pmv_mlx5m_sge {
	uint64_t va;
	uint32_t bytes;
	uint32_t lkey;
};

struct pmv_mlx5m_sgl {
	uint32_t nb;
	uint64_t bytes; /* of all */
	struct pmv_mlx5m_sge sge[PMV_MLX5M_SGES_MAX];
};

/* A parsed send queue entry. */
struct pmv_mlx5m_wqe {
	uint16_t index;
	uint16_t nb_blocks;
	uint8_t opcode;
	bool signalled;
	bool solicited;
	bool is_inline;
	uint32_t imm_be;
	uint64_t remote_va;
	uint32_t rkey;
	uint32_t bytes;
	struct pmv_mlx5m_sgl sgl;
	uint8_t data[PMV_MLX5M_WQE_MAX]; /* inline */
};

enum pmv_mlx5m_qp_state { /* numbers of enum ibv_qp_state */
	PMV_MLX5M_RESET,
	PMV_MLX5M_INIT,
	PMV_MLX5M_RTR,
	PMV_MLX5M_RTS,
	PMV_MLX5M_SQD,
	PMV_MLX5M_SQE,
	PMV_MLX5M_ERR,
};

enum pmv_mlx5m_phase {
	PMV_MLX5M_IDLE,
	PMV_MLX5M_SENDING,
	PMV_MLX5M_WAITING, /* for the acknowledgement or for READ data */
	PMV_MLX5M_BACKOFF, /* after RNR */
};

/* The requester has one message under way at a time. */
struct pmv_mlx5m_requester {
	enum pmv_mlx5m_phase phase;
	uint32_t psn;      /* of the next message */
	uint32_t psn_base; /* of the message under way */
	uint32_t nb_packets;
	uint32_t offset; /* bytes sent, or received of a READ */
	uint8_t retries;
	uint8_t rnr_retries;
	uint64_t deadline_us;
	struct pmv_mlx5m_wqe wqe;
};

struct pmv_mlx5m_responder {
	uint32_t psn; /* expected */
	bool in_message;
	bool has_recv; /* sgl and recv_index belong to the message */
	uint16_t recv_index;
	uint32_t offset;
	bool scatter_to_cqe; /* data waits in `small` */
	uint8_t small[64];
	struct pmv_mlx5m_sgl sgl;
	/* a READ being answered */
	bool reading;
	uint64_t read_va;
	uint32_t read_bytes;
	uint32_t read_offset;
	uint32_t read_psn;
	uint32_t read_rkey;
};

struct pmv_mlx5m_qp_attr {
	uint32_t access;
	uint32_t path_mtu; /* bytes */
	uint32_t dest_qpn;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint8_t dgid[16];
	uint8_t sgid_index;
	uint8_t min_rnr_timer;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t port_num;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint32_t flow_label;
};

struct pmv_mlx5m_cap {
	uint32_t send_wr;
	uint32_t recv_wr;
	uint32_t send_sge;
	uint32_t recv_sge;
	uint32_t inline_bytes;
};

struct pmv_mlx5m_qp {
	struct pmv_mlx5m_context *ctx;
	struct pmv_mlx5m_pd *pd;
	struct pmv_mlx5m_cq *send_cq;
	struct pmv_mlx5m_cq *recv_cq;
	enum pmv_mlx5m_qp_state state;
	uint32_t qpn;
	uint32_t uidx;
	uint32_t page; /* UAR page id */
	int bfreg;     /* register on that page, or -1: any of it */
	bool sig_all;
	bool scatter_recv; /* receive data may go into the CQE */
	bool scatter_send; /* READ data may */
	const uint8_t *rq_buf;
	uint32_t rq_nb; /* entries */
	uint32_t rq_stride;
	const uint8_t *sq_buf;
	uint32_t sq_nb; /* basic blocks */
	const uint32_t *record_be;
	uint16_t sq_rung; /* producer, as the last ring made it known */
	uint16_t sq_ci;   /* next block to execute */
	uint16_t rq_ci;
	uint64_t nb_rings;
	struct pmv_mlx5m_cap cap;
	struct pmv_mlx5m_qp_attr attr;
	struct pmv_mlx5m_requester req;
	struct pmv_mlx5m_responder resp;
};

struct pmv_mlx5m_state {
	bool running;
	struct pmv_mlx5m_config config;
	struct pmv_mlx5m_counters counters;
	struct pmv_mlx5m_device device[PMV_MLX5M_DEVICES_MAX];
	struct pmv_mlx5m_table pds;
	struct pmv_mlx5m_table mrs;
	struct pmv_mlx5m_table cqs;
	struct pmv_mlx5m_table qps;
	uint64_t virtual_us;
	uint32_t turn; /* QP whose send queue is looked at next */
};

struct pmv_mlx5m_state *pmv_mlx5m_state(void);

/* Around everything that touches the state. Not recursive. */
void pmv_mlx5m_lock(void);
void pmv_mlx5m_unlock(void);

/* True on a thread that holds the lock: a fault there is the model's own. */
bool pmv_mlx5m_locked(void);

uint64_t pmv_mlx5m_now_us(void);

/* Returns the slot, or -1 when full. */
int pmv_mlx5m_table_put(struct pmv_mlx5m_table *table, void *object);
void *pmv_mlx5m_table_get(const struct pmv_mlx5m_table *table, uint32_t slot);
void pmv_mlx5m_table_clear(struct pmv_mlx5m_table *table, uint32_t slot);

/* Numbers on the wire and in queue entries; slots are handles of commands. */
uint32_t pmv_mlx5m_qpn_of(uint32_t slot);
struct pmv_mlx5m_qp *pmv_mlx5m_qp_find(uint32_t qpn);
uint32_t pmv_mlx5m_cqn_of(uint32_t slot);
struct pmv_mlx5m_cq *pmv_mlx5m_cq_find(uint32_t cqn);

#endif
