// SPDX-License-Identifier: BSD-3-Clause
/*
 * The calls that start and end connections: create_qp, connect, accept, reject, disconnect. They
 * check and store what the application asks for; the state machine (cm/conn) does the rest. Control
 * lcore.
 */
#ifndef PMV_CM_CONNECT_H
#define PMV_CM_CONNECT_H

#include <stdint.h>

/* Packet lifetime code of our paths (IBTA 13.4.8: one way, 4.096 us << n); gives 18 as Local ACK
 * Timeout with the usual ACK delays. */
#define PMV_CM_PACKET_LIFETIME 17

/* Local ACK Timeout code from a peer's ACK delay code and a packet lifetime code: twice the
 * lifetime plus the delay, rounded up to a code (IBTA 12.7.34), 31 at most. */
uint8_t pmv_cm_connect_ack_timeout(uint8_t ack_delay, uint8_t lifetime);

#endif
