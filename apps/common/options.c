// SPDX-License-Identifier: BSD-3-Clause
/*
 * The command line: split it and read the common options. Main thread, before anything else runs.
 * What a program's own options mean is its own business.
 */
#include "apps/common/options.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "apps/common/role.h"
#include "apps/common/say.h"

/* Above every character, so that a program may use any letter for its own. */
enum common_code {
	OPT_PORT = 0x100,
	OPT_ADDR,
	OPT_GW,
	OPT_VLAN,
	OPT_MTU,
	OPT_LOSS,
	OPT_SEED,
	OPT_STATS
};
#define OWN_LONG_MAX 16

static const struct option common_long[] = {
	{ "port", required_argument, NULL, OPT_PORT },
	{ "addr", required_argument, NULL, OPT_ADDR },
	{ "gw", required_argument, NULL, OPT_GW },
	{ "vlan", required_argument, NULL, OPT_VLAN },
	{ "mtu", required_argument, NULL, OPT_MTU },
	{ "loss", required_argument, NULL, OPT_LOSS },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "stats", no_argument, NULL, OPT_STATS },
	{ "help", no_argument, NULL, 'h' },
};

static const char common_usage[] =
	"Options of all programs:\n"
	"  --port N|NAME   DPDK port to use (the first one)\n"
	"  --addr A/LEN    an IPv4 or IPv6 address of ours with its prefix length; may be "
	"repeated\n"
	"  --gw A          next hop for destinations that are not on the link, one a family\n"
	"  --vlan ID       put all frames on this VLAN, 1..4094\n"
	"  --mtu N         IP MTU in bytes, 352..9600 (the port's)\n"
	"  --loss P        drop frames with this probability, 0..1, in both directions\n"
	"  --seed N        make the loss repeatable\n"
	"  --stats         print at the end what was counted: frames, drops by reason, connection "
	"messages\n"
	"  -h, --help      this text\n";

int
pmv_app_args_split(int argc, char **argv, struct pmv_app_args *ret_args)
{
	int split = 0;
	int own = 1;

	for (int i = 1; i < argc && split == 0; i++)
		if (strcmp(argv[i], "--") == 0)
			split = i;
	*ret_args = (struct pmv_app_args){ .has_separator = split > 0 };
	ret_args->eal = calloc((size_t)argc + PMV_APP_EAL_EXTRA + 2, sizeof(char *));
	ret_args->own = calloc((size_t)argc + 2, sizeof(char *));
	if (ret_args->eal == NULL || ret_args->own == NULL) {
		pmv_app_args_free(ret_args);
		return -ENOMEM;
	}
	for (int i = 0; i < (split > 0 ? split : 1) && i < argc; i++)
		ret_args->eal[ret_args->nb_eal++] = argv[i];
	ret_args->own[0] = argv[0];
	for (int i = split + 1; i < argc; i++)
		ret_args->own[own++] = argv[i];
	ret_args->nb_own = own;
	return 0;
}

void
pmv_app_args_free(struct pmv_app_args *args)
{
	free(args->eal);
	free(args->own);
	*args = (struct pmv_app_args){ 0 };
}

int
pmv_app_number(const char *text, const char *what, uint64_t min, uint64_t max, uint64_t *ret_value)
{
	char *end = NULL;
	uint64_t value;

	errno = 0;
	/* A leading 0 is no sign of an octal number here. */
	value = strtoull(text, &end, text[0] == '0' && (text[1] | 0x20) == 'x' ? 16 : 10);
	/* strtoull takes a minus sign and leading blanks; a command line should not. */
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < min ||
		value > max) {
		pmv_app_say("%s must be a number from %llu to %llu, not '%s'", what,
			(unsigned long long)min, (unsigned long long)max, text);
		return -EINVAL;
	}
	*ret_value = value;
	return 0;
}

int
pmv_app_sockaddr_parse(const char *text, struct sockaddr_storage *ret_addr)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

	memset(ret_addr, 0, sizeof(*ret_addr));
	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		memcpy(ret_addr, &v4, sizeof(v4));
	else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
		memcpy(ret_addr, &v6, sizeof(v6));
	else {
		pmv_app_say("'%s' is no IPv4 or IPv6 address", text);
		return -EINVAL;
	}
	return 0;
}

void
pmv_app_sockaddr_set_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (addr->ss_family == AF_INET)
		((struct sockaddr_in *)addr)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
}

char *
pmv_app_sockaddr_text(const struct sockaddr_storage *addr, char *buf, uint32_t buf_bytes)
{
	char ip[INET6_ADDRSTRLEN] = "?";
	uint16_t port = 0;

	if (addr->ss_family == AF_INET) {
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)addr;

		inet_ntop(AF_INET, &v4->sin_addr, ip, sizeof(ip));
		port = ntohs(v4->sin_port);
	} else if (addr->ss_family == AF_INET6) {
		const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)addr;

		inet_ntop(AF_INET6, &v6->sin6_addr, ip, sizeof(ip));
		port = ntohs(v6->sin6_port);
	}
	snprintf(buf, buf_bytes, "%s port %u", ip, port);
	return buf;
}

static int
take_addr(struct pmv_app_options *o, const char *text)
{
	if (o->nb_addrs == PMV_APP_ADDRS_MAX) {
		pmv_app_say("at most %d addresses can be given with --addr", PMV_APP_ADDRS_MAX);
		return -EINVAL;
	}
	if (pmv_ip_addr_parse(text, &o->addrs[o->nb_addrs]) != 0) {
		pmv_app_say(
			"--addr wants an address with its prefix length like 10.0.0.1/24, not '%s'",
			text);
		return -EINVAL;
	}
	o->nb_addrs++;
	return 0;
}

static int
take_gateway(struct pmv_app_options *o, const char *text)
{
	struct pmv_ip_addr addr;

	if (strchr(text, '/') != NULL || pmv_ip_addr_parse(text, &addr) != 0) {
		pmv_app_say("--gw wants an address like 10.0.0.254, not '%s'", text);
		return -EINVAL;
	}
	/* The whole length: 32 of an IPv4 address. */
	for (uint32_t i = 0; i < o->nb_gateways; i++)
		if (o->gateways[i].prefix_len == addr.prefix_len) {
			pmv_app_say("--gw: '%s' is the second gateway of its family", text);
			return -EINVAL;
		}
	o->gateways[o->nb_gateways++] = addr;
	return 0;
}

static int
take_loss(struct pmv_app_options *o, const char *text)
{
	char *end = NULL;
	double p = strtod(text, &end);

	if (end == text || *end != '\0' || !isfinite(p) || p < 0 || p > 1) {
		pmv_app_say("--loss wants a probability from 0 to 1, not '%s'", text);
		return -EINVAL;
	}
	o->loss = p;
	return 0;
}

static int
take_common(struct pmv_app_options *o, int code, const char *text)
{
	uint64_t number = 0;
	int ret;

	switch (code) {
	case OPT_PORT:
		o->port = text;
		return 0;
	case OPT_ADDR:
		return take_addr(o, text);
	case OPT_GW:
		return take_gateway(o, text);
	case OPT_VLAN:
		ret = pmv_app_number(text, "--vlan", 1, 4094, &number);
		o->vlan_id = (uint16_t)number;
		return ret;
	case OPT_MTU:
		/* 352: a path MTU of 256 and its headers; 9600: what Ethernet controllers end at.
		 */
		ret = pmv_app_number(text, "--mtu", 352, 9600, &number);
		o->ip_mtu = (uint16_t)number;
		return ret;
	case OPT_LOSS:
		return take_loss(o, text);
	case OPT_STATS:
		o->prints_stats = true;
		return 0;
	default:
		return pmv_app_number(text, "--seed", 0, UINT64_MAX, &o->seed);
	}
}

static int
complain(const struct pmv_app_args *args, int code)
{
	const char *word = args->own[optind - 1];
	char letter[3] = { '-', (char)optopt, '\0' };
	bool is_letter = optopt > ' ' && optopt < 0x7f && strncmp(word, "--", 2) != 0;

	if (code == ':')
		pmv_app_say("option %s needs a value (--help tells)", is_letter ? letter : word);
	else
		pmv_app_say("unknown option %s (--help tells; EAL's options go before a --)",
			is_letter ? letter : word);
	return -EINVAL;
}

static void
print_help(const struct pmv_app_spec *spec)
{
	printf("Usage: %s [EAL options --] %s", pmv_app_name(), spec->usage);
	if (spec->role != NULL)
		pmv_app_role_print_help(spec->role);
	fputs(common_usage, stdout);
}

static int
merge_long(const struct pmv_app_spec *spec, struct option *ret_all)
{
	size_t nb = RTE_DIM(common_long);

	memcpy(ret_all, common_long, sizeof(common_long));
	for (size_t i = 0; spec->long_options != NULL && spec->long_options[i].name != NULL; i++) {
		if (i == OWN_LONG_MAX)
			return -ENOSPC;
		ret_all[nb++] = spec->long_options[i];
	}
	return 0;
}

int
pmv_app_options_parse(const struct pmv_app_args *args, const struct pmv_app_spec *spec,
	struct pmv_app_options *ret_options)
{
	struct option all[RTE_DIM(common_long) + OWN_LONG_MAX + 1] = { 0 };
	const char *role_letters = spec->role != NULL ? PMV_APP_ROLE_LETTERS : "";
	char letters[64];
	int code;

	if (merge_long(spec, all) != 0)
		return -ENOSPC;
	snprintf(letters, sizeof(letters), ":h%s%s", role_letters,
		spec->short_options != NULL ? spec->short_options : "");
	opterr = 0;
	optind = 1;
	while ((code = getopt_long(args->nb_own, args->own, letters, all, NULL)) != -1) {
		int ret;

		if (code == 'h') {
			print_help(spec);
			return 1;
		}
		if (code == '?' || code == ':')
			ret = complain(args, code);
		else if (code >= OPT_PORT)
			ret = take_common(ret_options, code, optarg);
		else if (strchr(role_letters, code) != NULL)
			ret = pmv_app_role_take(spec->role, code, optarg);
		else
			ret = spec->take(spec->arg, code, optarg);
		if (ret != 0)
			return ret;
	}
	if (optind < args->nb_own) {
		pmv_app_say(
			"'%s' is too much on the command line (--help tells)", args->own[optind]);
		return -EINVAL;
	}
	return spec->role != NULL ? pmv_app_role_check(spec->role) : 0;
}
