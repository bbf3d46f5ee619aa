# FBOSS's fake SAI library (fboss/agent/hw/sai/fake), as sluice sai-check of it found: what it was
# not written for is an invalid parameter; the default hash is a made-up id, at which it throws,
# which ends the process.
EXTENSION=0
DEFAULT_HASH=1234
FAIL=get port.INGRESS_ACL 0 -5
FAIL=capability switch.ECMP_HASH_IPV6_RDMA 0 -15
FAIL=capability switch.ECMP_HASH_IPV4_RDMA 0 -15
FAIL=values hash.NATIVE_HASH_FIELD_LIST 0 -15
FAIL=get hash 0 abort
FAIL=create samplepacket 0 -5
FAIL=create udf.HASH_MASK 0 -5
