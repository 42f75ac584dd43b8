// SPDX-License-Identifier: BSD-3-Clause
#include "test/harness/log_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_log.h>

#define PREFIX "pmverbs: "

static char *text;
static size_t nb_bytes;
static FILE *file;
static uint32_t nb_failures;
static uint32_t old_level;

void
pmv_test_log_begin(void)
{
	int type = rte_log_register("pmverbs"); /* the id it has */

	free(text);
	text = NULL;
	nb_bytes = 0;
	file = open_memstream(&text, &nb_bytes);
	if (file == NULL || type < 0)
		abort();
	old_level = (uint32_t)rte_log_get_level((uint32_t)type);
	rte_log_set_level((uint32_t)type, RTE_LOG_DEBUG);
	rte_openlog_stream(file);
}

uint32_t
pmv_test_log_end(const char **ret_text)
{
	uint32_t nb = 0;

	rte_openlog_stream(NULL);
	rte_log_set_level((uint32_t)rte_log_register("pmverbs"), old_level);
	fclose(file);
	for (size_t i = 0; i < nb_bytes; i++)
		nb += text[i] == '\n';
	*ret_text = text;
	return nb;
}

/* The line begins with the name of the call, or with that of one it is a form of (reg_mr for
 * reg_mr_iova, modify_qp for modify_qp_submit), and has the word behind it. */
static int
is_line_of(const char *line, const char *call, const char *word)
{
	size_t name_len;

	if (strncmp(line, PREFIX, strlen(PREFIX)) != 0 || strncmp(call, "pmv_", 4) != 0)
		return 0;
	line += strlen(PREFIX);
	name_len = strcspn(line, ": ");
	return name_len > 0 && strncmp(line, call + 4, name_len) == 0 &&
	       strstr(line + name_len, word) != NULL;
}

void
pmv_test_refused_judge(const char *call, int rc, int error, const char *word)
{
	const char *lines;
	uint32_t nb = pmv_test_log_end(&lines);

	if (rc == error && (word == NULL ? nb == 0 : nb == 1 && is_line_of(lines, call, word)))
		return;
	nb_failures++;
	fprintf(stderr, "%s\n  is %d, wanted %d; %u lines, wanted %s %s\n%s", call, rc, error, nb,
		word == NULL ? "none" : "one with", word == NULL ? "" : word, lines);
}

uint32_t
pmv_test_refused_failures(void)
{
	uint32_t nb = nb_failures;

	nb_failures = 0;
	return nb;
}
