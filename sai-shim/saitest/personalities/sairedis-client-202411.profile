# SONiC's out-of-process client library of 202411, as was reported of it: what the metadata of its
# SAI cannot serialize throws, which ends the process; the rest is the owner's virtual switch.
EXTENSION=0
VERSION=11500
UNSET=-15
HASH_FIELDS=0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17
FAIL=create acl_entry.USER_DEFINED_FIELD_GROUP_MIN 0 abort
FAIL=create acl_entry.ACTION_COMPUTE_IPV6_FLOW_LABEL 0 abort
FAIL=create acl_entry.ACTION_SET_IPV6_FLOW_LABEL 0 abort
FAIL=capability switch.ECMP_HASH_IPV6_RDMA 0 -5
FAIL=capability switch.ECMP_HASH_IPV4_RDMA 0 -5
FAIL=get switch.ECMP_HASH_IPV6_RDMA 0 -1
FAIL=get switch.ECMP_HASH_IPV4_RDMA 0 -1
FAIL=set switch.ECMP_HASH_IPV6_RDMA 0 -1
FAIL=set switch.ECMP_HASH_IPV4_RDMA 0 -1
FAIL=list acl_table 0 -15
FAIL=list acl_entry 0 -15
FAIL=list acl_counter 0 -15
FAIL=list acl_table_group 0 -15
FAIL=list acl_table_group_member 0 -15
FAIL=list hash 0 -15
FAIL=list udf 0 -15
FAIL=list udf_match 0 -15
FAIL=list udf_group 0 -15
FAIL=list policer 0 -15
FAIL=list hostif_trap_group 0 -15
FAIL=list hostif_user_defined_trap 0 -15
FAIL=list samplepacket 0 -15
