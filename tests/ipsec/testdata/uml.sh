#!/bin/bash
# The first and only process of a Linux in user space: it loads what IPsec needs,
# runs the cases, and ends the machine. MODULES is the folder of its modules.
export PATH=$SLUICE:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmpfs /run
export TMPDIR=/run
python3 - "$MODULES" <<'P'
import ctypes, os, sys
folder, libc, loaded = sys.argv[1], ctypes.CDLL(None, use_errno=True), set()
with open(os.path.join(folder, 'modules.dep')) as f:
    needs = {name: rest.split() for name, _, rest in (line.partition(':') for line in f)}
byname = {os.path.basename(path): path for path in needs}

def load(path):
    for other in needs[path]:
        load(other)
    if path in loaded:
        return
    loaded.add(path)
    with open(os.path.join(folder, path), 'rb') as f:
        code = f.read()
    if libc.init_module(code, ctypes.c_ulong(len(code)), b''):
        print('load', path, os.strerror(ctypes.get_errno()))

for name in 'jitterentropy_rng sha512_generic hmac drbg cbc authenc echainiv ipv6 veth esp6 ah6 xfrm_user'.split():
    load(byname[name + '.ko'])
P
bash "$CASES" 2>&1
echo "ENDED $?"
echo o >/proc/sysrq-trigger
sleep 60
