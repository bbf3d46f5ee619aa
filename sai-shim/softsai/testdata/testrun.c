/*
 * Runs frames through the ingress program of a port of the caller's network
 * namespace, without sending them. Usage: testrun PORT [REPEAT]; stdin and stdout carry
 * frames, each after its length (16 bits, host order), stdout also the program's
 * verdict (32 bits) before the length.
 */
#include <errno.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static int program_on(unsigned int ifindex)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = 1, .priority = 0x51c);
	struct bpf_tc_hook hook = { .sz = sizeof(hook), .ifindex = ifindex, .attach_point = BPF_TC_INGRESS };
	int err = bpf_tc_query(&hook, &opts);

	return err ? err : bpf_prog_get_fd_by_id(opts.prog_id);
}

int main(int argc, char **argv)
{
	struct __sk_buff skb = { .ifindex = argc > 1 ? if_nametoindex(argv[1]) : 0 };
	int repeat = argc > 2 ? atoi(argv[2]) : 1;
	int program = program_on(skb.ifindex);
	uint8_t in[1 << 14], out[1 << 14];
	uint32_t verdict;
	uint16_t n;

	if (program < 0) {
		fprintf(stderr, "testrun: no program: %s\n", strerror(-program));
		return 1;
	}
	while (fread(&n, sizeof(n), 1, stdin) == 1) {
		DECLARE_LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = in, .data_size_in = n, .data_out = out,
				    .data_size_out = sizeof(out), .ctx_in = &skb, .ctx_size_in = sizeof(skb),
				    .repeat = repeat);

		if (n > sizeof(in) || fread(in, 1, n, stdin) != n)
			return 1;
		if (bpf_prog_test_run_opts(program, &opts)) {
			fprintf(stderr, "testrun: a frame of %d octets: %s\n", n, strerror(errno));
			return 1;
		}
		verdict = opts.retval;
		n = opts.data_size_out;
		fwrite(&verdict, sizeof(verdict), 1, stdout);
		fwrite(&n, sizeof(n), 1, stdout);
		fwrite(out, 1, n, stdout);
		fflush(stdout); /* who sent the frame waits for it */
	}
	return 0;
}
