# Two neighbors, a and b, in namespaces. Each case sends five messages from a to b,
# and prints what was seen: CASE, its name, and JSON. COMMANDS is the folder with
# the commands of docs/security.md, OBSERVE the observer.
set -eu
dir=$(mktemp -d)
remove() {
	kill ${listen:-} ${COPROC_PID:-} 2>"$dir/killed" || true
	wait || true
	ip netns del a$$ || true
	ip netns del b$$ || true
	rm -r "$dir"
}
trap remove EXIT
cp -r "$COMMANDS" "$dir/commands"

in_() { local node=$1; shift; ip netns exec $node$$ "$@"; }
mac() { in_ $1 ip -o link show dev eth0 | sed 's/.*ether \([0-9a-f:]*\).*/\1/'; }
ip netns add a$$
ip netns add b$$
ip link add eth0 netns a$$ type veth peer name eth0 netns b$$
for node in a b; do
	in_ $node ip link set lo up
	in_ $node ip link set eth0 up
done
for net in fe80:: 2001:db8::; do
	in_ a ip address add ${net}1/64 dev eth0 nodad
	for host in 2 9; do
		in_ b ip address add $net$host/64 dev eth0 nodad
		in_ a ip neigh replace $net$host lladdr $(mac b) dev eth0 nud permanent
	done
done

# until_there COUNT TEXT FILE: waits until so many lines of a file have a text.
until_there() {
	local n=0
	until [ "$(grep -c "$2" "$3")" -ge $1 ]; do
		n=$((n + 1))
		[ $n -lt 1200 ] || { echo "no '$2' in $3:"; cat "$3"; exit 1; }
		sleep 0.1
	done
}

ip netns exec b$$ sluice listen --dev eth0 --json >"$dir/heard" 2>"$dir/listening" &
listen=$!
until_there 1 listening "$dir/listening"
coproc python3 "$OBSERVE" a$$ b$$
counts() { echo next >&${COPROC[1]}; read -r -t 120 -u ${COPROC[0]} line; }
counts # it is there

# observe NAME MESSAGE: sends and prints. The last message goes to another address of
# b, which is in no policy: when it has come, the others have, too, or never will.
cases=0 before=0
observe() {
	in_ a sluice-lab send $2 --dev eth0 --src $sender --dst $receiver --count 5 --interval 5ms >"$dir/sent"
	in_ a sluice-lab send pfcm --dev eth0 --src $sender --dst $last --stream-id 9999 >"$dir/sent"
	cases=$((cases + 1))
	until_there $cases '"stream_id":9999' "$dir/heard"
	counts
	local all
	all=$(grep -v '"stream_id":9999' "$dir/heard" | grep -c '"verdict":"accepted"') || true
	echo "CASE $1 {\"counts\": $line, \"accepted\": $((all - before))}"
	before=$all
}

# run NODE BLOCK...: runs commands of the page.
run() {
	local node=$1 block
	shift
	for block in "$@"; do
		in_ $node env sender=$sender receiver=$receiver key=$key integrity=$integrity bash -eu "$dir/commands/$block.sh"
	done
}

clean() {
	for node in a b; do
		in_ $node ip xfrm policy flush
		in_ $node ip xfrm state flush
	done
}

key=0x$(head -c 16 /dev/urandom | od -An -vtx1 | tr -d ' \n')
integrity=0x$(head -c 32 /dev/urandom | od -An -vtx1 | tr -d ' \n')
sender=fe80::1 receiver=fe80::2 last=fe80::9

observe plain pfcm

run a state pfcm-sender
run b state pfcm-receiver
observe tunnel pfcm

in_ a ip xfrm state flush
run a state
observe sender-restarted pfcm

in_ b ip xfrm state flush
integrity=${integrity%????}0000 run b state
observe wrong-key pfcm

in_ b ip xfrm state flush
observe no-key pfcm

in_ a ip xfrm policy flush
observe forged pfcm

in_ a ip xfrm policy add dir out dst $receiver proto ipv6-icmp type 200 \
	tmpl src $sender dst $receiver proto esp reqid 1 mode tunnel
observe policy-by-type pfcm

clean
sed -i 's/mode tunnel/mode transport/' "$dir"/commands/*
run a state pfcm-sender
run b state pfcm-receiver
observe transport pfcm

# AH (RFC 4302) authenticates and does not encrypt: the state has no key for that.
clean
cp "$COMMANDS"/* "$dir/commands"
sed -i "s/proto esp/proto ah/; s/enc 'cbc(aes)' \$key //" "$dir"/commands/*
run a state pfcm-sender
run b state pfcm-receiver
observe ah-tunnel pfcm

in_ b ip xfrm state flush
integrity=${integrity%????}1111 run b state
observe ah-wrong-key pfcm

clean
cp "$COMMANDS"/* "$dir/commands"
sender=2001:db8::1 receiver=2001:db8::2 last=2001:db8::9
run a state ppfc-sender
run b state ppfc-receiver
observe ppfc ppfc
