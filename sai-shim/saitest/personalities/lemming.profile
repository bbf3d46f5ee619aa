# The software ASIC of openconfig/lemming, as was reported of it: it says yes to every question,
# takes the extension's actions without a word and does nothing, answers -1 for ids that it does not
# know, takes ACL tables in groups only, and refuses IP_PROTOCOL as a hash field.
EXTENSION=0
DROP=SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL
MISSING=-1
GROUPED=yes
HASH_FIELDS=0 1 7 8 24
FAIL=values hash.NATIVE_HASH_FIELD_LIST 0 -2
