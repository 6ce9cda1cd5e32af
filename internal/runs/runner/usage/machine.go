// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// maxReserve is the largest reserve per disk, maxReserveFiles the same for files.
	maxReserve      = 1 << 30
	maxReserveFiles = 100_000
)

// Machine has the resources that all runs share.
type Machine struct {
	// memory and tasks are what runs may use together; server and machine need the rest.
	memory, tasks int64
	// podMemory is the memory of the runner's Pod, which its only run shares with the runner; 0
	// without a Pod.
	podMemory int64
	// Disk and Files are what remains on the fullest disk.
	Disk, Files Room
}

// Room is the free space on a disk.
type Room struct {
	// Free is the free space, Reserve the required one.
	Free, Reserve int64
	// Dir is a directory on that disk.
	Dir string
}

// Lacking is how much is missing; negative if there is enough.
func (r Room) Lacking() int64 { return r.Reserve - r.Free }

// Machine returns this machine's free resources.
func (m *Meter) Machine() Machine {
	now := machineNow(m.disks(), m.reserve)
	if m.pod {
		now.memory, now.podMemory = ownMemory(true), int64(machineMemory()) //nolint:gosec // no machine has 2^63 bytes
	}
	return now
}

// machineNow measures memory and disks. Reserve 0 means a share of each disk, below 0 none.
func machineNow(disks []string, reserve int64) Machine {
	m := Machine{memory: int64(machineMemory() / 4 * 3), tasks: machineTasks() / 4 * 3} //nolint:gosec // no machine has 2^63 bytes
	for _, dir := range disks {
		var stat unix.Statfs_t
		if unix.Statfs(dir, &stat) != nil {
			continue
		}
		disk := Room{int64(stat.Bavail) * stat.Bsize, reserve, dir} //nolint:gosec // disks are smaller
		if disk.Reserve == 0 {
			disk.Reserve = min(maxReserve, int64(stat.Blocks)*stat.Bsize/50) //nolint:gosec // disks are smaller
		}
		files := Room{int64(stat.Ffree), min(maxReserveFiles, int64(stat.Files)/50), dir} //nolint:gosec // disks are smaller
		if reserve < 0 || stat.Files == 0 {                                               // some file systems do not count files
			files.Reserve = 0
		}
		m.Disk, m.Files = scarcer(m.Disk, disk), scarcer(m.Files, files)
	}
	return m
}

func scarcer(a, b Room) Room {
	if a.Dir == "" || b.Lacking() > a.Lacking() {
		return b
	}
	return a
}

// machineMemory is the memory of the machine or this process's control groups; 0 if unknown.
var machineMemory = sync.OnceValue(func() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return memoryBy(info.Totalram*uint64(info.Unit), readSetting)
})

// memoryBy derives machineMemory from files. Above memory.high the kernel almost stops a group.
func memoryBy(total uint64, read func(name string) string) uint64 {
	names := controlGroups(read, "memory", "memory.limit_in_bytes")
	names = append(names, controlGroups(read, "", "memory.max", "memory.high")...)
	if least := leastOf(read, names); least > 0 {
		return min(total, uint64(least))
	}
	return total
}

// machineTasks limits processes and threads by machine, control groups and user.
var machineTasks = sync.OnceValue(func() int64 {
	var own unix.Rlimit
	if os.Geteuid() == 0 || unix.Getrlimit(unix.RLIMIT_NPROC, &own) != nil {
		own.Cur = unix.RLIM_INFINITY // root's are not counted
	}
	return tasksBy(own.Cur, readSetting)
})

// tasksBy derives machineTasks from the user's limit and from files; 0 if none limits.
func tasksBy(own uint64, read func(name string) string) int64 {
	names := []string{"/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"}
	names = append(names, controlGroups(read, "pids", "pids.max")...)
	names = append(names, controlGroups(read, "", "pids.max")...)
	least := leastOf(read, names)
	if own < math.MaxInt64 && (least == 0 || int64(own) < least) {
		return int64(own)
	}
	return least
}

func readSetting(name string) string {
	text, _ := os.ReadFile(name) // a missing file limits nothing
	return strings.TrimSpace(string(text))
}

// controlGroups names files of this process's control group and its parents, which limit it, too:
// of a controller of version 1, else of version 2.
func controlGroups(read func(name string) string, controller string, files ...string) (names []string) {
	for line := range strings.Lines(read("/proc/self/cgroup")) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		if !slices.Contains(strings.Split(controllers, ","), controller) {
			continue
		}
		for group = path.Join("/", group); ; group = path.Dir(group) {
			for _, file := range files {
				names = append(names, path.Join("/sys/fs/cgroup", controller, group, file))
			}
			if group == "/" {
				break
			}
		}
	}
	return names
}

// leastOf is the lowest limit in files; 0 if none limits, as "max" does not.
func leastOf(read func(name string) string, names []string) (least int64) {
	for _, name := range names {
		if n, err := strconv.ParseInt(read(name), 10, 64); err == nil && n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}
