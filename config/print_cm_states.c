// SPDX-License-Identifier: BSD-3-Clause
/*
 * Prints the CM's state table (cm/fsm.c) as Markdown: doc/cm_states.md. Run by config/update_docs,
 * and by the test suite with --check FILE, which fails when the file is not what would be printed.
 * A tool of the project, no part of the library.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/fsm.h"

static const char intro[] =
	"# Connection manager: states\n"
	"\n"
	"Printed from `cm/fsm.c` by `config/update_docs`; a test fails when the two differ. Do not "
	"edit.\n"
	"Flow, choices and the meaning of each name: `cm/fsm.h`. Timer values: `cm/limits.h`.\n"
	"\n"
	"One section a state. The table lists every input that does something: next state, then "
	"the\n"
	"actions in order. Below it stand the user's calls that are refused, with their errno, and "
	"the\n"
	"inputs that are ignored (counted, nothing changes).\n";

static const char *
errno_name(int err)
{
	return err == -EINVAL ? "-EINVAL" : err == -EISCONN ? "-EISCONN" : "?";
}

static void
print_steps(FILE *out, enum pmv_cm_state state)
{
	int in, i;

	fprintf(out, "\n## %s\n\n| input | next | actions |\n|---|---|---|\n",
		pmv_cm_state_name(state));
	for (in = 0; in < PMV_CM_IN_MAX; in++) {
		const struct pmv_cm_fsm_step *step = pmv_cm_fsm_step(state, in);

		if (step->kind != PMV_CM_FSM_GO)
			continue;
		fprintf(out, "| %s | %s |", pmv_cm_input_name(in),
			step->next == state ? "same" : pmv_cm_state_name(step->next));
		for (i = 0; i < step->nb_actions; i++)
			fprintf(out, "%s %s", i > 0 ? "," : "", pmv_cm_do_name(step->actions[i]));
		fprintf(out, "%s |\n", step->nb_actions == 0 ? " none" : "");
	}
}

static void
print_rest(FILE *out, enum pmv_cm_state state, enum pmv_cm_fsm_kind kind, const char *title)
{
	const char *separator = "";
	int in;

	fprintf(out, "\n%s: ", title);
	for (in = 0; in < PMV_CM_IN_MAX; in++) {
		const struct pmv_cm_fsm_step *step = pmv_cm_fsm_step(state, in);

		if (step->kind != kind)
			continue;
		fprintf(out, "%s%s", separator, pmv_cm_input_name(in));
		if (kind == PMV_CM_FSM_REFUSE)
			fprintf(out, " %s", errno_name(step->err));
		separator = ", ";
	}
	fprintf(out, "%s.\n", *separator == '\0' ? "none" : "");
}

static void
print_all(FILE *out)
{
	int state;

	fputs(intro, out);
	for (state = 0; state < PMV_CM_ST_MAX; state++) {
		print_steps(out, state);
		print_rest(out, state, PMV_CM_FSM_REFUSE, "Refused");
		print_rest(out, state, PMV_CM_FSM_IGNORE, "Ignored");
	}
}

/* Compares the file with what would be printed. @return exit status. */
static int
check(const char *path)
{
	char *want = NULL;
	size_t want_bytes = 0;
	FILE *mem = open_memstream(&want, &want_bytes);
	FILE *file = fopen(path, "r");
	size_t i;
	int same;

	if (mem == NULL || file == NULL) {
		perror(path);
		return 2;
	}
	print_all(mem);
	fclose(mem);
	for (i = 0; i < want_bytes; i++) {
		if (fgetc(file) != (unsigned char)want[i])
			break;
	}
	same = i == want_bytes && fgetc(file) == EOF;
	fclose(file);
	free(want);
	if (!same)
		fprintf(stderr, "%s is stale: run config/update_docs and commit it\n", path);
	return same ? 0 : 1;
}

int
main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--check") == 0)
		return check(argv[2]);
	if (argc != 1) {
		fprintf(stderr, "usage: %s [--check FILE]\n", argv[0]);
		return 2;
	}
	print_all(stdout);
	return fflush(stdout) == 0 ? 0 : 1;
}
