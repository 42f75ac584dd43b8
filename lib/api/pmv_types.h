/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types, constants and limits that every other public header uses. Enumerators keep libibverbs'
 * names with the prefix changed and the same numeric values, so that verbs programmers know them.
 */
#ifndef PMV_TYPES_H
#define PMV_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Marks a function that libpmverbs exports. */
#define PMV_API __attribute__((visibility("default")))

struct pmv_device;
struct pmv_worker;
struct pmv_pd;
struct pmv_mr;
struct pmv_mw;
struct pmv_cq;
struct pmv_srq;
struct pmv_qp;
struct pmv_ah;
struct pmv_op;

/** 128-bit GID in network order. An IPv4 address is the IPv4-mapped IPv6 address ::ffff:a.b.c.d. */
union pmv_gid {
	uint8_t raw[16];
	struct {
		rte_be64_t subnet_prefix;
		rte_be64_t interface_id;
	} global;
};

/** Path MTU codes (IBTA vol. 1, table 9): payload bytes of a full packet. */
enum pmv_mtu {
	PMV_MTU_256 = 1,
	PMV_MTU_512 = 2,
	PMV_MTU_1024 = 3,
	PMV_MTU_2048 = 4,
	PMV_MTU_4096 = 5,
};

/** @return payload bytes of a path MTU code (1..5); 0 for anything else. */
static inline uint32_t
pmv_mtu_bytes(uint8_t mtu)
{
	return mtu >= PMV_MTU_256 && mtu <= PMV_MTU_4096 ? 128u << mtu : 0;
}

enum pmv_qp_type {
	PMV_QPT_RC = 2,
	PMV_QPT_UC = 3,
	PMV_QPT_UD = 4,
};

enum pmv_qp_state {
	PMV_QPS_RESET,
	PMV_QPS_INIT,
	PMV_QPS_RTR,
	PMV_QPS_RTS,
	PMV_QPS_SQD,
	PMV_QPS_SQE,
	PMV_QPS_ERR,
};

/** Access rights of memory regions and (the REMOTE ones) of queue pairs. */
enum pmv_access_flags {
	PMV_ACCESS_LOCAL_WRITE = 1 << 0,
	PMV_ACCESS_REMOTE_WRITE = 1 << 1,
	PMV_ACCESS_REMOTE_READ = 1 << 2,
	PMV_ACCESS_REMOTE_ATOMIC = 1 << 3,
	PMV_ACCESS_MW_BIND = 1 << 4,
	PMV_ACCESS_FLUSH_GLOBAL = 1 << 8, /**< peers may FLUSH to global visibility */
	PMV_ACCESS_FLUSH_PERSISTENT =
		1 << 9, /**< refused: nothing here knows that memory is persistent */
	PMV_ACCESS_RELAXED_ORDERING =
		1 << 20, /**< a hint, accepted without effect where not supported */
};

/** Access bits 20..29 are hints: accepted by every driver, without effect where not supported. */
#define PMV_ACCESS_OPTIONAL_RANGE 0x3ff00000u

/** What a FLUSH asks for, one or both: annex A19 of the IBTA. */
enum pmv_placement_type {
	PMV_FLUSH_GLOBAL = 1 << 0, /**< what was written before is visible to everybody */
	PMV_FLUSH_PERSISTENT = 1 << 1,
};

/** Of which bytes. */
enum pmv_selectivity_level {
	PMV_FLUSH_RANGE, /**< [remote_addr, remote_addr + length) */
	PMV_FLUSH_MR,    /**< all that the key names */
};

/** Among whom a device's atomics are atomic. */
enum pmv_atomic_cap {
	PMV_ATOMIC_NONE, /**< there are none */
	PMV_ATOMIC_HCA,  /**< queue pairs of the device */
	PMV_ATOMIC_GLOB, /**< everybody, the CPUs' own atomic instructions too */
};

enum pmv_wc_status {
	PMV_WC_SUCCESS,
	PMV_WC_LOC_LEN_ERR,
	PMV_WC_LOC_QP_OP_ERR,
	PMV_WC_LOC_EEC_OP_ERR,
	PMV_WC_LOC_PROT_ERR,
	PMV_WC_WR_FLUSH_ERR,
	PMV_WC_MW_BIND_ERR,
	PMV_WC_BAD_RESP_ERR,
	PMV_WC_LOC_ACCESS_ERR,
	PMV_WC_REM_INV_REQ_ERR,
	PMV_WC_REM_ACCESS_ERR,
	PMV_WC_REM_OP_ERR,
	PMV_WC_RETRY_EXC_ERR,
	PMV_WC_RNR_RETRY_EXC_ERR,
	PMV_WC_LOC_RDD_VIOL_ERR,
	PMV_WC_REM_INV_RD_REQ_ERR,
	PMV_WC_REM_ABORT_ERR,
	PMV_WC_INV_EECN_ERR,
	PMV_WC_INV_EEC_STATE_ERR,
	PMV_WC_FATAL_ERR,
	PMV_WC_RESP_TIMEOUT_ERR,
	PMV_WC_GENERAL_ERR,
};

enum pmv_wc_opcode {
	PMV_WC_SEND = 0,
	PMV_WC_RDMA_WRITE = 1,
	PMV_WC_RDMA_READ = 2,
	PMV_WC_COMP_SWAP = 3,
	PMV_WC_FETCH_ADD = 4,
	PMV_WC_BIND_MW = 5,
	PMV_WC_LOCAL_INV = 6,
	PMV_WC_FLUSH = 8,
	PMV_WC_ATOMIC_WRITE = 9,
	PMV_WC_REG_MR = 64, /**< pmverbs' own */
	PMV_WC_NOP = 65,    /**< pmverbs' own */
	PMV_WC_RECV = 1 << 7,
	PMV_WC_RECV_RDMA_WITH_IMM = (1 << 7) + 1,
};

enum pmv_wc_flags {
	PMV_WC_GRH =
		1 << 0, /**< UD: the first 40 bytes of the receive buffer hold the network header */
	PMV_WC_WITH_IMM = 1 << 1,   /**< imm_data is valid */
	PMV_WC_WITH_INV = 1 << 3,   /**< invalidated_rkey is valid */
	PMV_WC_SOLICITED = 1 << 30, /**< pmverbs' own: the sender asked for an event at the receiver
				     */
};

enum pmv_wr_opcode {
	PMV_WR_RDMA_WRITE = 0,
	PMV_WR_RDMA_WRITE_WITH_IMM = 1,
	PMV_WR_SEND = 2,
	PMV_WR_SEND_WITH_IMM = 3,
	PMV_WR_RDMA_READ = 4,
	PMV_WR_ATOMIC_CMP_AND_SWP = 5,
	PMV_WR_ATOMIC_FETCH_AND_ADD = 6,
	PMV_WR_LOCAL_INV = 7,
	PMV_WR_BIND_MW = 8,
	PMV_WR_SEND_WITH_INV = 9,
	PMV_WR_FLUSH = 14,
	PMV_WR_ATOMIC_WRITE = 15,
	PMV_WR_REG_MR = 32, /**< pmverbs' own: gives a fast-registration region its pages */
	PMV_WR_NOP = 33,    /**< pmverbs' own: nothing, in its place in the queue */
};

enum pmv_send_flags {
	PMV_SEND_FENCE =
		1 << 0, /**< start only when all earlier READs and atomics have completed */
	PMV_SEND_SIGNALED = 1 << 1,  /**< make a completion (errors always make one) */
	PMV_SEND_SOLICITED = 1 << 2, /**< set the solicited event bit of the last packet */
	PMV_SEND_INLINE = 1 << 3, /**< payload is copied at post; the buffers need no lkey and may
				     be reused at once */
	PMV_SEND_FLUSH = 1 << 30, /**< hand the packets to the port before the call returns, not at
				     the end of the turn */
};

/** Bits of the mask of pmv_modify_qp(), pmv_query_qp(). */
enum pmv_qp_attr_mask {
	PMV_QP_STATE = 1 << 0,
	PMV_QP_CUR_STATE = 1 << 1,
	PMV_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	PMV_QP_ACCESS_FLAGS = 1 << 3,
	PMV_QP_PKEY_INDEX = 1 << 4,
	PMV_QP_PORT = 1 << 5,
	PMV_QP_QKEY = 1 << 6,
	PMV_QP_AV = 1 << 7,
	PMV_QP_PATH_MTU = 1 << 8,
	PMV_QP_TIMEOUT = 1 << 9,
	PMV_QP_RETRY_CNT = 1 << 10,
	PMV_QP_RNR_RETRY = 1 << 11,
	PMV_QP_RQ_PSN = 1 << 12,
	PMV_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	PMV_QP_ALT_PATH = 1 << 14,
	PMV_QP_MIN_RNR_TIMER = 1 << 15,
	PMV_QP_SQ_PSN = 1 << 16,
	PMV_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	PMV_QP_PATH_MIG_STATE = 1 << 18,
	PMV_QP_CAP = 1 << 19,
	PMV_QP_DEST_QPN = 1 << 20,
	PMV_QP_RATE_LIMIT = 1 << 25,
	PMV_QP_ECE = 1 << 30, /**< pmverbs' own */
};

/**
 * Enhanced connection establishment: what two ends agree on beyond the standard, before the QPs go
 * to RTR. It travels in the CM's REQ and REP. Options mean what the vendor says; an end that does
 * not know the vendor answers zero, and zero is plain RoCEv2.
 */
struct pmv_ece {
	uint32_t vendor_id; /**< 24 bits */
	uint32_t options;
};

/** Vendor id under which pmverbs' options go. */
#define PMV_ECE_VENDOR_ID 0x706d76u

enum pmv_ece_options {
	/** RC: packets behind a lost one wait at the receiver, and only what is missing is sent
	 * again. Execution stays in order: memory and completions look as on a wire without loss.
	 */
	PMV_ECE_SELECTIVE_REPEAT = 1 << 0,
	/** RC, UC: packets say that they may be marked instead of dropped where the network is
	 * congested (ECN), and the QP slows down when the peer tells of marks. The peer need not
	 * know the option, but must make congestion notification packets: pmverbs does, always,
	 * and so does ConnectX; Linux rxe does not. Without it: neither. */
	PMV_ECE_CONGESTION = 1 << 1,
};

/** QPN of the general services interface (CM datagrams) and of multicast packets. */
#define PMV_QPN_GSI       1u
#define PMV_QPN_MULTICAST 0xffffffu

/** The one partition key of a RoCE port: full member of the default partition. */
#define PMV_PKEY_DEFAULT 0xffffu

/** Bytes in front of the payload of a received UD message. */
#define PMV_GRH_BYTES 40u

/** Upper bounds that hold for every device; pmv_query_device() tells the real ones. */
#define PMV_WORKERS_MAX   16u
#define PMV_SGE_MAX       32u
#define PMV_MSG_BYTES_MAX 0x80000000u

/** @return static text, never NULL. @note Context: any thread. */
PMV_API const char *pmv_wc_status_str(enum pmv_wc_status status);
PMV_API const char *pmv_qp_state_str(enum pmv_qp_state state);

#ifdef __cplusplus
}
#endif
#endif
