#!/bin/sh
# Compares include/sai_abi.h with a system's SAI headers: every number, and the
# size and offset of every type that crosses the border. `make sai-abi-check
# SAI_INC=/usr/include/sai` calls it. Numbers that an older SAI does not know are
# listed and not compared.
set -eu
inc=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -f "$inc/sai.h" ] || { echo "sai-abi-check: $inc has no sai.h: nothing to compare with" >&2; exit 2; }
cc="${CC:-gcc} -I$inc -I$inc/../experimental -I$inc/experimental -I$here/include"

sed -n 's/^\t\(SAI_[A-Z0-9_]*\) = \(.*\),$/\1 \2/p' "$here/include/sai_abi.h" >"$work/numbers"
printf '#include <sai.h>\n' >"$work/names.c"
awk '{ printf "int n%d = %s;\n", NR, $1 }' "$work/numbers" >>"$work/names.c"
unknown=$($cc -fsyntax-only -fmax-errors=0 "$work/names.c" 2>&1 | sed -n "s/.*error: .\(SAI_[A-Z0-9_]*\). undeclared.*/\1/p" | sort -u)

{
	echo '#include <stddef.h>'
	echo '#include <sai.h>'
	awk -v unknown="$unknown" '
		BEGIN { n = split(unknown, u, /[ \n]+/); for (i = 1; i <= n; i++) skip[u[i]] = 1 }
		!($1 in skip) { printf "_Static_assert((long long)%s == (long long)%s, \"%s\");\n", $1, $2, $1 }
	' "$work/numbers"
} >"$work/check.c"

# Sizes and offsets: printed from our header, asserted with theirs.
cat >"$work/layout.c" <<'C'
#include <stdio.h>
#include "sai_abi.h"
#define SIZE(t) printf("_Static_assert(sizeof(" #t ") == %zu, \"sizeof " #t "\");\n", sizeof(t))
#define AT(t, m) printf("_Static_assert(offsetof(" #t ", " #m ") == %zu, \"offset of " #t "." #m "\");\n", offsetof(t, m))
int main(void)
{
	SIZE(sai_attribute_t); AT(sai_attribute_t, value); SIZE(sai_attribute_value_t);
	SIZE(sai_acl_field_data_t); AT(sai_acl_field_data_t, mask); AT(sai_acl_field_data_t, data);
	SIZE(sai_acl_action_data_t); AT(sai_acl_action_data_t, parameter);
	SIZE(sai_object_list_t); AT(sai_object_list_t, list); SIZE(sai_s32_list_t); SIZE(sai_u8_list_t); SIZE(sai_u32_list_t);
	SIZE(sai_ip_address_t); AT(sai_ip_address_t, addr); SIZE(sai_object_id_t); SIZE(sai_status_t);
	SIZE(sai_acl_capability_t); AT(sai_acl_capability_t, action_list); SIZE(sai_attr_capability_t);
	SIZE(sai_service_method_table_t); AT(sai_service_method_table_t, profile_get_next_value);
	AT(sai_switch_api_t, set_switch_attribute); AT(sai_switch_api_t, get_switch_attribute);
	AT(sai_port_api_t, get_port_attribute); AT(sai_port_api_t, get_port_stats); AT(sai_port_api_t, get_port_stats_ext);
	AT(sai_queue_api_t, get_queue_stats); AT(sai_queue_api_t, get_queue_stats_ext); AT(sai_queue_api_t, clear_queue_stats);
	AT(sai_acl_api_t, create_acl_entry); AT(sai_acl_api_t, get_acl_counter_attribute);
	AT(sai_hash_api_t, get_hash_attribute); AT(sai_udf_api_t, create_udf_match); AT(sai_udf_api_t, get_udf_group_attribute);
	AT(sai_mirror_api_t, get_mirror_session_attribute); AT(sai_policer_api_t, get_policer_stats);
	AT(sai_scheduler_api_t, get_scheduler_attribute); AT(sai_samplepacket_api_t, get_samplepacket_attribute);
	AT(sai_hostif_api_t, create_hostif_trap_group); AT(sai_hostif_api_t, create_hostif_user_defined_trap);
	AT(sai_hostif_api_t, get_hostif_user_defined_trap_attribute);
	return 0;
}
C
$cc -o "$work/layout" "$work/layout.c"
"$work/layout" >>"$work/check.c"
$cc -fsyntax-only "$work/check.c"
[ -z "$unknown" ] || printf 'not in these headers, not compared: %s\n' $unknown
echo "sai-abi-check: $(grep -c _Static_assert "$work/check.c") numbers, sizes and offsets agree"
