// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"math"
	"testing"
)

func TestTasksAreThoseOfTheNarrowestLimit(t *testing.T) {
	const none = math.MaxUint64
	kernel := func(more map[string]string) map[string]string {
		all := map[string]string{"/proc/sys/kernel/pid_max": "32768", "/proc/sys/kernel/threads-max": "190000"}
		for name, text := range more {
			all[name] = text
		}
		return all
	}
	for name, c := range map[string]struct {
		files map[string]string
		own   uint64
		want  int64
	}{
		"nothing is known": {nil, none, 0},
		"the kernel's":     {kernel(nil), none, 32768},
		"a service's": {kernel(map[string]string{
			"/proc/self/cgroup": "0::/system.slice/yuba.service\n", "/sys/fs/cgroup/system.slice/yuba.service/pids.max": "4915",
			"/sys/fs/cgroup/system.slice/pids.max": "max"}), none, 4915},
		"a slice's above it": {kernel(map[string]string{
			"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/pids.max": "max", "/sys/fs/cgroup/a/pids.max": "300"}), none, 300},
		"a container's": {kernel(map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/pids.max": "100"}), none, 100},
		"control groups of version 1": {kernel(map[string]string{
			"/proc/self/cgroup": "8:pids:/x\n4:memory:/x\n0::/\n", "/sys/fs/cgroup/pids/x/pids.max": "77", "/sys/fs/cgroup/x/pids.max": "5"}), none, 77},
		"a user's": {kernel(nil), 4096, 4096},
		"a user's who may have more than the machine": {kernel(nil), 96000, 32768},
		"a user's alone": {nil, 77, 77},
	} {
		if got := tasksBy(c.own, func(name string) string { return c.files[name] }); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if here := machineTasks(); here <= 0 {
		t.Errorf("this machine says %d", here)
	}
}

func TestMemoryIsThatOfTheNarrowestLimit(t *testing.T) {
	const gib = 1 << 30
	for name, c := range map[string]struct {
		files map[string]string
		want  uint64
	}{
		"the machine's": {nil, 64 * gib},
		"a service's": {map[string]string{
			"/proc/self/cgroup": "0::/system.slice/yuba.service\n", "/sys/fs/cgroup/system.slice/yuba.service/memory.max": "8589934592",
			"/sys/fs/cgroup/system.slice/yuba.service/memory.high": "max", "/sys/fs/cgroup/system.slice/memory.max": "max"}, 8 * gib},
		"a service's that is slowed down": {map[string]string{
			"/proc/self/cgroup": "0::/system.slice/yuba.service\n", "/sys/fs/cgroup/system.slice/yuba.service/memory.max": "max",
			"/sys/fs/cgroup/system.slice/yuba.service/memory.high": "4294967296"}, 4 * gib},
		"a slice's above it": {map[string]string{
			"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "8589934592", "/sys/fs/cgroup/a/memory.max": "1073741824"}, gib},
		"a container's":             {map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "2147483648"}, 2 * gib},
		"more than the machine has": {map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "137438953472"}, 64 * gib},
		"control groups of version 1": {map[string]string{
			"/proc/self/cgroup": "5:cpu,memory:/x\n0::/\n", "/sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1073741824",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712"}, gib},
	} {
		if got := memoryBy(64*gib, func(name string) string { return c.files[name] }); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
