// SPDX-License-Identifier: BSD-3-Clause
/*
 * -s | -c, -a, -p, -C, -S. Main's thread, while the command line is read.
 */
#include "apps/common/role.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>

#include "apps/common/options.h"
#include "apps/common/say.h"

int
pmv_app_role_take(struct pmv_app_role *role, int code, const char *text)
{
	switch (code) {
	case 's':
		role->is_server = true;
		return 0;
	case 'c':
		role->is_client = true;
		return 0;
	case 'a':
		role->has_address = true;
		return pmv_app_sockaddr_parse(text, &role->address);
	case 'p':
		return pmv_app_number(text, "-p", 1, 65535, &role->cm_port);
	case 'C':
		return pmv_app_number(text, "-C", role->count_min, 1000000000, &role->count);
	case 'S':
		return pmv_app_number(text, "-S", role->size_min, role->size_max, &role->size);
	default:
		return -EINVAL;
	}
}

int
pmv_app_role_check(struct pmv_app_role *role)
{
	if (role->is_both && !role->is_server && !role->is_client && !role->has_address)
		return 0;
	if (role->is_both) {
		pmv_app_say("both ends are ours: neither -s nor -c nor -a (--help tells)");
		return -EINVAL;
	}
	if (role->is_server == role->is_client) {
		pmv_app_say("give one of -s and -c (--help tells)");
		return -EINVAL;
	}
	if (role->is_client && !role->has_address) {
		pmv_app_say("-c needs the server's address: -a ADDR");
		return -EINVAL;
	}
	/* [::] takes IPv4 as well. */
	if (!role->has_address)
		role->address.ss_family = AF_INET6;
	pmv_app_sockaddr_set_port(&role->address, (uint16_t)role->cm_port);
	return 0;
}

void
pmv_app_role_print_help(const struct pmv_app_role *role)
{
	printf("  -s              serve: listen, and take a client\n"
	       "  -c              connect to a server\n"
	       "  -a ADDR         the server's address (with -s: listen only there)\n"
	       "  -p PORT         the server's CM port (%" PRIu64 ")\n"
	       "  -C COUNT        messages, from %" PRIu64 " (%" PRIu64 ")\n"
	       "  -S SIZE         bytes of a message, %" PRIu64 "..%" PRIu64 " (%" PRIu64 ")\n",
		role->cm_port, role->count_min, role->count, role->size_min, role->size_max,
		role->size);
}
