// SPDX-License-Identifier: BSD-3-Clause
/*
 * The options of a program that is either server or client: -s | -c, -a ADDR, -p PORT, -C COUNT, -S
 * SIZE. Called through struct pmv_app_spec while the command line is read; main's thread. It
 * resolves no names.
 */
#ifndef PMV_APPS_COMMON_ROLE_H
#define PMV_APPS_COMMON_ROLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define PMV_APP_ROLE_LETTERS "sca:p:C:S:"

/* A program sets defaults and limits and names this in its struct pmv_app_spec. */
struct pmv_app_role {
	bool is_server;
	bool is_client;
	bool is_both; /* set by a program that is both ends itself: then none of the others */
	bool has_address;
	struct sockaddr_storage address; /* with the port; without -a every address of ours */
	uint64_t cm_port;
	uint64_t count, count_min;         /* messages */
	uint64_t size, size_min, size_max; /* bytes */
};

/* @return 0; -EINVAL after it has said why. */
int pmv_app_role_take(struct pmv_app_role *role, int code, const char *text);
/* Checks what only the whole line shows, and completes the address. @return as above. */
int pmv_app_role_check(struct pmv_app_role *role);
/* --help: the lines about these options. */
void pmv_app_role_print_help(const struct pmv_app_role *role);

#endif
