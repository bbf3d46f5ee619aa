#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The container's entry point, and how supervisord starts the programs in it.
#
#   start.sh                     supervisord where the base image has it, else both programs
#   start.sh sluiced [FLAG]      sluiced, as a user of its own, with the rights that it needs
#   start.sh sluice-gnmi [FLAG]  sluice-gnmi, as a user of its own, with no rights
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

# Users of the programs, and their group, which files of the host can be given to.
# They have no name: nothing else of the image is theirs.
user_gnmi=50070
user_sluiced=50071
group=50070

# On a switch of several ASICs NAMESPACE_ID is the number of this one, else empty.
# shellcheck source=SCRIPTDIR/environment.sh
. "${0%/*}/environment.sh"
read_environment "$choices/sluiced.env"
[ -z "${NAMESPACE_ID:-}" ] || read_environment "$choices/sluiced$NAMESPACE_ID.env"

export SLUICE_DB_CONFIG="${SLUICE_DB_CONFIG:-/var/run/redis${NAMESPACE_ID:-}/sonic-db/database_config.json}"

# What sluiced must know after a reboot or an upgrade is on the host, in /host/sluice,
# a file for each instance.
export SLUICE_STATE_FILE="${SLUICE_STATE_FILE:-/var/lib/sluice/sluiced${NAMESPACE_ID:-}.json}"

# both runs both programs, as the container's first process. It ends with sluiced,
# and with its exit code; sluice-gnmi alone is started again. 143 is a sluiced that was
# told to end before it could hear it: nothing was done that it could undo.
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
	[ -z "$ending" ] || [ $code != 143 ] || code=0
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

# redis_sockets are the sockets of the instances of Redis with databases that Sluice opens, a
# line each. Others, such as that of BMP, give no rights and take none.
redis_sockets() {
	[ -r "$SLUICE_DB_CONFIG" ] || return 0
	text=$(tr -d '[:space:]' <"$SLUICE_DB_CONFIG")
	for database in CONFIG_DB STATE_DB COUNTERS_DB APPL_DB ASIC_DB FLEX_COUNTER_DB; do
		member "$database" instance
	done | sort -u | while read -r instance; do
		member "$instance" unix_socket_path
	done
}

# member is a member of the object of a name in text, which is JSON without blanks. The image
# has no sed.
member() { # OBJECT MEMBER
	object=${text#*"\"$1\":{"}
	[ "$object" != "$text" ] || return 0
	object=${object%%'}'*}
	value=${object#*"\"$2\":\""}
	[ "$value" = "$object" ] || printf '%s\n' "${value%%'"'*}"
}

# redis_groups are the groups of Redis, as setpriv takes them behind its own first one.
# Redis may let in only its user and its group, and a root without capabilities is no
# exception.
redis_groups() { # GROUP
	groups=$1
	for socket in $(redis_sockets); do
		group=$(stat -c %g "$socket" 2>/dev/null) || continue
		groups=$groups,$group
	done
	echo "$groups"
}

# hindrance says which file a user cannot use: one of those named, or the databases;
# nothing: it can use all.
hindrance() { # USER [FILE]...
	user=$1
	shift
	# shellcheck disable=SC2016 # the inner shell's
	setpriv --groups="$(redis_groups "$group")" --reuid="$user" --regid="$group" sh -c '
		sockets=$1
		shift
		for file; do
			[ ! -f "$file" ] || [ -r "$file" ] || { echo "$file"; exit; }
		done
		for socket in $sockets; do
			[ ! -e "$socket" ] || [ -w "$socket" ] || { echo "$socket"; exit; }
		done' sh "$(redis_sockets)" "$SLUICE_DB_CONFIG" "$@"
}

# chosen sets user to the one that a program runs as: its own, where that can use these
# files, else root.
chosen() { # PROGRAM USER [FILE]...
	program=$1 user=$2
	shift 2
	file=$(hindrance "$user" "$@")
	[ -n "$file" ] || return 0
	echo "start.sh: $program runs as root: group $group cannot use $file: chgrp $group and chmod g+r let it" >&2
	user=0
}

# user_of_sluiced chooses by what it reads: the library, and the files that rows may
# name, which are beside sluiced.env; those of sluice-gnmi are there, too.
user_of_sluiced() {
	set --
	for file in "$choices"/* "$choices"/passwords/*; do
		[ "${file%.env}" = "$file" ] || continue # which this script reads
		case " ${SLUICE_GNMI_CERT:-} ${SLUICE_GNMI_KEY:-} ${SLUICE_GNMI_CA:-} ${SLUICE_GNMI_USERS:-} ${SLUICE_GNMI_POLICY:-} " in
		*" $file "*) ;;
		*) set -- "$@" "$file" ;;
		esac
	done
	chosen sluiced $user_sluiced "${SLUICE_SAI_LIBRARY:-}" "$@"
}

# folders makes folders that are the chosen user's own.
folders() { # FOLDER...
	for folder; do
		mkdir -p "$folder"
		[ "$(stat -c %u "$folder" 2>/dev/null)" = "$user" ] || chown -hR "$user" "$folder"
	done
}

# limited runs a program as the chosen user, that can have few capabilities, +NAME each,
# and has those of them that this container holds.
limited() { # CAPABILITIES HELD PROGRAM [FLAG]
	[ "$user" != 0 ] || group=0
	bounds=-all$1 held=-all$2
	shift 2
	exec setpriv --bounding-set="$bounds" --inh-caps="$held" --ambient-caps="$held" --no-new-privs \
		--groups="$(redis_groups "$group")" --reuid="$user" --regid="$group" "$@"
}

# sealed makes /proc/sys read-only but for what is named, as Docker has it in a container
# that is not privileged. What the kernel does not have is left out.
sealed() { # FILE...
	[ -w /proc/sys/kernel/core_pattern ] || return 0
	mount -n --bind /proc/sys /proc/sys && mount -n -o remount,bind,ro /proc/sys || return
	for file; do
		[ ! -e "/proc/sys/$file" ] ||
			{ mount -n --bind "/proc/sys/$file" "/proc/sys/$file" && mount -n -o remount,bind,rw "/proc/sys/$file"; } || return
	done
}

case ${1:-} in
'')
	# The hash of ECMP is what libsoftsai.so sets; a vendor's library may set others.
	# shellcheck disable=SC2086 # words
	sealed ${SLUICE_SYSCTLS:-net/ipv4/fib_multipath_hash_policy net/ipv4/fib_multipath_hash_fields \
		net/ipv4/fib_multipath_hash_seed net/ipv6/fib_multipath_hash_policy net/ipv6/fib_multipath_hash_fields} ||
		echo 'start.sh: /proc/sys cannot be made read-only: it is as the container has it' >&2
	[ ! -x "$supervisord" ] || exec "$supervisord"
	both
	;;
sluiced)
	# Libraries of libsoftsai.so only: a vendor's library has its own. What that needs is
	# not known, so it runs as root; libsoftsai.so does not need to.
	user=$user_sluiced
	case ${SLUICE_SAI_LIBRARY:-} in
	'') ;;
	*/libsoftsai.so) export LD_LIBRARY_PATH="$softsai_libraries" ;;
	*) user=0 ;;
	esac
	# net_admin attaches programs to ports, sets the ECMP hash, and hears the samples of
	# sFlow; net_raw sees packets on netdevs, for the driver orchagent, and sends and
	# receives PFCM; sys_nice gives the thread that holds flows real-time priority;
	# sys_admin, with a library alone, loads programs, and finds those of an earlier sluiced. A vendor's
	# library may need others: SLUICE_CAPABILITIES="net_admin sys_rawio"; all: no limit.
	capabilities=${SLUICE_CAPABILITIES:-net_admin net_raw${SLUICE_SAI_LIBRARY:+ sys_nice sys_admin}}
	[ "$capabilities" != all ] || exec "$@"
	names='' held=''
	for name in $capabilities; do
		names=$names,+$name
		if setpriv --inh-caps="+$name" --ambient-caps="+$name" true 2>/dev/null; then
			held=$held,+$name # else sluiced says what it lacks
		fi
	done
	[ $user = 0 ] || user_of_sluiced
	folders /run/sluiced /var/lib/sluice
	limited "$names" "$held" "$@"
	;;
sluice-gnmi)
	shift
	# shellcheck disable=SC2086 # words
	set -- ${SLUICE_GNMI_FLAGS:-} "$@"
	chosen sluice-gnmi $user_gnmi "${SLUICE_GNMI_CERT:-}" "${SLUICE_GNMI_KEY:-}" "${SLUICE_GNMI_CA:-}" \
		"${SLUICE_GNMI_USERS:-}" "${SLUICE_GNMI_POLICY:-}" "$@"
	folders /run/sluice /var/lib/sluice-gnmi
	limited '' '' sluice-gnmi --state-file /var/lib/sluice-gnmi/commit.json "$@"
	;;
*)
	exec "$@"
	;;
esac
