// SPDX-License-Identifier: BSD-3-Clause
/*
 * Reads a capture file into memory and walks over its frames: classic pcap and pcapng,
 * little-endian, Ethernet. For tests that replay test/vectors/captures; no part of the library.
 * Needs nothing but C, so pure tests may use it.
 */
#ifndef PMV_TEST_PCAP_FILE_H
#define PMV_TEST_PCAP_FILE_H

#include <stddef.h>
#include <stdint.h>

struct pmv_pcap_file {
	uint8_t *data; /* the whole file; freed by close */
	size_t len;
	size_t pos;          /* next record or block */
	int is_ng;           /* pcapng */
	uint64_t ts_per_sec; /* timestamp units of the file's (one) interface */
};

struct pmv_pcap_frame {
	const uint8_t *data; /* inside the file's memory */
	uint32_t len;        /* captured bytes */
	uint32_t wire_len;   /* bytes on the wire */
	uint64_t ts_ns;
};

/* 0; -errno of open or read; -EBADMSG: no capture file of a known kind; -ENOTSUP: not Ethernet. */
int pmv_pcap_file_open(struct pmv_pcap_file *f, const char *path);

/* 1 and the next frame; 0 at the end; -EBADMSG: the file is damaged there. */
int pmv_pcap_file_next(struct pmv_pcap_file *f, struct pmv_pcap_frame *ret);

void pmv_pcap_file_close(struct pmv_pcap_file *f);

#endif
