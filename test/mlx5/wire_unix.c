// SPDX-License-Identifier: BSD-3-Clause
/*
 * Frames between processes over AF_UNIX datagrams: reliable and in order, and never waited for,
 * since two HCA threads that wait for each other would stand still. What a full socket refuses is
 * queued. Called with the lock held.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "test/mlx5/wire_unix.h"

#define CLOSE_TRIES 100 /* of 1 ms */

static struct {
	struct pmv_mlx5m_frame *head;
	struct pmv_mlx5m_frame **tail;
	uint32_t next_device; /* read first, so that no device starves */
} waiting;

static int
make_address(const uint8_t gid[16], struct sockaddr_un *address)
{
	const char *dir = pmv_mlx5m_state()->config.wire_dir;
	int nb;

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	/* Both GIDs of a device end in its node and index. */
	nb = snprintf(address->sun_path, sizeof(address->sun_path), "%s/%02x%02x-%02x", dir,
		gid[13], gid[14], gid[15]);
	return nb < (int)sizeof(address->sun_path) ? 0 : -ENAMETOOLONG;
}

int
pmv_mlx5m_wire_unix_open(void)
{
	struct pmv_mlx5m_state *state = pmv_mlx5m_state();
	struct sockaddr_un address;
	uint32_t i;
	int ret;

	waiting.head = NULL;
	waiting.tail = &waiting.head;
	for (i = 0; i < state->config.nb_devices; i++)
		state->device[i].sock = -1;
	if (state->config.wire_dir == NULL)
		return 0;
	for (i = 0; i < state->config.nb_devices; i++) {
		int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

		if (fd < 0)
			return -errno;
		state->device[i].sock = fd;
		ret = make_address(state->device[i].gid[0], &address);
		if (ret != 0)
			return ret;
		if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
			return -errno;
	}
	return 0;
}

static size_t
frame_bytes(const struct pmv_mlx5m_frame *frame)
{
	return offsetof(struct pmv_mlx5m_frame, data) + frame->bytes;
}

/* True when the frame has left, or its peer is gone. */
static bool
try_send(const struct pmv_mlx5m_frame *frame)
{
	const struct pmv_mlx5m_device *device = pmv_mlx5m_wire_device(frame->sgid);
	struct sockaddr_un address;
	ssize_t sent;

	if (device == NULL || device->sock < 0 || make_address(frame->dgid, &address) != 0)
		return true;
	sent = sendto(device->sock, frame, frame_bytes(frame), MSG_NOSIGNAL,
		(struct sockaddr *)&address, sizeof(address));
	return sent >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS);
}

static void
send_waiting(void)
{
	while (waiting.head != NULL && try_send(waiting.head)) {
		struct pmv_mlx5m_frame *frame = waiting.head;

		waiting.head = frame->next;
		if (waiting.head == NULL)
			waiting.tail = &waiting.head;
		free(frame);
	}
}

void
pmv_mlx5m_wire_unix_send(struct pmv_mlx5m_frame *frame)
{
	if (waiting.head == NULL && try_send(frame)) {
		free(frame);
		return;
	}
	frame->next = NULL;
	*waiting.tail = frame;
	waiting.tail = &frame->next;
}

struct pmv_mlx5m_frame *
pmv_mlx5m_wire_unix_receive(void)
{
	struct pmv_mlx5m_state *state = pmv_mlx5m_state();
	struct pmv_mlx5m_frame *frame;
	uint32_t i;

	if (state->config.wire_dir == NULL)
		return NULL;
	send_waiting();
	frame = malloc(sizeof(*frame));
	if (frame == NULL)
		return NULL;
	for (i = 0; i < state->config.nb_devices; i++) {
		uint32_t index = waiting.next_device++ % state->config.nb_devices;
		ssize_t got = recv(state->device[index].sock, frame, sizeof(*frame), 0);

		if (got >= (ssize_t)offsetof(struct pmv_mlx5m_frame, data) &&
			frame->bytes <= PMV_MLX5M_MTU_MAX && (size_t)got == frame_bytes(frame))
			return frame;
	}
	free(frame);
	return NULL;
}

void
pmv_mlx5m_wire_unix_close(void)
{
	struct pmv_mlx5m_state *state = pmv_mlx5m_state();
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct sockaddr_un address;
	uint32_t i;

	for (i = 0; i < CLOSE_TRIES && waiting.head != NULL; i++) {
		send_waiting();
		nanosleep(&pause, NULL);
	}
	while (waiting.head != NULL) {
		struct pmv_mlx5m_frame *frame = waiting.head;

		waiting.head = frame->next;
		free(frame);
	}
	waiting.tail = &waiting.head;
	for (i = 0; i < state->config.nb_devices; i++) {
		if (state->device[i].sock < 0)
			continue;
		close(state->device[i].sock);
		state->device[i].sock = -1;
		if (make_address(state->device[i].gid[0], &address) == 0)
			unlink(address.sun_path);
	}
}
