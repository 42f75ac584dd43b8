// SPDX-License-Identifier: BSD-3-Clause
/*
 * The list of drivers, see registry.h. It knows none of them by name.
 */
#include "lib/driver/registry.h"

#include <errno.h>
#include <string.h>

static struct pmv_driver *first;

void
pmv_driver_register(struct pmv_driver *driver)
{
	struct pmv_driver **at = &first;

	/* At the end: the order of registration is the order of preference. */
	while (*at != NULL)
		at = &(*at)->next;
	driver->next = NULL;
	*at = driver;
}

struct pmv_driver *
pmv_driver_first(void)
{
	return first;
}

struct pmv_driver *
pmv_driver_find(const char *name)
{
	struct pmv_driver *d = first;

	while (d != NULL && strcmp(d->name, name) != 0)
		d = d->next;
	return d;
}

const char *
pmv_driver_name(unsigned int index)
{
	struct pmv_driver *d = first;

	while (d != NULL && index-- > 0)
		d = d->next;
	return d == NULL ? NULL : d->name;
}

int
pmv_driver_choose_portless(const char *name, struct pmv_driver **ret_driver)
{
	struct pmv_driver *d = name == NULL ? first : pmv_driver_find(name);

	while (name == NULL && d != NULL && !d->portless)
		d = d->next;
	if (d == NULL)
		return -ENOENT;
	if (!d->portless)
		return -ENOTSUP;
	*ret_driver = d;
	return 0;
}

static bool
fits(const struct pmv_driver *d, uint16_t port_id)
{
	return d->ops->probe == NULL || d->ops->probe(port_id) == 0;
}

int
pmv_driver_choose(const char *name, uint16_t port_id, struct pmv_driver **ret_driver)
{
	struct pmv_driver *d = name == NULL ? first : pmv_driver_find(name);

	if (d == NULL)
		return -ENOENT;
	while (name == NULL && d != NULL && !fits(d, port_id))
		d = d->next;
	if (d == NULL || !fits(d, port_id))
		return -ENOTSUP;
	*ret_driver = d;
	return 0;
}
