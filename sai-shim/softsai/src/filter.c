// SPDX-License-Identifier: Apache-2.0
#include "filter.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

static struct bpf_tc_hook hook_of(uint32_t ifindex, enum bpf_tc_attach_point point)
{
	return (struct bpf_tc_hook){ .sz = sizeof(struct bpf_tc_hook), .ifindex = ifindex, .attach_point = point };
}

int filter_find(uint32_t ifindex, enum bpf_tc_attach_point point, const char *program)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = FILTER_HANDLE, .priority = FILTER_PREFERENCE);
	struct bpf_tc_hook hook = hook_of(ifindex, point);
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);
	int err, fd;

	err = bpf_tc_query(&hook, &opts);
	if (err)
		return err;
	fd = bpf_prog_get_fd_by_id(opts.prog_id);
	if (fd < 0)
		return -errno;
	err = bpf_obj_get_info_by_fd(fd, &info, &size);
	if (!err && strcmp(info.name, program) == 0)
		return fd;
	close(fd);
	return err ? err : -ENOENT;
}

int filter_map(int program, const char *name)
{
	__u32 ids[64], size = sizeof(struct bpf_prog_info);
	struct bpf_prog_info info = { .nr_map_ids = 64, .map_ids = (uintptr_t)ids };
	struct bpf_map_info map;
	int err, fd;

	err = bpf_obj_get_info_by_fd(program, &info, &size);
	for (__u32 i = 0; !err && i < info.nr_map_ids && i < 64; i++) {
		fd = bpf_map_get_fd_by_id(ids[i]);
		if (fd < 0)
			return -errno;
		memset(&map, 0, sizeof(map));
		size = sizeof(map);
		err = bpf_obj_get_info_by_fd(fd, &map, &size);
		if (!err && strcmp(map.name, name) == 0)
			return fd;
		close(fd);
	}
	return err ? err : -ENOENT;
}

int filter_attach(uint32_t ifindex, enum bpf_tc_attach_point point, int program)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = FILTER_HANDLE, .priority = FILTER_PREFERENCE,
			    .prog_fd = program, .flags = BPF_TC_F_REPLACE);
	struct bpf_tc_hook hook = hook_of(ifindex, point);

	return bpf_tc_attach(&hook, &opts);
}

int filter_detach(uint32_t ifindex, enum bpf_tc_attach_point point)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = FILTER_HANDLE, .priority = FILTER_PREFERENCE);
	struct bpf_tc_hook hook = hook_of(ifindex, point);

	return bpf_tc_detach(&hook, &opts);
}
