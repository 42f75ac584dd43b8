// SPDX-License-Identifier: BSD-3-Clause
/*
 * The command line of all programs: EAL's options, `--`, then the common options below and the
 * program's own. Called once by main before EAL starts, so that a wrong command line costs nothing.
 * It starts nothing itself.
 */
#ifndef PMV_APPS_COMMON_OPTIONS_H
#define PMV_APPS_COMMON_OPTIONS_H

#include <getopt.h>
#include <stdint.h>
#include <sys/socket.h>

#include <pmverbs/pmv.h>

struct pmv_app_role;

#define PMV_APP_ADDRS_MAX 16

/* A command line in its two halves; the arrays are allocated, the strings are main's. */
struct pmv_app_args {
	char **eal; /* EAL's, argv[0] first, NULL-terminated; room for PMV_APP_EAL_EXTRA more */
	int nb_eal;
	char **own; /* the program's, argv[0] first, NULL-terminated */
	int nb_own;
	bool has_separator; /* there was a `--` */
};
#define PMV_APP_EAL_EXTRA 16

/* The common options. Strings are main's. */
struct pmv_app_options {
	const char *port; /* number or name of the DPDK port; NULL: the first one */
	struct pmv_ip_addr addrs[PMV_APP_ADDRS_MAX];
	uint32_t nb_addrs;
	struct pmv_ip_addr gateways[2]; /* one a family */
	uint32_t nb_gateways;
	uint16_t vlan_id;  /* 0: untagged */
	uint16_t ip_mtu;   /* 0: the port's */
	double loss;       /* 0..1: probability with which a frame is dropped, either way */
	uint64_t seed;     /* of the loss */
	bool prints_stats; /* at the end */
};

/* What a program adds to the common options. */
struct pmv_app_spec {
	const char *usage; /* --help: what comes after "Usage: NAME [EAL options --] " */
	struct pmv_app_role
		*role; /* a server-or-client program: its defaults; NULL: none of these */
	const char *short_options; /* further ones, as for getopt, without 'h'; NULL: none */
	const struct option *long_options; /* zero-terminated, values below 256; NULL: none */
	/* Takes one further option; 0, or -EINVAL after it has said why. */
	int (*take)(void *arg, int code, const char *text);
	void *arg;
};

/* Splits at the first `--`; without one EAL gets only argv[0]. @return 0 or -ENOMEM. Free with
 * pmv_app_args_free(). */
int pmv_app_args_split(int argc, char **argv, struct pmv_app_args *ret_args);
void pmv_app_args_free(struct pmv_app_args *args);

/*
 * Parses the program's half. ret_options must be zeroed or hold defaults. @return 0; 1 help was
 * printed; -EINVAL after it has said what is wrong.
 */
int pmv_app_options_parse(const struct pmv_app_args *args, const struct pmv_app_spec *spec,
	struct pmv_app_options *ret_options);

/* Reads a decimal (or 0x) number. @param what  names it in the sentence. @return 0; -EINVAL after
 * it has said why. */
int pmv_app_number(
	const char *text, const char *what, uint64_t min, uint64_t max, uint64_t *ret_value);

/* Reads a numeric IPv4 or IPv6 address. @return 0; -EINVAL after it has said why. */
int pmv_app_sockaddr_parse(const char *text, struct sockaddr_storage *ret_addr);
void pmv_app_sockaddr_set_port(struct sockaddr_storage *addr, uint16_t port);
/* "10.0.0.1 port 7174". buf: at least 64 bytes. @return buf. */
char *pmv_app_sockaddr_text(const struct sockaddr_storage *addr, char *buf, uint32_t buf_bytes);

#endif
