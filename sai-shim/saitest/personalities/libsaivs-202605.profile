# SONiC's virtual switch library of 202605 (SAI 1.18), as sluice sai-check of it found: like that of
# 202411, but the hash of RDMA is known, and the profile is read with *variable NULL before each call.
EXTENSION=0
VERSION=11801
ITERATOR=null
UNSET=-15
HASH_FIELDS=0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 24
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
