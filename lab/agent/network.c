/*
 * The network; see network.h. Nothing in it may act by itself while something is measured: no IPv6, no
 * multicast snooping, and neighbours that are known for good.
 */
#include "network.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "paths.h"

#define CLIENT_MAC "52:54:00:00:00:02"
#define SERVER_MAC "52:54:00:00:00:01"
#define QUIET                                                           \
	"sysctl() { [ ! -e /proc/sys/$1 ] || echo 1 >/proc/sys/$1; }; " \
	"sysctl net/ipv6/conf/all/disable_ipv6; sysctl net/ipv6/conf/default/disable_ipv6; "

#define BRIDGE                                                                  \
	"set -e; " QUIET "ip link set lo up; "                                  \
	"ip link add br0 address " CLIENT_MAC " type bridge mcast_snooping 0; " \
	"ip address add 10.0.0.1/24 dev br0; ip link set br0 up; "              \
	"ip neighbour add 10.0.0.2 lladdr " SERVER_MAC " dev br0 nud permanent; "

/* The servers' end of the wire. */
#define SERVER_END                                                                      \
	"ip address add 10.0.0.2/24 dev eth0; ip link set lo up; ip link set eth0 up; " \
	"ip neighbour add 10.0.0.1 lladdr " CLIENT_MAC " dev eth0 nud permanent"

static int servers = -1;

int network_of_servers(void)
{
	return servers;
}

const char *network_up(const struct config *config)
{
	static const char *const lines[] = {
		[ROLE_NATIVE] = BRIDGE
		"ip netns add servers; ip link add port0 type veth peer name eth0 address " SERVER_MAC
		"; ip link set eth0 netns servers; ip link set port0 master br0 up; "
		"ip netns exec servers sh -ec '" QUIET SERVER_END "'",
		[ROLE_HOST] = BRIDGE
		"ip tuntap add dev tap0 mode tap $QUEUES; ip link set tap0 master br0 up",
		[ROLE_GUEST] = "set -e; " QUIET SERVER_END,
	};
	static char why[400];
	struct outcome outcome;

	setenv("QUEUES", config->queues > 1 ? "multi_queue" : "", 1);
	command_do(lines[config->role], STEP_OUTPUT, -1, true, &outcome);
	if (outcome.status) {
		snprintf(why, sizeof(why), "there is no network (status %lu): %s", outcome.status,
			 outcome.said);
		return why;
	}
	if (config->role == ROLE_NATIVE) {
		servers = open("/run/netns/servers", O_RDONLY | O_CLOEXEC);
		if (servers < 0)
			return "there is no network: the namespace of the servers can't be opened";
	}
	return NULL;
}
