module sluice/tests/bench/goipfix

go 1.26.8

require (
	github.com/vmware/go-ipfix v0.13.0
	golang.org/x/sys v0.49.0
	k8s.io/klog/v2 v2.130.1
	sluice v0.0.0
)

require (
	github.com/go-logr/logr v1.4.2 // indirect
	github.com/netsampler/goflow2/v2 v2.2.6 // indirect
	github.com/pion/dtls/v2 v2.2.12 // indirect
	github.com/pion/dtls/v3 v3.1.15 // indirect
	github.com/pion/logging v0.2.4 // indirect
	github.com/pion/transport/v2 v2.2.10 // indirect
	github.com/pion/transport/v5 v5.0.0 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/net v0.62.0 // indirect
)

replace sluice => ../../..
