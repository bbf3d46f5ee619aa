#!/bin/sh
# The container's entry point, and how supervisord starts sluiced in it.
#
#   start.sh                  supervisord where the base image has it, else sluiced
#   start.sh sluiced [FLAG]   sluiced, with the rights that it needs and no others
#   start.sh COMMAND          any other command, in the same environment
#
# The way to the switch is the operator's choice: SLUICE_SAI_LIBRARY, in the
# environment or in sluiced.env on the host, or SLUICE|global driver=orchagent.
# Without one sluiced says so in STATE_DB, and waits.
set -eu

choices=/etc/sonic/sluice/sluiced.env
supervisord=/usr/local/bin/supervisord
softsai_libraries=/usr/lib/sluice

if [ -r "$choices" ]; then
	set -a
	# shellcheck disable=SC1090 # the host's
	. "$choices"
	set +a
fi

if [ $# = 0 ]; then
	[ ! -x "$supervisord" ] || exec "$supervisord"
	set -- sluiced
fi

# On a switch of several ASICs NAMESPACE_ID is the number of ours, else empty.
export SLUICE_DB_CONFIG="${SLUICE_DB_CONFIG:-/var/run/redis${NAMESPACE_ID:-}/sonic-db/database_config.json}"

[ "$1" = sluiced ] || exec "$@"

# Libraries of libsoftsai.so only: a vendor's library has its own.
case ${SLUICE_SAI_LIBRARY:-} in
*/libsoftsai.so) export LD_LIBRARY_PATH="$softsai_libraries" ;;
esac

# net_admin attaches programs to ports and sets the ECMP hash; sys_admin loads
# programs, and finds those of an earlier sluiced. A vendor's library may need
# more, such as sys_rawio: SLUICE_CAPABILITIES="net_admin sys_rawio"; all: no limit.
capabilities=${SLUICE_CAPABILITIES:-net_admin sys_admin}
[ "$capabilities" != all ] || exec "$@"
bounds=-all
for name in $capabilities; do
	bounds=$bounds,+$name
done
exec setpriv --bounding-set="$bounds" --no-new-privs "$@"
