// SPDX-License-Identifier: BSD-3-Clause
/*
 * The capture reader of the tests. pcap: 24 bytes of file header, 16 per record. pcapng (IETF
 * opsawg draft): blocks of {type, length, body, length}; interface descriptions and enhanced
 * packets are read, the rest is passed over.
 */
#include "test/harness/pcap_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCAP_MAGIC_US  0xa1b2c3d4u
#define PCAP_MAGIC_NS  0xa1b23c4du
#define NG_BLOCK_SHB   0x0a0d0d0au
#define NG_BLOCK_IDB   1u
#define NG_BLOCK_EPB   6u
#define NG_BYTE_ORDER  0x1a2b3c4du
#define NG_OPT_TSRESOL 9u
#define LINK_ETHERNET  1u
#define NS_PER_SEC     UINT64_C(1000000000)

static uint32_t
le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t
le16(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static int
file_load(struct pmv_pcap_file *f, const char *path)
{
	FILE *in = fopen(path, "rb");
	long len;
	int rc = 0;

	if (in == NULL)
		return -errno;
	if (fseek(in, 0, SEEK_END) != 0 || (len = ftell(in)) < 0 || fseek(in, 0, SEEK_SET) != 0) {
		rc = -errno;
		goto out;
	}
	f->len = (size_t)len;
	f->data = malloc(f->len > 0 ? f->len : 1);
	if (f->data == NULL)
		rc = -ENOMEM;
	else if (fread(f->data, 1, f->len, in) != f->len)
		rc = -EIO;
out:
	fclose(in);
	return rc;
}

static int
file_begin(struct pmv_pcap_file *f)
{
	uint32_t magic;

	if (f->len < 24)
		return -EBADMSG;
	magic = le32(f->data);
	f->ts_per_sec = 1000000;
	if (magic == NG_BLOCK_SHB) {
		f->is_ng = 1;
		return le32(f->data + 8) == NG_BYTE_ORDER ? 0 : -EBADMSG;
	}
	if (magic != PCAP_MAGIC_US && magic != PCAP_MAGIC_NS)
		return -EBADMSG;
	if (magic == PCAP_MAGIC_NS)
		f->ts_per_sec = NS_PER_SEC;
	f->pos = 24;
	return (le32(f->data + 20) & 0xffff) == LINK_ETHERNET ? 0 : -ENOTSUP;
}

int
pmv_pcap_file_open(struct pmv_pcap_file *f, const char *path)
{
	int rc;

	memset(f, 0, sizeof(*f));
	rc = file_load(f, path);
	if (rc == 0)
		rc = file_begin(f);
	if (rc != 0)
		pmv_pcap_file_close(f);
	return rc;
}

void
pmv_pcap_file_close(struct pmv_pcap_file *f)
{
	free(f->data);
	memset(f, 0, sizeof(*f));
}

static uint64_t
ts_to_ns(const struct pmv_pcap_file *f, uint64_t units)
{
	uint64_t sec = units / f->ts_per_sec;

	return sec * NS_PER_SEC + units % f->ts_per_sec * NS_PER_SEC / f->ts_per_sec;
}

static int
pcap_next(struct pmv_pcap_file *f, struct pmv_pcap_frame *ret)
{
	const uint8_t *p = f->data + f->pos;
	size_t left = f->len - f->pos;

	if (left == 0)
		return 0;
	if (left < 16 || le32(p + 8) > left - 16)
		return -EBADMSG;
	ret->ts_ns = ts_to_ns(f, (uint64_t)le32(p) * f->ts_per_sec + le32(p + 4));
	ret->len = le32(p + 8);
	ret->wire_len = le32(p + 12);
	ret->data = p + 16;
	f->pos += 16 + ret->len;
	return 1;
}

/* Options of an interface description: only the timestamp resolution matters, and only powers of
 * ten. */
static void
ng_interface_read(struct pmv_pcap_file *f, const uint8_t *opt, size_t len)
{
	while (len >= 4) {
		uint32_t code = le16(opt), n = le16(opt + 2), padded = (n + 3) & ~3u;

		if (code == 0 || padded > len - 4)
			return;
		if (code == NG_OPT_TSRESOL && n == 1 && opt[4] <= 18) {
			f->ts_per_sec = 1;
			for (uint32_t i = 0; i < opt[4]; i++)
				f->ts_per_sec *= 10;
		}
		opt += 4 + padded;
		len -= 4 + padded;
	}
}

/* One block. 1: a frame; 0: something else; negative: damaged. */
static int
ng_block_read(struct pmv_pcap_file *f, const uint8_t *p, uint32_t len, struct pmv_pcap_frame *ret)
{
	switch (le32(p)) {
	case NG_BLOCK_IDB:
		if (len < 20 || le16(p + 8) != LINK_ETHERNET)
			return -EBADMSG;
		ng_interface_read(f, p + 16, len - 20);
		return 0;
	case NG_BLOCK_EPB:
		if (len < 32 || le32(p + 20) > len - 32)
			return -EBADMSG;
		ret->ts_ns = ts_to_ns(f, (uint64_t)le32(p + 12) << 32 | le32(p + 16));
		ret->len = le32(p + 20);
		ret->wire_len = le32(p + 24);
		ret->data = p + 28;
		return 1;
	default:
		return 0;
	}
}

static int
ng_next(struct pmv_pcap_file *f, struct pmv_pcap_frame *ret)
{
	while (f->pos < f->len) {
		const uint8_t *p = f->data + f->pos;
		size_t left = f->len - f->pos;
		uint32_t len;
		int rc;

		if (left < 12)
			return -EBADMSG;
		len = le32(p + 4);
		if (len < 12 || (len & 3) != 0 || len > left)
			return -EBADMSG;
		f->pos += len;
		rc = ng_block_read(f, p, len, ret);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int
pmv_pcap_file_next(struct pmv_pcap_file *f, struct pmv_pcap_frame *ret)
{
	return f->is_ng ? ng_next(f, ret) : pcap_next(f, ret);
}
