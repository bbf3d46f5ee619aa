#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The container's entry point, and how supervisord starts the programs in it.
#
#   start.sh                     supervisord where the base image has it, else both programs
#   start.sh sluiced [FLAG]      sluiced, with the rights that it needs and no others
#   start.sh sluice-gnmi [FLAG]  sluice-gnmi, with no rights
#   start.sh COMMAND             any other command, in the same environment
#
# What they do is the operator's choice, in the environment or in files on the host:
# sluiced.env, and sluicedN.env for the instance of ASIC N. SLUICE_SAI_LIBRARY is the
# way to the switch, or SLUICE|global driver=orchagent; without both sluiced says so in
# STATE_DB, and waits. SLUICE_GNMI_CERT and its like let sluice-gnmi listen beyond its
# socket.
set -eu

choices=/etc/sonic/sluice
supervisord=/usr/local/bin/supervisord
softsai_libraries=/usr/lib/sluice

# On a switch of several ASICs NAMESPACE_ID is the number of this one, else empty.
for file in "$choices/sluiced.env" "$choices/sluiced${NAMESPACE_ID:-}.env"; do
	if [ -r "$file" ]; then
		set -a
		# shellcheck disable=SC1090 # the host's
		. "$file"
		set +a
	fi
done

export SLUICE_DB_CONFIG="${SLUICE_DB_CONFIG:-/var/run/redis${NAMESPACE_ID:-}/sonic-db/database_config.json}"

# What sluiced must know after a reboot or an upgrade is on the host, in /host/sluice,
# a file for each instance.
export SLUICE_STATE_FILE="${SLUICE_STATE_FILE:-/var/lib/sluiced/sluiced${NAMESPACE_ID:-}.json}"

# both runs both programs, as the container's first process. It ends with sluiced,
# and with its exit code; sluice-gnmi alone is started again.
both() {
	ending='' gnmi='' sluiced=''
	trap 'ending=yes; kill -TERM $gnmi $sluiced 2>/dev/null || :' TERM INT
	serve &
	gnmi=$!
	"$0" sluiced &
	sluiced=$!
	[ -z "$ending" ] || kill -TERM $gnmi $sluiced
	code=0
	wait $sluiced || code=$?
	while kill -0 $sluiced 2>/dev/null; do # it was the signal that ended the wait
		code=0
		wait $sluiced || code=$?
	done
	kill -TERM $gnmi 2>/dev/null || :
	wait $gnmi || :
	exit $code
}

# serve keeps sluice-gnmi running until SIGTERM.
serve() {
	trap 'kill -TERM $! 2>/dev/null || :; wait $! || :; exit 0' TERM
	while :; do
		"$0" sluice-gnmi &
		code=0
		wait $! || code=$?
		echo "start.sh: sluice-gnmi ended with exit code $code; it is started again in 5 s" >&2
		sleep 5 &
		wait $! || :
	done
}

# redis_groups are the groups of Redis, as setpriv takes them. Redis may let in only
# its user and its group, and a root without capabilities is no exception.
redis_groups() {
	groups=0
	[ -r "$SLUICE_DB_CONFIG" ] || { echo $groups; return; }
	while IFS= read -r line; do
		case $line in
		*'"unix_socket_path"'*'"'*'"'*)
			socket=${line#*\"unix_socket_path\"*\"}
			group=$(stat -c %g "${socket%%\"*}" 2>/dev/null) || continue
			groups=$groups,$group
			;;
		esac
	done <"$SLUICE_DB_CONFIG"
	echo "$groups"
}

# limited runs a program as root of few capabilities, +NAME each.
limited() { # CAPABILITIES PROGRAM [FLAG]
	bounds=-all$1
	shift
	exec setpriv --bounding-set="$bounds" --inh-caps=-all --ambient-caps=-all --no-new-privs --groups="$(redis_groups)" "$@"
}

case ${1:-} in
'')
	[ ! -x "$supervisord" ] || exec "$supervisord"
	both
	;;
sluiced)
	# Libraries of libsoftsai.so only: a vendor's library has its own.
	case ${SLUICE_SAI_LIBRARY:-} in
	*/libsoftsai.so) export LD_LIBRARY_PATH="$softsai_libraries" ;;
	esac
	# net_admin attaches programs to ports, sets the ECMP hash, and hears the samples of
	# sFlow; net_raw sees packets on netdevs, for the driver orchagent; sys_admin, with a
	# library alone, loads programs, and finds those of an earlier sluiced. A vendor's
	# library may need others: SLUICE_CAPABILITIES="net_admin sys_rawio"; all: no limit.
	capabilities=${SLUICE_CAPABILITIES:-net_admin net_raw${SLUICE_SAI_LIBRARY:+ sys_admin}}
	[ "$capabilities" != all ] || exec "$@"
	names=
	for name in $capabilities; do
		names=$names,+$name
	done
	limited "$names" "$@"
	;;
sluice-gnmi)
	shift
	# shellcheck disable=SC2086 # words
	limited '' sluice-gnmi ${SLUICE_GNMI_FLAGS:-} "$@"
	;;
*)
	exec "$@"
	;;
esac
